// Stand-ins of the Unity API: signatures only, so that Editor/ and TestFramework/ compile without Unity.
using System;

namespace UnityEngine
{
    public enum LogType { Error, Assert, Warning, Log, Exception }
    public enum FontStyle { Normal, Bold }
    [Flags] public enum HideFlags { None = 0, HideAndDontSave = 61 }

    public class Object
    {
        public string name { get; set; }
        public HideFlags hideFlags { get; set; }
        public static void DestroyImmediate(Object obj) { }
        public static bool operator ==(Object one, Object other) { throw new NotSupportedException(); }
        public static bool operator !=(Object one, Object other) { throw new NotSupportedException(); }
        public override bool Equals(object other) { throw new NotSupportedException(); }
        public override int GetHashCode() { throw new NotSupportedException(); }
    }

    public class Component : Object { }

    public class Transform : Component
    {
        public Transform parent { get; set; }
    }

    public sealed class GameObject : Object
    {
        public Transform transform { get { throw new NotSupportedException(); } }
    }

    public class ScriptableObject : Object
    {
        public static T CreateInstance<T>() where T : ScriptableObject { throw new NotSupportedException(); }
    }

    public class Texture : Object { }

    public sealed class SerializeField : Attribute { }

    public struct Vector2
    {
        public Vector2(float x, float y) { }
    }

    public class GUIContent
    {
        public GUIContent(string text, Texture image) { }
        public Texture image { get; set; }
    }

    public static class Mathf
    {
        public static int Clamp(int value, int min, int max) { throw new NotSupportedException(); }
    }

    public static class Application
    {
        public delegate void LogCallback(string condition, string stackTrace, LogType type);

        public static event LogCallback logMessageReceivedThreaded { add { } remove { } }
        public static bool isBatchMode { get { throw new NotSupportedException(); } }
        public static string dataPath { get { throw new NotSupportedException(); } }
        public static string unityVersion { get { throw new NotSupportedException(); } }
    }
}

namespace UnityEngine.SceneManagement
{
    public struct Scene
    {
        public string name { get { throw new NotSupportedException(); } }
        public string path { get { throw new NotSupportedException(); } }
        public bool isDirty { get { throw new NotSupportedException(); } }
        public bool isLoaded { get { throw new NotSupportedException(); } }
        public static bool operator ==(Scene one, Scene other) { throw new NotSupportedException(); }
        public static bool operator !=(Scene one, Scene other) { throw new NotSupportedException(); }
        public override bool Equals(object other) { throw new NotSupportedException(); }
        public override int GetHashCode() { throw new NotSupportedException(); }
    }
}
