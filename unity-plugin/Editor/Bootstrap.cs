using System;
using System.Diagnostics;
using UnityEditor;
using UnityEngine;

namespace UnityMcp.Editor
{
    /// <summary>Starts the plugin whenever the domain is loaded, and ends it before the domain is unloaded.</summary>
    [InitializeOnLoad]
    static class Bootstrap
    {
        const string TestRunnerType = "UnityMcp.TestFramework.TestRunnerAdapter, UnityMcp.TestFramework";
        /// <summary>Starts the plugin in batch mode too, for example in a test of the plugin itself.</summary>
        const string BatchModeFlag = "-unityMcp";

        static ConsoleTap console;
        static Compilation compilation;
        static ITestRunner testRunner;

        /// <summary>Null if the plugin does not run in this process.</summary>
        public static Plugin Plugin { get; private set; }
        public static EditorFacts Facts { get; private set; }
        public static readonly ActivityLog Activity = new ActivityLog();
        public static bool HasTestFramework { get; private set; }

        static Bootstrap()
        {
            if (IsWanted() && UnityMcpSettings.instance.IsEnabled) Start();
        }

        /// <summary>Helper processes of the Editor load the same assemblies, but must not connect.</summary>
        static bool IsWanted()
        {
            var arguments = Environment.GetCommandLineArgs();
            if (Application.isBatchMode && Array.IndexOf(arguments, BatchModeFlag) < 0) return false;
            if (AssetDatabase.IsAssetImportWorkerProcess()) return false;
            // Multiplayer Play Mode starts clones of the Editor with this flag.
            return !Array.Exists(arguments, argument => argument.Contains("virtual-project-clone"));
        }

        public static void Start()
        {
            if (Plugin != null) return;
            var clock = new MonotonicClock();
            compilation = new Compilation();
            Facts = new EditorFacts(compilation);
            console = new ConsoleTap();
            testRunner = FindTestRunner();
            HasTestFramework = testRunner != null;
            var random = new System.Random();
            var projectPath = Facts.ProjectPath;
            // The socket thread asks for the port, and settings can be read on the main thread only.
            UnityMcpSettings.instance.Publish();
            Plugin = new Plugin(new PluginParts
            {
                Version = PluginVersion.Text,
                Facts = Facts,
                Store = new SessionStateStore(),
                MainThread = new MainThread(),
                Console = console,
                Compiler = compilation,
                Project = new ProjectView(),
                TestRunner = testRunner,
                Observer = Activity,
                Connector = new WebSocketConnector(),
                Log = Activity,
                Clock = clock,
                FindServer = () => ServerFile.Find(projectPath, UnityMcpSettings.PublishedPort),
                ReadToken = TokenFile.Read,
                NewId = () => Guid.NewGuid().ToString(),
                Chance = random.NextDouble
            });
            Subscribe();
        }

        /// <summary>First without, then with: a domain that was not unloaded has no second subscription.</summary>
        static void Subscribe()
        {
            Unsubscribe();
            EditorApplication.update += Tick;
            EditorApplication.quitting += Stop;
            AssemblyReloadEvents.beforeAssemblyReload += BeforeReload;
        }

        static void Unsubscribe()
        {
            EditorApplication.update -= Tick;
            EditorApplication.quitting -= Stop;
            AssemblyReloadEvents.beforeAssemblyReload -= BeforeReload;
        }

        static void Tick()
        {
            console.Tick();
            compilation.Tick();
            Plugin.Tick();
        }

        static void BeforeReload()
        {
            Plugin.BeforeReload();
            End();
        }

        public static void Stop()
        {
            if (Plugin == null) return;
            Plugin.Quit();
            End();
        }

        /// <summary>Leaves nothing behind, even if the domain is not unloaded.</summary>
        static void End()
        {
            Plugin = null;
            Unsubscribe();
            console.Dispose();
            compilation.Dispose();
            var disposable = testRunner as IDisposable;
            if (disposable != null) disposable.Dispose();
        }

        /// <summary>The assembly exists only if the test framework is installed.</summary>
        static ITestRunner FindTestRunner()
        {
            var type = Type.GetType(TestRunnerType);
            return type == null ? null : (ITestRunner)Activator.CreateInstance(type);
        }

        sealed class MonotonicClock : IClock
        {
            public long Now
            {
                get { return (long)(Stopwatch.GetTimestamp() * 1000.0 / Stopwatch.Frequency); }
            }
        }
    }
}
