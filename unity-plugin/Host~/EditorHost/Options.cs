using System;
using System.Globalization;
using System.IO;

namespace UnityMcp.Host
{
    /// <summary>The command line, checked.</summary>
    public sealed class Options
    {
        public const string Help = @"Plays a Unity Editor that has the Unity MCP plugin, for work without Unity.

  --port N           port of the server [default: unity-mcp.server.json of the project, else 8091]
  --project DIR      the project that is open [default: none]
  --seed N           seed for the jitter and the names [default: a new one for each start]
  --heartbeats       show pings and pongs too
  --json             write the output as JSON lines
  --tool-time TIME   how long a tool blocks the main thread [default: 20ms]
  --compile-time T   how long a compile takes [default: 3s]
  --reload TIME      how long the domain reload after a compile takes; 0s: none [default: 2s]
  --play-reload TIME reload the domain for this long when a Play Mode run starts; 0s: never [default: 0s]
  --reconnect TIMES  forever, never, or this many failed attempts in a row [default: forever]
  --tests FILE       read the tests of the project from this YAML file
  --no-tests         the project has no test framework
  --unfocused        tick every 100 ms, as an Editor without focus does
  --only-woken       after a reload of the domain, tick only if the socket thread wakes the main thread
  --no-wake          the socket thread does not wake the main thread

While it runs, type ""help"" for a list of words.
Exit codes: 0 quit by a person, 1 other failure, 2 invalid flag or file, 3 no server (see --reconnect).";

        public int? Port;
        public string Project;
        public int Seed;
        public bool IsJson;
        public bool HasHeartbeats;
        public long ToolTime = 20;
        public long CompileTime = 3000;
        public long ReloadTime = 2000;
        public long PlayReloadTime;
        /// <summary>Failed attempts in a row that end the program; null: never.</summary>
        public int? ReconnectMax;
        public Suite Suite = Suite.Sample();
        public bool HasTests = true;
        public bool IsUnfocused;
        public bool IsOnlyWoken;
        public bool CanWake = true;
        public bool WantsHelp;

        /// <summary>Throws WordException or IOException.</summary>
        public static Options Parse(string[] arguments)
        {
            var options = new Options { Seed = Guid.NewGuid().GetHashCode() & int.MaxValue };
            for (var index = 0; index < arguments.Length; index++)
            {
                var flag = arguments[index];
                string value = null;
                var equals = flag.IndexOf('=');
                if (equals > 0)
                {
                    value = flag.Substring(equals + 1);
                    flag = flag.Substring(0, equals);
                }
                if (options.SetSwitch(flag)) continue;
                if (value == null && ++index >= arguments.Length) throw new WordException(flag + " is unknown or needs a value; see --help");
                options.SetValue(flag, value ?? arguments[index]);
            }
            return options;
        }

        bool SetSwitch(string flag)
        {
            switch (flag)
            {
                case "--json":
                    IsJson = true;
                    return true;
                case "--heartbeats":
                    HasHeartbeats = true;
                    return true;
                case "--no-tests":
                    HasTests = false;
                    return true;
                case "--unfocused":
                    IsUnfocused = true;
                    return true;
                case "--only-woken":
                    IsOnlyWoken = true;
                    return true;
                case "--no-wake":
                    CanWake = false;
                    return true;
                case "--help":
                case "-h":
                    WantsHelp = true;
                    return true;
                default:
                    return false;
            }
        }

        void SetValue(string flag, string value)
        {
            switch (flag)
            {
                case "--port":
                    Port = Number(flag, value, 1, 65535);
                    break;
                case "--project":
                    Project = Path.GetFullPath(value).Replace('\\', '/');
                    break;
                case "--seed":
                    Seed = Number(flag, value, 0, int.MaxValue);
                    break;
                case "--tool-time":
                    ToolTime = Word.Duration(value);
                    break;
                case "--compile-time":
                    CompileTime = Word.Duration(value);
                    break;
                case "--reload":
                    ReloadTime = Word.Duration(value);
                    break;
                case "--play-reload":
                    PlayReloadTime = Word.Duration(value);
                    break;
                case "--reconnect":
                    ReconnectMax = value == "forever" ? (int?)null : value == "never" ? 0 : Number(flag, value, 0, int.MaxValue);
                    break;
                case "--tests":
                    Suite = Suite.Parse(File.ReadAllText(value));
                    break;
                default:
                    throw new WordException("unknown flag " + flag + "; see --help");
            }
        }

        static int Number(string flag, string value, int min, int max)
        {
            int number;
            var isNumber = int.TryParse(value, NumberStyles.None, CultureInfo.InvariantCulture, out number);
            if (!isNumber || number < min || number > max)
                throw new WordException(flag + " " + value + " is not a number from " + min + " to " + max);
            return number;
        }
    }
}
