using System;
using System.Collections.Generic;

namespace UnityMcp
{
    /// <summary>What a test run must remember over domain reloads: what is left to do, and what has ended.</summary>
    public sealed class TestPlan
    {
        public string Mode;
        public string Filter;
        /// <summary>Modes whose tests are not counted yet.</summary>
        public List<string> ToList = new List<string>();
        /// <summary>Modes to run, in order. While IsStarted, the first one runs.</summary>
        public List<string> ToRun = new List<string>();
        public bool IsStarted;
        /// <summary>When a cancel was accepted; 0 if there was none.</summary>
        public long CancelAt;
        public long Passed;
        public long Failed;
        public long Skipped;
        public long DurationMs;
        public List<FailedTest> FailedTests = new List<FailedTest>();

        /// <summary>Throws RejectedException.</summary>
        public static TestPlan Parse(Json parameters)
        {
            var mode = parameters.Text("mode") ?? "all";
            var filter = parameters["filter"];
            if (mode != "all" && mode != "edit" && mode != "play") throw RejectedException.Params("mode must be all, edit or play");
            if (filter != null && !filter.IsNull && filter.AsString == null) throw RejectedException.Params("filter must be a text");
            var plan = new TestPlan { Mode = mode, Filter = parameters.Text("filter") };
            if (mode != "play") plan.ToList.Add("edit");
            if (mode != "edit") plan.ToList.Add("play");
            return plan;
        }

        /// <summary>The tests that the filter chooses.</summary>
        public IList<string> Matching(IList<string> names)
        {
            if (Filter == null) return names;
            var matching = new List<string>();
            foreach (var name in names)
                if (name.IndexOf(Filter, StringComparison.Ordinal) >= 0) matching.Add(name);
            return matching;
        }

        /// <summary>Tests that have ended.</summary>
        public long Total
        {
            get { return Passed + Failed + Skipped; }
        }

        public void Merge(TestRunResult result)
        {
            Passed += result.Passed;
            Failed += result.Failed;
            Skipped += result.Skipped;
            DurationMs += result.DurationMs;
            foreach (var test in result.FailedTests)
                if (FailedTests.Count < Limits.FailedTestsMax) FailedTests.Add(test);
        }

        public Json Result()
        {
            var summary = Json.Object().With("total", Total).With("passed", Passed).With("failed", Failed)
                .With("skipped", Skipped).With("duration_ms", DurationMs);
            return Json.Object().With("summary", summary).With("failed_tests", SaveTests());
        }

        Json SaveTests()
        {
            var tests = Json.Array();
            foreach (var test in FailedTests)
                tests.Add(Json.Object().With("name", FrameRoom.Cut(test.Name, Limits.FailureCharsMax))
                    .With("message", FrameRoom.Cut(test.Message ?? "", Limits.FailureCharsMax))
                    .With("stack_trace", FrameRoom.Cut(test.StackTrace ?? "", Limits.FailureCharsMax)));
            return tests;
        }

        public Json Save()
        {
            return Json.Object().With("mode", Mode).With("filter", Filter).With("to_list", Texts(ToList)).With("to_run", Texts(ToRun))
                .With("started", IsStarted).With("cancel_at", CancelAt).With("passed", Passed).With("failed", Failed)
                .With("skipped", Skipped).With("duration_ms", DurationMs).With("failed_tests", SaveTests());
        }

        public static TestPlan Restore(Json saved)
        {
            var plan = new TestPlan
            {
                Mode = saved.Text("mode"),
                Filter = saved.Text("filter"),
                IsStarted = saved["started"].AsBool == true,
                CancelAt = saved.Integer("cancel_at", 0),
                Passed = saved.Integer("passed", 0),
                Failed = saved.Integer("failed", 0),
                Skipped = saved.Integer("skipped", 0),
                DurationMs = saved.Integer("duration_ms", 0)
            };
            foreach (var mode in saved["to_list"].Items) plan.ToList.Add(mode.AsString);
            foreach (var mode in saved["to_run"].Items) plan.ToRun.Add(mode.AsString);
            foreach (var test in saved["failed_tests"].Items)
                plan.FailedTests.Add(new FailedTest { Name = test.Text("name"), Message = test.Text("message"), StackTrace = test.Text("stack_trace") });
            return plan;
        }

        static Json Texts(IEnumerable<string> texts)
        {
            var list = Json.Array();
            foreach (var text in texts) list.Add(Json.Of(text));
            return list;
        }
    }
}
