using System.Collections.Generic;
using UnityEditor;
using UnityEngine;
using UnityEngine.UIElements;

namespace UnityMcp.Editor
{
    /// <summary>Window > Unity MCP: what the plugin is doing, and why it is not connected.</summary>
    sealed class StatusWindow : EditorWindow
    {
        const int RefreshInterval = 500;

        readonly Dictionary<string, Label> values = new Dictionary<string, Label>();
        HelpBox problem;
        HelpBox missing;

        [MenuItem("Window/Unity MCP")]
        static void Open()
        {
            var window = GetWindow<StatusWindow>();
            window.titleContent = new GUIContent("Unity MCP", EditorGUIUtility.IconContent("UnityEditor.ConsoleWindow").image);
            window.minSize = new Vector2(320, 240);
        }

        void CreateGUI()
        {
            var root = rootVisualElement;
            root.style.paddingLeft = 8;
            root.style.paddingRight = 8;
            root.style.paddingTop = 8;
            foreach (var name in new[] { "State", "Port", "Server version", "Plugin version", "Project", "Test framework" }) AddRow(root, name);
            problem = new HelpBox("", HelpBoxMessageType.Warning);
            root.Add(problem);
            missing = new HelpBox("", HelpBoxMessageType.Info);
            root.Add(missing);
            root.Add(new Button(Reconnect) { text = "Reconnect" });
            root.Add(new Button(UnityMcpSettings.Open) { text = "Settings…" });
            AddRow(root, "Last events");
            Refresh();
            root.schedule.Execute(Refresh).Every(RefreshInterval);
        }

        void AddRow(VisualElement root, string name)
        {
            var row = new VisualElement();
            row.style.flexDirection = FlexDirection.Row;
            var caption = new Label(name);
            caption.style.minWidth = 110;
            caption.style.unityFontStyleAndWeight = FontStyle.Bold;
            row.Add(caption);
            values[name] = new Label();
            values[name].style.whiteSpace = WhiteSpace.Normal;
            row.Add(values[name]);
            root.Add(row);
        }

        static void Reconnect()
        {
            if (Bootstrap.Plugin != null) Bootstrap.Plugin.Reconnect();
        }

        void Refresh()
        {
            var plugin = Bootstrap.Plugin;
            var status = plugin == null ? null : plugin.Status;
            values["State"].text = status == null ? "Off" : Describe(status.Link);
            values["Port"].text = status == null || status.Port == 0 ? "–" : status.Port.ToString();
            values["Server version"].text = status == null || status.Link != LinkState.Open ? "–" : status.ServerVersion;
            values["Plugin version"].text = PluginVersion.Text;
            values["Project"].text = Bootstrap.Facts == null ? "–" : Bootstrap.Facts.ProjectPath;
            values["Test framework"].text = Bootstrap.HasTestFramework ? "Installed" : "Not installed: run_tests is not offered";
            values["Last events"].text = Bootstrap.Activity.Text;
            Show(problem, status == null ? null : status.LastError);
            Show(missing, Internals.Missing.Count == 0 ? null : "Not available in this version of Unity:\n" + string.Join("\n", Internals.Missing));
        }

        static void Show(HelpBox box, string text)
        {
            box.text = text ?? "";
            box.style.display = text == null ? DisplayStyle.None : DisplayStyle.Flex;
        }

        static string Describe(LinkState link)
        {
            switch (link)
            {
                case LinkState.Open: return "Connected";
                case LinkState.Dialing:
                case LinkState.Greeting: return "Connecting…";
                case LinkState.Replaced: return "Replaced by another connection";
                case LinkState.Away: return "Not connected, tries again";
                default: return "Ending";
            }
        }
    }
}
