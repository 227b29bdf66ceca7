using System;
using System.Collections.Generic;

namespace UnityMcp
{
    /// <summary>The tools about scenes, assets and the selection. Main thread only.</summary>
    public sealed class ProjectTools
    {
        readonly IProject project;

        public ProjectTools(IProject project)
        {
            this.project = project;
        }

        public IEnumerable<Tool> All
        {
            get
            {
                yield return Tool.Sync("open_scene", OpenScene);
                yield return Tool.Sync("list_scenes", call => () => ListScenes(call.MaxMessageBytes));
                yield return Tool.Sync("list_assets", ListAssets);
                yield return Tool.Sync("get_selection", call => () => GetSelection(call.MaxMessageBytes));
            }
        }

        Func<Json> OpenScene(ToolCall call)
        {
            var path = Parameters.RequiredText(call.Params, "path");
            var isAdditive = Parameters.Flag(call.Params, "additive", false);
            return () =>
            {
                if (project.IsPlaying)
                    throw new FailedException("The Editor is in Play Mode, so the scene " + path + " was not opened. Ask the user to leave Play Mode.");
                if (!project.HasScene(path))
                    throw new FailedException("There is no scene " + path + ", so nothing was opened. Find its path with list_assets and the query t:Scene.");
                if (!isAdditive) RequireSavedScenes(path);
                project.OpenScene(path, isAdditive);
                return Json.Object().With("path", path);
            };
        }

        /// <summary>Unity would discard the changes without a question.</summary>
        void RequireSavedScenes(string path)
        {
            foreach (var scene in project.OpenScenes)
                if (scene.IsDirty)
                    throw new FailedException("The scene " + Label(scene) + " has unsaved changes, so " + path + " was not opened. Ask the user to save or discard them.");
        }

        static string Label(OpenScene scene)
        {
            if (!string.IsNullOrEmpty(scene.Path)) return scene.Path;
            return string.IsNullOrEmpty(scene.Name) ? "\"Untitled\"" : "\"" + scene.Name + "\"";
        }

        Json ListScenes(int maxMessageBytes)
        {
            var room = new FrameRoom(maxMessageBytes);
            var open = new List<Json>();
            foreach (var scene in project.OpenScenes)
                open.Add(Json.Object().With("path", scene.Path ?? "").With("name", scene.Name ?? "").With("is_active", scene.IsActive)
                    .With("is_dirty", scene.IsDirty));
            var build = new List<Json>();
            foreach (var scene in project.BuildScenes)
                build.Add(Json.Object().With("path", scene.Path ?? "").With("enabled", scene.IsEnabled));
            return Json.Object().With("open", First(open, Limits.ListedMax, room)).With("build", First(build, Limits.ListedMax, room));
        }

        Json GetSelection(int maxMessageBytes)
        {
            var objects = new List<Json>();
            foreach (var selected in project.Selection)
                objects.Add(Json.Object().With("name", FrameRoom.Cut(selected.Name ?? "", Limits.NameCharsMax))
                    .With("path", FrameRoom.Cut(selected.Path ?? "", Limits.ErrorCharsMax)).With("type", selected.Type ?? ""));
            return Json.Object().With("count", objects.Count).With("objects", First(objects, Limits.ListedMax, new FrameRoom(maxMessageBytes)));
        }

        Func<Json> ListAssets(ToolCall call)
        {
            var query = Parameters.OptionalText(call.Params, "query") ?? "";
            var folder = Parameters.OptionalText(call.Params, "folder");
            var after = Parameters.OptionalText(call.Params, "after") ?? "";
            var entriesMax = Parameters.Count(call.Params, "max_entries", Limits.AssetsDefault);
            if (folder != null) folder = folder.Replace('\\', '/').TrimEnd('/');
            if (folder == "") folder = null;
            return () =>
            {
                if (folder != null && !project.HasFolder(folder)) throw new FailedException("There is no folder " + folder + " in the project.");
                return ListAssets(project.FindAssets(query, folder), after, entriesMax, call.MaxMessageBytes);
            };
        }

        /// <summary>Asks for type and GUID of the listed assets only: a project may have a hundred thousand.</summary>
        Json ListAssets(IEnumerable<string> found, string after, long entriesMax, int maxMessageBytes)
        {
            var paths = new List<string>();
            foreach (var path in new HashSet<string>(found))
                if (!string.IsNullOrEmpty(path) && PathOrder.Instance.Compare(path, after) > 0) paths.Add(path);
            paths.Sort(PathOrder.Instance);
            var listed = new List<Json>();
            for (var index = 0; index < paths.Count && index < entriesMax; index++)
                listed.Add(Json.Object().With("path", paths[index]).With("type", project.TypeOf(paths[index]) ?? "").With("guid", project.GuidOf(paths[index]) ?? ""));
            var assets = First(listed, listed.Count, new FrameRoom(maxMessageBytes));
            var count = assets.Items.Count;
            return Json.Object().With("count", count).With("truncated", count < paths.Count).With("assets", assets);
        }

        /// <summary>As many of the first items as fit.</summary>
        static Json First(IList<Json> items, int countMax, FrameRoom room)
        {
            var list = Json.Array();
            foreach (var item in items)
            {
                if (list.Items.Count == countMax || !room.Take(item)) break;
                list.Add(item);
            }
            return list;
        }
    }
}
