using System;
using System.IO;
using UnityEditor;
using UnityEngine;

namespace UnityMcp.Editor
{
    /// <summary>What the hello says about this Editor.</summary>
    sealed class EditorFacts : IEditorFacts
    {
        const string InstanceKey = "UnityMcp.InstanceId";

        readonly Compilation compilation;

        public string InstanceId { get; private set; }
        public string ProjectPath { get; private set; }
        public string ProjectName { get; private set; }
        public string UnityVersion { get; private set; }

        public EditorFacts(Compilation compilation)
        {
            this.compilation = compilation;
            ProjectPath = Path.GetDirectoryName(Application.dataPath).Replace('\\', '/');
            ProjectName = Path.GetFileName(ProjectPath);
            UnityVersion = Application.unityVersion;
            InstanceId = SessionState.GetString(InstanceKey, "");
            if (InstanceId != "") return;
            InstanceId = Guid.NewGuid().ToString();
            SessionState.SetString(InstanceKey, InstanceId);
        }

        public EditorState State
        {
            get { return compilation.IsCompiling ? EditorState.Compiling : EditorState.Ready; }
        }
    }
}
