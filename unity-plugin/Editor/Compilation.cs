using System;
using System.Collections.Generic;
using System.IO;
using UnityEditor;
using UnityEditor.Compilation;

namespace UnityMcp.Editor
{
    /// <summary>Whether scripts compile, and what the compiler says. Its messages do not arrive through the log.</summary>
    sealed class Compilation : ICompiler, IDisposable
    {
        bool isRunning;

        public event Action Started;
        public event Action<string, IList<ConsoleEntry>> AssemblyFinished;

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
        /// After compilationFinished the domain reload is still to come, so isCompiling decides. In Play Mode isCompiling may be
        /// true for the whole session ("Recompile After Finished Playing"), so there only the events count.
        /// </summary>
        public bool IsCompiling
        {
            get { return isRunning || (!EditorApplication.isPlaying && EditorApplication.isCompiling); }
        }

        void OnStarted(object context)
        {
            isRunning = true;
            if (Started != null) Started();
        }

        void OnFinished(object context)
        {
            isRunning = false;
        }

        void OnAssemblyFinished(string path, CompilerMessage[] messages)
        {
            var entries = new List<ConsoleEntry>();
            foreach (var message in messages)
            {
                var type = TypeOf(message.type);
                if (type != null) entries.Add(new ConsoleEntry { Type = type, Message = message.message });
            }
            if (AssemblyFinished != null) AssemblyFinished(Path.GetFileName(path), entries);
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
