using System.Collections.Generic;

namespace UnityMcp
{
    public sealed class OpenScene
    {
        /// <summary>Empty for a scene that was never saved.</summary>
        public string Path;
        public string Name;
        public bool IsActive;
        public bool IsDirty;
    }

    public sealed class BuildScene
    {
        public string Path;
        public bool IsEnabled;
    }

    public sealed class SelectedObject
    {
        public string Name;
        /// <summary>The path of an asset, or the place in the hierarchy of its scene.</summary>
        public string Path;
        public string Type;
    }

    /// <summary>The scenes and assets of the open project. Paths have forward slashes. Main thread only.</summary>
    public interface IProject
    {
        /// <summary>Whether the Editor is in Play Mode or about to enter it.</summary>
        bool IsPlaying { get; }
        IList<OpenScene> OpenScenes { get; }
        IList<BuildScene> BuildScenes { get; }
        IList<SelectedObject> Selection { get; }
        bool HasScene(string path);
        void OpenScene(string path, bool isAdditive);
        bool HasFolder(string path);
        /// <summary>The paths of the assets that match, in any order.</summary>
        /// <param name="query">As in the search field of the Project window. Empty: all.</param>
        /// <param name="folder">Null: all folders.</param>
        IEnumerable<string> FindAssets(string query, string folder);
        string TypeOf(string assetPath);
        string GuidOf(string assetPath);
    }
}
