using System;
using System.Collections.Generic;
using UnityEngine;
using UnityEngine.UIElements;

namespace UnityEditor
{
    public sealed class InitializeOnLoadAttribute : Attribute { }

    public sealed class MenuItem : Attribute
    {
        public MenuItem(string itemName) { }
    }

    public static class EditorApplication
    {
        public delegate void CallbackFunction();

        public static CallbackFunction update;
        public static event Action quitting { add { } remove { } }
        public static bool isCompiling { get { throw new NotSupportedException(); } }
        public static bool isPlaying { get; set; }
        public static bool isPlayingOrWillChangePlaymode { get { throw new NotSupportedException(); } }
        public static void ExitPlaymode() { }
    }

    public static class AssemblyReloadEvents
    {
        public delegate void AssemblyReloadCallback();

        public static event AssemblyReloadCallback beforeAssemblyReload { add { } remove { } }
    }

    public static class AssetDatabase
    {
        public static bool IsAssetImportWorkerProcess() { throw new NotSupportedException(); }
        public static void Refresh() { }
        public static string[] FindAssets(string filter, string[] searchInFolders) { throw new NotSupportedException(); }
        public static string GUIDToAssetPath(string guid) { throw new NotSupportedException(); }
        public static string AssetPathToGUID(string path) { throw new NotSupportedException(); }
        public static string GetAssetPath(UnityEngine.Object assetObject) { throw new NotSupportedException(); }
        public static Type GetMainAssetTypeAtPath(string assetPath) { throw new NotSupportedException(); }
        public static bool IsValidFolder(string path) { throw new NotSupportedException(); }
    }

    public class SceneAsset : UnityEngine.Object { }

    public static class Selection
    {
        public static UnityEngine.Object[] objects { get; set; }
    }

    public class EditorBuildSettingsScene
    {
        public bool enabled { get; set; }
        public string path { get; set; }
    }

    public static class EditorBuildSettings
    {
        public static EditorBuildSettingsScene[] scenes { get; set; }
    }

    public static class SessionState
    {
        public static string GetString(string key, string defaultValue) { throw new NotSupportedException(); }
        public static void SetString(string key, string value) { }
    }

    public static class EditorUtility
    {
        public static bool scriptCompilationFailed { get { throw new NotSupportedException(); } }
    }

    public static class EditorGUIUtility
    {
        public static GUIContent IconContent(string name) { throw new NotSupportedException(); }
    }

    public class EditorWindow : ScriptableObject
    {
        public GUIContent titleContent { get; set; }
        public Vector2 minSize { get; set; }
        public VisualElement rootVisualElement { get { throw new NotSupportedException(); } }
        public static T GetWindow<T>() where T : EditorWindow { throw new NotSupportedException(); }
    }

    public class FilePathAttribute : Attribute
    {
        public enum Location { PreferencesFolder, ProjectFolder }

        public FilePathAttribute(string relativePath, Location location) { }
    }

    public class ScriptableSingleton<T> : ScriptableObject where T : ScriptableObject
    {
        public static T instance { get { throw new NotSupportedException(); } }
        protected virtual void Save(bool saveAsText) { }
    }

    public enum SettingsScope { User, Project }

    public sealed class SettingsProviderAttribute : Attribute { }

    public class SettingsProvider
    {
        public SettingsProvider(string path, SettingsScope scopes, IEnumerable<string> keywords = null) { }
        public string label { get; set; }
        public IEnumerable<string> keywords { get; set; }
        public Action<string, VisualElement> activateHandler { get; set; }
    }

    public static class SettingsService
    {
        public static EditorWindow OpenProjectSettings(string settingsPath = null) { throw new NotSupportedException(); }
    }
}

namespace UnityEditor.Compilation
{
    public enum CompilerMessageType { Error, Warning, Info }

    public struct CompilerMessage
    {
        public string message;
        public string file;
        public int line;
        public int column;
        public CompilerMessageType type;

        public CompilerMessage(string message)
        {
            this.message = message;
            file = "";
            line = 0;
            column = 0;
            type = CompilerMessageType.Error;
        }
    }

    [Flags] public enum RequestScriptCompilationOptions { None = 0, CleanBuildCache = 1 }

    public static class CompilationPipeline
    {
        public static void RequestScriptCompilation(RequestScriptCompilationOptions options = RequestScriptCompilationOptions.None) { }
        public static event Action<object> compilationStarted { add { } remove { } }
        public static event Action<object> compilationFinished { add { } remove { } }
        public static event Action<string, CompilerMessage[]> assemblyCompilationFinished { add { } remove { } }
    }
}

namespace UnityEditor.SceneManagement
{
    using UnityEngine.SceneManagement;

    public enum OpenSceneMode { Single, Additive, AdditiveWithoutLoading }

    public static class EditorSceneManager
    {
        public static Scene OpenScene(string scenePath, OpenSceneMode mode = OpenSceneMode.Single) { throw new NotSupportedException(); }
        public static Scene GetActiveScene() { throw new NotSupportedException(); }
        public static int sceneCount { get { throw new NotSupportedException(); } }
        public static Scene GetSceneAt(int index) { throw new NotSupportedException(); }
    }
}
