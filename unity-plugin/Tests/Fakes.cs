using System;
using System.Collections.Generic;

namespace UnityMcp.Tests
{
    /// <summary>A test runner that does what the test says.</summary>
    public sealed class FakeRunner : ITestRunner
    {
        public ITestEvents Listener;
        public readonly List<string> Calls = new List<string>();
        public bool CanCancel = true;
        /// <summary>What Cancel throws, as a method of Unity may that is called by reflection.</summary>
        public Exception Failure;
        public Exception ListFailure;
        public Exception StartFailure;
        public string ListedJob;

        public ITestEvents Events
        {
            set { Listener = value; }
        }

        public Exception IsActiveFailure;
        bool? isActive;

        public bool? IsActive
        {
            get
            {
                if (IsActiveFailure != null) throw IsActiveFailure;
                return isActive;
            }
            set { isActive = value; }
        }

        public string Obstacle { get; set; }

        public void List(string jobId, string mode)
        {
            Calls.Add("list " + mode);
            if (ListFailure != null) throw ListFailure;
            ListedJob = jobId;
        }

        /// <summary>Answers the last List.</summary>
        public void Answer(string mode, params string[] names)
        {
            Listener.Listed(ListedJob, mode, names);
        }

        public void Start(string mode, IList<string> names)
        {
            OwnsRun = true;
            if (StartFailure != null) throw StartFailure;
            Calls.Add("start " + mode + (names == null ? "" : " " + string.Join(" ", names)));
        }

        public bool Cancel()
        {
            if (Failure != null) throw Failure;
            Calls.Add("cancel");
            return CanCancel;
        }

        /// <summary>As the adapter does it: callbacks count only while a run of the plugin is known.</summary>
        public bool OwnsRun;

        public void Forget()
        {
            OwnsRun = false;
        }

        public string Last
        {
            get { return Calls.Count == 0 ? "" : Calls[Calls.Count - 1].Trim(); }
        }
    }

    /// <summary>A compiler that does what the test says.</summary>
    public sealed class FakeCompiler : ICompiler
    {
        public readonly List<string> Calls = new List<string>();
        public Exception Failure;

        public event Action Started;
        public event Action<string, IList<ScriptMessage>> AssemblyFinished;
        public event Action Finished;
        public event Action Abandoned;

        public string Obstacle { get; set; }
        public bool HasFailed { get; set; }

        public void Import()
        {
            Calls.Add("import");
            if (Failure != null) throw Failure;
        }

        public void Compile()
        {
            Calls.Add("compile");
        }

        public void Start()
        {
            if (Started != null) Started();
        }

        public void Finish(params ScriptMessage[] messages)
        {
            if (AssemblyFinished != null) AssemblyFinished("Game", messages);
            HasFailed = Array.Exists(messages, message => message.Type == "error");
            if (Finished != null) Finished();
        }

        /// <summary>A compile that never reports its end.</summary>
        public void Abandon()
        {
            Start();
            if (Abandoned != null) Abandoned();
        }

        /// <summary>A whole compile.</summary>
        public void Run(params ScriptMessage[] messages)
        {
            Start();
            Finish(messages);
        }

        public static ScriptMessage Error(int line)
        {
            var message = "Assets/A.cs(" + line + ",9): error CS0103: The name 'x' does not exist";
            return new ScriptMessage { Type = "error", Message = message, File = "Assets\\A.cs", Line = line, Column = 9 };
        }

        public static readonly ScriptMessage Warning = new ScriptMessage { Type = "warning", Message = "Assets/A.cs(1,1): warning CS0168: unused" };

        public bool IsListenedTo
        {
            get { return Started != null || AssemblyFinished != null || Finished != null || Abandoned != null; }
        }
    }

    /// <summary>A project with the scenes and assets that the test says.</summary>
    public sealed class FakeProject : IProject
    {
        public readonly List<OpenScene> Open = new List<OpenScene> { new OpenScene { Path = "Assets/A.unity", Name = "A", IsActive = true } };
        public readonly List<BuildScene> Build = new List<BuildScene>();
        public readonly List<SelectedObject> Selected = new List<SelectedObject>();
        public readonly List<string> Assets = new List<string> { "Assets/A.unity", "Assets/B.unity" };
        public readonly List<string> Calls = new List<string>();
        public Action<string> OnOpen = path => { };

        public bool IsPlaying { get; set; }

        public IList<OpenScene> OpenScenes
        {
            get { return Open; }
        }

        public IList<BuildScene> BuildScenes
        {
            get { return Build; }
        }

        public IList<SelectedObject> Selection
        {
            get { return Selected; }
        }

        public bool HasScene(string path)
        {
            return path.EndsWith(".unity", StringComparison.Ordinal) && Assets.Contains(path);
        }

        public void OpenScene(string path, bool isAdditive)
        {
            Calls.Add("open " + path + (isAdditive ? " additive" : ""));
            OnOpen(path);
        }

        public bool HasFolder(string path)
        {
            return path == "Assets";
        }

        public IEnumerable<string> FindAssets(string query, string folder)
        {
            Calls.Add("find [" + query + "] in [" + folder + "]");
            return Assets;
        }

        public string TypeOf(string assetPath)
        {
            Calls.Add("type " + assetPath);
            return "T";
        }

        public string GuidOf(string assetPath)
        {
            return "guid of " + assetPath;
        }
    }

    public sealed class FakeClock : IClock
    {
        public long Now { get; set; }
    }
}
