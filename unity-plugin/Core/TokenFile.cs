using System;
using System.IO;
using System.Runtime.InteropServices;

namespace UnityMcp
{
    public enum HostSystem { Linux, MacOs, Windows }

    /// <summary>The secret of this user, in the file that the server has created. See SECURITY.md.</summary>
    public static class TokenFile
    {
        public const string FileVariable = "UNITY_MCP_TOKEN_FILE";

        public static HostSystem ThisSystem
        {
            get
            {
                if (RuntimeInformation.IsOSPlatform(OSPlatform.Windows)) return HostSystem.Windows;
                return RuntimeInformation.IsOSPlatform(OSPlatform.OSX) ? HostSystem.MacOs : HostSystem.Linux;
            }
        }

        /// <summary>Where the file is; null if the system does not say where the user's files are.</summary>
        public static string Locate(HostSystem system, Func<string, string> variable)
        {
            var named = variable(FileVariable);
            if (!string.IsNullOrEmpty(named)) return named;
            string state = null;
            var home = variable("HOME");
            switch (system)
            {
                case HostSystem.Windows:
                    state = variable("LOCALAPPDATA");
                    break;
                case HostSystem.MacOs:
                    state = Below(home, "Library/Application Support");
                    break;
                case HostSystem.Linux:
                    var stateHome = variable("XDG_STATE_HOME");
                    state = IsAbsolute(stateHome) ? stateHome : Below(home, ".local/state");
                    break;
            }
            return string.IsNullOrEmpty(state) ? null : Path.Combine(state, "unity-mcp", "token");
        }

        static bool IsAbsolute(string path)
        {
            return !string.IsNullOrEmpty(path) && path.StartsWith("/", StringComparison.Ordinal);
        }

        static string Below(string home, string folder)
        {
            return IsAbsolute(home) ? Path.Combine(home, folder) : null;
        }

        /// <summary>Reads the token of this user. Throws IOException with a message for a person.</summary>
        public static string Read()
        {
            var file = Locate(ThisSystem, Environment.GetEnvironmentVariable);
            if (file == null) throw new IOException("The server requires a token, and there is no place for it: set " + FileVariable + ".");
            return ReadFrom(file);
        }

        public static string ReadFrom(string file)
        {
            var about = new FileInfo(file);
            if (!about.Exists) throw new IOException("The server requires a token, and there is no token file " + file + ".");
            var isLink = (about.Attributes & FileAttributes.ReparsePoint) != 0;
            if (isLink || about.Length > Limits.TokenBytesMax) throw new IOException("The file " + file + " is not a file with a token.");
            var token = File.ReadAllText(file).Trim();
            if (!IsToken(token)) throw new IOException("The file " + file + " has no valid token: remove it and restart the server.");
            return token;
        }

        static bool IsToken(string text)
        {
            if (text.Length < Limits.TokenCharsMin) return false;
            foreach (var character in text)
                if (character <= ' ' || character > '~') return false;
            return true;
        }
    }
}
