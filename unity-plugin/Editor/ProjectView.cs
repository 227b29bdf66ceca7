using System.Collections.Generic;
using UnityEditor;
using UnityEditor.SceneManagement;
using UnityEngine;

namespace UnityMcp.Editor
{
    /// <summary>The scenes, the assets and the selection of this Editor.</summary>
    sealed class ProjectView : IProject
    {
        public bool IsPlaying
        {
            get { return EditorApplication.isPlayingOrWillChangePlaymode; }
        }

        /// <summary>The hierarchy also lists scenes that are not loaded. They are not open.</summary>
        public IList<OpenScene> OpenScenes
        {
            get
            {
                var active = EditorSceneManager.GetActiveScene();
                var scenes = new List<OpenScene>();
                for (var index = 0; index < EditorSceneManager.sceneCount; index++)
                {
                    var scene = EditorSceneManager.GetSceneAt(index);
                    if (scene.isLoaded)
                        scenes.Add(new OpenScene { Path = scene.path, Name = scene.name, IsActive = scene == active, IsDirty = scene.isDirty });
                }
                return scenes;
            }
        }

        public IList<BuildScene> BuildScenes
        {
            get
            {
                var scenes = new List<BuildScene>();
                foreach (var scene in EditorBuildSettings.scenes) scenes.Add(new BuildScene { Path = scene.path, IsEnabled = scene.enabled });
                return scenes;
            }
        }

        public IList<SelectedObject> Selection
        {
            get
            {
                var objects = new List<SelectedObject>();
                foreach (var selected in UnityEditor.Selection.objects)
                {
                    // A selected object may have been destroyed.
                    if (selected == null) continue;
                    objects.Add(new SelectedObject { Name = selected.name, Path = PathOf(selected), Type = selected.GetType().Name });
                }
                return objects;
            }
        }

        static string PathOf(Object selected)
        {
            var path = AssetDatabase.GetAssetPath(selected);
            if (!string.IsNullOrEmpty(path)) return path;
            var gameObject = selected as GameObject;
            if (gameObject == null) return "";
            path = "";
            for (var place = gameObject.transform; place != null; place = place.parent) path = "/" + place.name + path;
            return path;
        }

        public bool HasScene(string path)
        {
            return AssetDatabase.GetMainAssetTypeAtPath(path) == typeof(SceneAsset);
        }

        public void OpenScene(string path, bool isAdditive)
        {
            EditorSceneManager.OpenScene(path, isAdditive ? OpenSceneMode.Additive : OpenSceneMode.Single);
        }

        public bool HasFolder(string path)
        {
            return AssetDatabase.IsValidFolder(path);
        }

        /// <summary>Unity finds an asset once for each of its parts that matches.</summary>
        public IEnumerable<string> FindAssets(string query, string folder)
        {
            foreach (var guid in AssetDatabase.FindAssets(query, folder == null ? null : new[] { folder }))
                yield return AssetDatabase.GUIDToAssetPath(guid);
        }

        public string TypeOf(string assetPath)
        {
            var type = AssetDatabase.GetMainAssetTypeAtPath(assetPath);
            return type == null ? null : type.Name;
        }

        public string GuidOf(string assetPath)
        {
            return AssetDatabase.AssetPathToGUID(assetPath);
        }
    }
}
