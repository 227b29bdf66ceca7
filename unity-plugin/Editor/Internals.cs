using System;
using System.Collections.Generic;
using System.Reflection;

namespace UnityMcp.Editor
{
    /// <summary>Internal methods of Unity. All are optional: the status window shows which ones are missing.</summary>
    public static class Internals
    {
        const BindingFlags AnyStatic = BindingFlags.Static | BindingFlags.Public | BindingFlags.NonPublic;

        static readonly List<string> missing = new List<string>();

        /// <summary>What is missing in this version of Unity, and what follows from it.</summary>
        public static IList<string> Missing
        {
            get { return missing; }
        }

        /// <summary>A static method as a delegate; null if this version of Unity does not have it.</summary>
        public static T Method<T>(Type type, string name, string consequence) where T : class
        {
            return Method<T>(type, new[] { name }, consequence);
        }

        /// <param name="names">The names that the method has in different versions. The first one that fits is taken.</param>
        public static T Method<T>(Type type, string[] names, string consequence) where T : class
        {
            // GetMethod would throw as soon as Unity adds an overload, and then the plugin would not start.
            var methods = type == null ? new MethodInfo[0] : type.GetMethods(AnyStatic);
            foreach (var name in names)
            {
                foreach (var method in methods)
                {
                    if (method.Name != name || method.ContainsGenericParameters) continue;
                    var found = Delegate.CreateDelegate(typeof(T), method, false) as T;
                    if (found != null) return found;
                }
            }
            Note((type == null ? "?" : type.Name) + "." + string.Join("/", names) + ": " + consequence);
            return null;
        }

        public static void Note(string line)
        {
            if (!missing.Contains(line)) missing.Add(line);
        }
    }
}
