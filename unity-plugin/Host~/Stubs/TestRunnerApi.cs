using System;
using System.Collections.Generic;
using UnityEngine;

namespace UnityEditor.TestTools.TestRunner.Api
{
    [Flags] public enum TestMode { EditMode = 1, PlayMode = 2 }
    public enum TestStatus { Inconclusive, Skipped, Passed, Failed }

    public interface ITestAdaptor
    {
        string FullName { get; }
        bool IsSuite { get; }
        IEnumerable<ITestAdaptor> Children { get; }
    }

    public interface ITestResultAdaptor
    {
        ITestAdaptor Test { get; }
        string FullName { get; }
        TestStatus TestStatus { get; }
        double Duration { get; }
        string Message { get; }
        string StackTrace { get; }
        IEnumerable<ITestResultAdaptor> Children { get; }
    }

    public interface ICallbacks
    {
        void RunStarted(ITestAdaptor testsToRun);
        void RunFinished(ITestResultAdaptor result);
        void TestStarted(ITestAdaptor test);
        void TestFinished(ITestResultAdaptor result);
    }

    public interface IErrorCallbacks : ICallbacks
    {
        void OnError(string message);
    }

    public class Filter
    {
        public TestMode testMode;
        public string[] testNames;
    }

    public class ExecutionSettings
    {
        public ExecutionSettings(params Filter[] filtersToExecute) { }
    }

    public class TestRunnerApi : ScriptableObject
    {
        public string Execute(ExecutionSettings executionSettings) { throw new NotSupportedException(); }
        public void RegisterCallbacks<T>(T testCallbacks, int priority = 0) where T : ICallbacks { }
        public void UnregisterCallbacks<T>(T testCallbacks) where T : ICallbacks { }
        public void RetrieveTestList(TestMode testMode, Action<ITestAdaptor> callback) { }
    }
}
