using System.Collections.Generic;

namespace UnityMcp.Tests
{
    /// <summary>A test runner that does what the test says.</summary>
    public sealed class FakeRunner : ITestRunner
    {
        public ITestEvents Listener;
        public readonly List<string> Calls = new List<string>();
        public bool CanCancel = true;

        public ITestEvents Events
        {
            set { Listener = value; }
        }

        public bool? IsActive { get; set; }
        public string Obstacle { get; set; }

        public void List(string mode, string filter)
        {
            Calls.Add("list " + mode + " " + filter);
        }

        public void Start(string mode, string filter)
        {
            Calls.Add("start " + mode + " " + filter);
        }

        public bool Cancel()
        {
            Calls.Add("cancel");
            return CanCancel;
        }

        public string Last
        {
            get { return Calls.Count == 0 ? "" : Calls[Calls.Count - 1].Trim(); }
        }
    }

    public sealed class FakeClock : IClock
    {
        public long Now { get; set; }
    }
}
