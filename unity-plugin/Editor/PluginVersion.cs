namespace UnityMcp.Editor
{
    static class PluginVersion
    {
        /// <summary>The same as in package.json. Host~/check-metas compares them.</summary>
        public const string Text = "0.2.0";
    }
}
