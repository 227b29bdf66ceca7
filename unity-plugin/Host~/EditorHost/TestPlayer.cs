using System;
using System.Collections.Generic;
using UnityMcp;

namespace UnityMcp.Host
{
    /// <summary>Plays the test runner of the Editor. It lives outside the domain that reloads.</summary>
    public sealed class TestPlayer
    {
        readonly Suite suite;
        List<Test> tests;
        int done;
        long left;
        long steppedAt;
        bool isCancelled;

        /// <summary>A run has ended: a line for a person.</summary>
        public event Action<string> Ended;

        public TestPlayer(Suite suite)
        {
            this.suite = suite;
        }

        public bool IsActive
        {
            get { return tests != null; }
        }

        public int Start(long now, string mode, string[] names)
        {
            if (IsActive) throw new InvalidOperationException("a test run is active");
            tests = suite.Select(mode, names);
            done = 0;
            left = tests.Count > 0 ? tests[0].Takes : 0;
            steppedAt = now;
            isCancelled = false;
            return tests.Count;
        }

        /// <summary>The run ends after the current test.</summary>
        public bool Cancel()
        {
            isCancelled = IsActive;
            return isCancelled;
        }

        /// <summary>The Editor has ended, and its run with it.</summary>
        public void Forget()
        {
            tests = null;
        }

        /// <summary>Milliseconds to the next end of a test; null if nothing runs.</summary>
        public long? NextIn
        {
            get { return IsActive ? left : (long?)null; }
        }

        /// <summary>Lets time pass, and reports to the plugin.</summary>
        public void Step(long now, bool canWork, Inside plugin)
        {
            var passed = now - steppedAt;
            steppedAt = now;
            if (!IsActive || !canWork) return;
            left -= passed;
            while (left <= 0)
            {
                plugin.TestStarted(tests[done].Name);
                plugin.TestFinished();
                done++;
                if (isCancelled || done == tests.Count)
                {
                    End(plugin);
                    return;
                }
                left += tests[done].Takes;
            }
            plugin.TestStarted(tests[done].Name);
        }

        void End(Inside plugin)
        {
            var ran = tests.GetRange(0, done);
            var failed = ran.FindAll(test => test.Outcome == "fail");
            long duration = 0;
            foreach (var test in ran) duration += test.Takes;
            var skipped = ran.FindAll(test => test.Outcome == "skip").Count;
            var names = failed.ConvertAll(test => test.Name).ToArray();
            Ended(isCancelled
                ? "the test run was cancelled, tests done: " + done
                : "the test run has ended: " + done + " tests, " + failed.Count + " failed");
            // As in Unity, the run is still active while it reports its end.
            plugin.RunFinished(done - failed.Count - skipped, skipped, duration, names);
            tests = null;
        }
    }
}
