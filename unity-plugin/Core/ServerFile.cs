using System;
using System.IO;

namespace UnityMcp
{
    /// <summary>The file unity-mcp.server.json in the project root. The server reads the same file.</summary>
    public static class ServerFile
    {
        public const string Name = "unity-mcp.server.json";

        /// <param name="otherwise">The port if there is no file, or if it names none.</param>
        public static ServerAddress Find(string projectPath, int otherwise)
        {
            var file = projectPath == null ? null : Path.Combine(projectPath, Name);
            try
            {
                if (file == null || !File.Exists(file)) return new ServerAddress { Port = otherwise };
                if (new FileInfo(file).Length > Limits.ConfigBytesMax) return Broken("is larger than 1 MiB");
                return Parse(File.ReadAllText(file), otherwise);
            }
            catch (Exception problem) when (problem is IOException || problem is UnauthorizedAccessException)
            {
                return Broken("cannot be read: " + problem.Message);
            }
        }

        /// <summary>Unknown settings belong to the server, which checks them.</summary>
        public static ServerAddress Parse(string text, int otherwise)
        {
            Json file;
            try
            {
                file = JsonReader.Parse(text);
            }
            catch (JsonException problem)
            {
                return Broken("is not valid JSON: " + problem.Message);
            }
            if (file.Kind != JsonKind.Object) return Broken("must have a JSON object");
            if (file["schema_version"] != null && file["schema_version"].AsLong != 1) return Broken("must have the schema_version 1");
            var port = file["unity_ws_port"];
            if (port == null) return new ServerAddress { Port = otherwise };
            if (port.AsLong == null || port.AsLong < 1 || port.AsLong > 65535)
                return Broken("has the unity_ws_port " + port + "; it must be a number from 1 to 65535");
            return new ServerAddress { Port = (int)port.AsLong.Value };
        }

        static ServerAddress Broken(string problem)
        {
            return new ServerAddress { Problem = "The file " + Name + " of this project " + problem + "." };
        }
    }
}
