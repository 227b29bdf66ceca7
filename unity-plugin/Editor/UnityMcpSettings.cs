using System.Collections.Generic;
using UnityEditor;
using UnityEngine;
using UnityEngine.UIElements;

namespace UnityMcp.Editor
{
    /// <summary>Settings of one user in one project. The file unity-mcp.server.json of the project overrides the port.</summary>
    [FilePath("UserSettings/UnityMcpSettings.asset", FilePathAttribute.Location.ProjectFolder)]
    sealed class UnityMcpSettings : ScriptableSingleton<UnityMcpSettings>
    {
        const string Menu = "Project/Unity MCP";

        [SerializeField] int port = Limits.DefaultPort;
        [SerializeField] bool isEnabled = true;

        static volatile int publishedPort = Limits.DefaultPort;

        /// <summary>The port, for every thread.</summary>
        public static int PublishedPort
        {
            get { return publishedPort; }
        }

        public bool IsEnabled
        {
            get { return isEnabled; }
        }

        public void Publish()
        {
            publishedPort = Mathf.Clamp(port, 1, 65535);
        }

        void Apply()
        {
            Save(true);
            Publish();
            if (!isEnabled) Bootstrap.Stop();
            else if (Bootstrap.Plugin == null) Bootstrap.Start();
            else Bootstrap.Plugin.Reconnect();
        }

        public static void Open()
        {
            SettingsService.OpenProjectSettings(Menu);
        }

        [SettingsProvider]
        static SettingsProvider CreateProvider()
        {
            return new SettingsProvider(Menu, SettingsScope.Project)
            {
                label = "Unity MCP",
                keywords = new HashSet<string> { "MCP", "agent", "port", "server" },
                activateHandler = (search, root) => instance.Show(root)
            };
        }

        void Show(VisualElement root)
        {
            root.style.paddingLeft = 10;
            root.style.paddingTop = 4;
            var title = new Label("Unity MCP");
            title.style.fontSize = 19;
            title.style.unityFontStyleAndWeight = FontStyle.Bold;
            root.Add(title);
            var enabledField = new Toggle("Connect to the server") { value = isEnabled };
            enabledField.RegisterValueChangedCallback(change =>
            {
                isEnabled = change.newValue;
                Apply();
            });
            root.Add(enabledField);
            var portField = new TextField("Port") { value = port.ToString(), isDelayed = true };
            portField.RegisterValueChangedCallback(change => SetPort(portField, change.newValue));
            root.Add(portField);
            root.Add(new HelpBox("The file " + ServerFile.Name + " in the project folder overrides the port. The server reads the same file.",
                HelpBoxMessageType.Info));
        }

        void SetPort(TextField field, string text)
        {
            int number;
            if (int.TryParse(text, out number) && number >= 1 && number <= 65535)
            {
                port = number;
                Apply();
            }
            field.SetValueWithoutNotify(port.ToString());
        }
    }
}
