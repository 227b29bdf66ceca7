using NUnit.Framework;

namespace UnityMcp.Tests
{
    /// <summary>Test runs with a test runner, a clock and a store that a test plays.</summary>
    public abstract class TestRunFixture
    {
        protected FakeRunner runner;
        protected FakeClock clock;
        protected JobBook book;
        protected TestRuns runs;
        int ids;

        [SetUp]
        public void SetUp()
        {
            ids = 0;
            book = new JobBook();
            clock = new FakeClock { Now = 5000 };
            Load();
        }

        void Load()
        {
            runner = new FakeRunner { IsActive = false };
            runs = new TestRuns(book, runner, () => "job-" + ++ids, clock);
        }

        /// <summary>Everything in memory is lost, except what the book stores as text.</summary>
        protected void Reload()
        {
            var saved = JsonReader.Parse(book.Save().ToString());
            book = new JobBook();
            book.Restore(saved);
            Load();
        }

        protected Job Submit(string parameters)
        {
            var id = runs.Submit("req-" + (ids + 1), TestPlan.Parse(JsonReader.Parse(parameters)));
            runs.Tick(true);
            return book.Find(id);
        }

        /// <summary>Unity names its tests, and the next update goes on.</summary>
        protected void Listed(string mode, int count)
        {
            var names = new string[count];
            for (var number = 0; number < count; number++) names[number] = mode + ".t" + number;
            runner.Answer(mode, names);
            runs.Tick(true);
        }

        /// <summary>A run ends, and Unity cleans up for one update.</summary>
        protected void Finish(TestRunResult result)
        {
            runner.IsActive = true;
            runs.RunFinished(result);
            runs.Tick(true);
            runner.IsActive = false;
            runs.Tick(true);
        }

        protected static TestRunResult Result(int passed, params string[] failed)
        {
            var result = new TestRunResult { Passed = passed, Failed = failed.Length, DurationMs = 100 };
            foreach (var name in failed) result.FailedTests.Add(new FailedTest { Name = name, Message = "m", StackTrace = "s" });
            return result;
        }

        /// <summary>A job whose Edit Mode tests run.</summary>
        protected Job Running()
        {
            var job = Submit("{}");
            Listed("edit", 2);
            Listed("play", 2);
            Assert.AreEqual("start edit", runner.Last);
            runner.IsActive = true;
            return job;
        }
    }
}
