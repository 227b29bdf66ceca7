using System;
using System.Collections.Generic;
using System.IO;
using UnityEditor;
using UnityEditor.Compilation;

namespace UnityMcp.Editor
{
    /// <summary>Starts compiles, and hears what the compiler says. Its messages do not arrive through the log.</summary>
    sealed class Compilation : ICompiler, IDisposable
    {
        /// <summary>Updates in a row outside of Play Mode after which a compile that Unity does not know any more counts as over.</summary>
        const int UpdatesToAbandon = 10;

        bool isRunning;
        int updatesWithoutCompile;

        public event Action Started;
        public event Action<string, IList<ScriptMessage>> AssemblyFinished;
        public event Action Finished;
        public event Action Abandoned;

        public Compilation()
        {
            CompilationPipeline.compilationStarted += OnStarted;
            CompilationPipeline.compilationFinished += OnFinished;
            CompilationPipeline.assemblyCompilationFinished += OnAssemblyFinished;
        }

        public void Dispose()
        {
            CompilationPipeline.compilationStarted -= OnStarted;
            CompilationPipeline.compilationFinished -= OnFinished;
            CompilationPipeline.assemblyCompilationFinished -= OnAssemblyFinished;
        }

        /// <summary>
        /// compilationFinished may be missing. Then isCompiling decides: otherwise the Editor would never be ready again. In Play Mode
        /// isCompiling says nothing.
        /// </summary>
        public void Tick()
        {
            var isOver = isRunning && !EditorApplication.isPlaying && !EditorApplication.isCompiling;
            updatesWithoutCompile = isOver ? updatesWithoutCompile + 1 : 0;
            if (updatesWithoutCompile <= UpdatesToAbandon) return;
            isRunning = false;
            updatesWithoutCompile = 0;
            var abandoned = Abandoned;
            if (abandoned != null) abandoned();
        }

        /// <summary>
        /// After compilationFinished the domain reload is still to come, so isCompiling decides. In Play Mode isCompiling may be
        /// true for the whole session ("Recompile After Finished Playing"), so there only the events count.
        /// </summary>
        public bool IsCompiling
        {
            get { return isRunning || (!EditorApplication.isPlaying && EditorApplication.isCompiling); }
        }

        /// <summary>In Play Mode Unity may postpone the compile until its end, and a reload would end the game.</summary>
        public string Obstacle
        {
            get
            {
                return EditorApplication.isPlayingOrWillChangePlaymode
                    ? "The Editor is in Play Mode, so nothing was compiled. Ask the user to leave Play Mode."
                    : null;
            }
        }

        public bool HasFailed
        {
            get { return EditorUtility.scriptCompilationFailed; }
        }

        /// <summary>Called from a script, Refresh leaves the compile and the reload to the next updates.</summary>
        public void Import()
        {
            AssetDatabase.Refresh();
        }

        public void Compile()
        {
            CompilationPipeline.RequestScriptCompilation();
        }

        void OnStarted(object context)
        {
            isRunning = true;
            if (Started != null) Started();
        }

        void OnFinished(object context)
        {
            isRunning = false;
            if (Finished != null) Finished();
        }

        void OnAssemblyFinished(string path, CompilerMessage[] messages)
        {
            var entries = new List<ScriptMessage>();
            foreach (var message in messages)
            {
                var type = TypeOf(message.type);
                if (type == null) continue;
                entries.Add(new ScriptMessage
                {
                    Type = type,
                    Message = message.message,
                    File = message.file,
                    Line = message.line,
                    Column = message.column
                });
            }
            if (AssemblyFinished != null) AssemblyFinished(Path.GetFileNameWithoutExtension(path), entries);
        }

        /// <summary>Null for information that the Console window does not show either.</summary>
        static string TypeOf(CompilerMessageType type)
        {
            switch (type)
            {
                case CompilerMessageType.Error: return "error";
                case CompilerMessageType.Warning: return "warning";
                default: return null;
            }
        }
    }
}
