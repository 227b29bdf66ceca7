using System;
using System.Collections.Generic;
using System.Security.Cryptography;
using System.Text;
using UnityMcp;

namespace UnityMcp.Host
{
    /// <summary>The scenes and assets of the sample project of mock-unity. The Editor remembers which scenes are open.</summary>
    sealed class SampleProject : IProject
    {
        const string SceneType = "SceneAsset";

        static readonly string[][] Assets =
        {
            new[] { "Assets/Materials/Grass.mat", "Material" },
            new[] { "Assets/Prefabs/Enemy.prefab", "GameObject" },
            new[] { "Assets/Prefabs/Player.prefab", "GameObject" },
            new[] { "Assets/Scenes/Credits.unity", SceneType },
            new[] { "Assets/Scenes/Meadow.unity", SceneType },
            new[] { "Assets/Scenes/Menu.unity", SceneType },
            new[] { "Assets/Scripts/Enemy.cs", "MonoScript" },
            new[] { "Assets/Scripts/Player.cs", "MonoScript" },
            new[] { "Assets/Textures/Grass.png", "Texture2D" }
        };

        readonly Bridge bridge;

        public SampleProject(Bridge bridge)
        {
            this.bridge = bridge;
        }

        public bool IsPlaying
        {
            get { return false; }
        }

        /// <summary>The last one is active. Only the active one may have unsaved changes.</summary>
        public IList<OpenScene> OpenScenes
        {
            get
            {
                var paths = bridge.OpenScenes;
                var scenes = new List<OpenScene>();
                for (var index = 0; index < paths.Length; index++)
                {
                    var isActive = index == paths.Length - 1;
                    var name = System.IO.Path.GetFileNameWithoutExtension(paths[index]);
                    scenes.Add(new OpenScene { Path = paths[index], Name = name, IsActive = isActive, IsDirty = isActive && bridge.IsDirty });
                }
                return scenes;
            }
        }

        public IList<BuildScene> BuildScenes
        {
            get
            {
                return new[]
                {
                    new BuildScene { Path = "Assets/Scenes/Menu.unity", IsEnabled = true },
                    new BuildScene { Path = "Assets/Scenes/Meadow.unity", IsEnabled = true },
                    new BuildScene { Path = "Assets/Scenes/Credits.unity", IsEnabled = false }
                };
            }
        }

        public IList<SelectedObject> Selection
        {
            get { return new[] { new SelectedObject { Name = "Player", Path = "/Player", Type = "GameObject" } }; }
        }

        public bool HasScene(string path)
        {
            return TypeOf(path) == SceneType;
        }

        public void OpenScene(string path, bool isAdditive)
        {
            var open = new List<string>();
            if (isAdditive) open.AddRange(bridge.OpenScenes);
            open.Remove(path);
            open.Add(path);
            bridge.OpenScenes = open.ToArray();
        }

        public bool HasFolder(string path)
        {
            return Array.Exists(Assets, asset => asset[0].StartsWith(path + "/", StringComparison.Ordinal));
        }

        /// <summary>A query is part of a path, or t: and the beginning of a type.</summary>
        public IEnumerable<string> FindAssets(string query, string folder)
        {
            foreach (var asset in Assets)
            {
                var fits = query.StartsWith("t:", StringComparison.OrdinalIgnoreCase)
                    ? asset[1].StartsWith(query.Substring(2), StringComparison.OrdinalIgnoreCase)
                    : asset[0].IndexOf(query, StringComparison.OrdinalIgnoreCase) >= 0;
                if (fits && (folder == null || asset[0].StartsWith(folder + "/", StringComparison.Ordinal))) yield return asset[0];
            }
        }

        public string TypeOf(string assetPath)
        {
            var asset = Array.Find(Assets, row => row[0] == assetPath);
            return asset == null ? null : asset[1];
        }

        public string GuidOf(string assetPath)
        {
            using (var md5 = MD5.Create())
                return BitConverter.ToString(md5.ComputeHash(Encoding.UTF8.GetBytes(assetPath))).Replace("-", "").ToLowerInvariant();
        }
    }
}
