using System;
using System.Globalization;

namespace UnityMcp.Host
{
    /// <summary>A line that cannot be obeyed, and what would be right.</summary>
    public sealed class WordException : Exception
    {
        public WordException(string message) : base(message)
        {
        }
    }

    /// <summary>One line of stdin, or one flag: what to do, checked.</summary>
    public sealed class Word
    {
        public string Name;
        /// <summary>Milliseconds; null if the line names no time.</summary>
        public long? Time;
        public int Count;
        public string Type;
        public string Text;

        /// <summary>Every word: its name, its arguments, what it does.</summary>
        public static readonly string[][] All =
        {
            new[] { "compile", "[3s]", "compile scripts, then reload the domain" },
            new[] { "compile", "fails N [3s]", "compile scripts with N errors; the domain does not reload" },
            new[] { "edit", "[fails N]", "change scripts on disk, for script_recompile_trigger; or with N errors" },
            new[] { "dirty", "", "change the active scene without saving it" },
            new[] { "reload", "[2s]", "reload the domain; requests and jobs stay" },
            new[] { "play", "[2s]", "enter play mode: a domain reload without a compile" },
            new[] { "restart", "[5s]", "quit the Editor and start it again: everything is lost" },
            new[] { "drop", "[1s]", "drop the socket and connect again after this time" },
            new[] { "close", "[1s]", "the same, with a close handshake" },
            new[] { "goaway", "[1s]", "the same with the close code 1001, which announces a reload" },
            new[] { "freeze", "[10s]", "block the main thread: pings are answered, nothing runs" },
            new[] { "dialog", "", "open a modal dialog: the same until \"dismiss\"" },
            new[] { "dismiss", "", "end a dialog or a freeze" },
            new[] { "log", "TYPE TEXT", "add an entry to the console (log, warning, error, assert, exception)" },
            new[] { "clear", "", "clear the console" },
            new[] { "project", "[PATH]", "open another project: the Editor restarts; without a path it names none" },
            new[] { "tests", "fail N | pass", "set how many tests fail in the next runs" },
            new[] { "status", "", "show the state of Editor and connection, and the books" },
            new[] { "help", "", "show this list" },
            new[] { "quit", "", "close the connection and exit" }
        };

        /// <summary>Throws WordException.</summary>
        public static Word Parse(string line)
        {
            var name = Split(ref line);
            switch (name)
            {
                case "compile":
                    return Compile(line);
                case "edit":
                    return new Word { Name = name, Count = line == "" ? 0 : Failing(ref line, name) };
                case "reload":
                case "play":
                case "restart":
                case "drop":
                case "close":
                case "goaway":
                case "freeze":
                    return new Word { Name = name, Time = line == "" ? (long?)null : Duration(line) };
                case "dirty":
                case "dialog":
                case "dismiss":
                case "clear":
                case "status":
                case "help":
                case "quit":
                case "exit":
                    if (line != "") throw new WordException("unexpected \"" + line + "\"");
                    return new Word { Name = name == "exit" ? "quit" : name };
                case "log":
                    return Log(line);
                case "project":
                    return new Word { Name = name, Text = line };
                case "tests":
                    return Tests(line);
                default:
                    throw new WordException("unknown word \"" + name + "\"; " + Hint(name));
            }
        }

        static string Hint(string name)
        {
            var near = Array.Find(All, word => Distance(name, word[0]) <= 2);
            return near == null ? "type help for a list" : "did you mean " + near[0] + "?";
        }

        /// <summary>How many letters must be added, removed or changed.</summary>
        static int Distance(string one, string other)
        {
            var row = new int[other.Length + 1];
            for (var column = 0; column <= other.Length; column++) row[column] = column;
            for (var index = 1; index <= one.Length; index++)
            {
                var corner = row[0];
                row[0] = index;
                for (var column = 1; column <= other.Length; column++)
                {
                    var above = row[column];
                    var change = corner + (one[index - 1] == other[column - 1] ? 0 : 1);
                    row[column] = Math.Min(change, Math.Min(above, row[column - 1]) + 1);
                    corner = above;
                }
            }
            return row[other.Length];
        }

        /// <summary>Takes the first word off the line.</summary>
        static string Split(ref string line)
        {
            var parts = line.Trim().Split(new[] { ' ', '\t' }, 2);
            line = parts.Length > 1 ? parts[1].Trim() : "";
            return parts[0];
        }

        static Word Compile(string rest)
        {
            if (!rest.StartsWith("fails", StringComparison.Ordinal))
                return new Word { Name = "compile", Time = rest == "" ? (long?)null : Duration(rest) };
            var count = Failing(ref rest, "compile");
            return new Word { Name = "compile fails", Count = count, Time = rest == "" ? (long?)null : Duration(rest) };
        }

        /// <summary>Takes "fails 2" off the line.</summary>
        static int Failing(ref string rest, string word)
        {
            var example = word + " fails 2";
            var isFails = Split(ref rest) == "fails";
            var count = isFails ? Number(Split(ref rest), example) : 0;
            if (count == 0) throw new WordException("write the number of errors: " + example);
            return count;
        }

        static Word Log(string rest)
        {
            var type = Split(ref rest);
            if (Array.IndexOf(new[] { "log", "warning", "error", "assert", "exception" }, type) < 0)
                throw new WordException("\"" + type + "\" is not one of log, warning, error, assert, exception");
            if (rest.Length > 1 && rest[0] == '"' && rest[rest.Length - 1] == '"') rest = rest.Substring(1, rest.Length - 2);
            if (rest == "") throw new WordException("the text is missing: log error \"text\"");
            return new Word { Name = "log", Type = type, Text = rest };
        }

        static Word Tests(string rest)
        {
            if (rest == "pass") return new Word { Name = "tests" };
            if (Split(ref rest) != "fail") throw new WordException("write \"tests fail 3\" or \"tests pass\"");
            return new Word { Name = "tests", Count = Number(rest, "tests fail 3") };
        }

        static int Number(string text, string example)
        {
            int number;
            if (!int.TryParse(text, NumberStyles.None, CultureInfo.InvariantCulture, out number))
                throw new WordException("\"" + text + "\" is not a number; write \"" + example + "\"");
            return number;
        }

        /// <summary>Reads 500ms, 3s, 1.5s, 2m or a number of seconds, up to a day.</summary>
        public static long Duration(string text)
        {
            var digits = text.TrimEnd("ms".ToCharArray());
            var unit = text.Substring(digits.Length);
            var factor = unit == "ms" ? 1 : unit == "s" || unit == "" ? 1000 : unit == "m" ? 60000 : 0;
            double number;
            var isNumber = double.TryParse(digits, NumberStyles.AllowDecimalPoint, CultureInfo.InvariantCulture, out number);
            if (!isNumber || factor == 0 || number * factor > 86400000)
                throw new WordException("\"" + text + "\" is not a duration; write 500ms, 3s, 1.5s or 2m");
            return (long)(number * factor);
        }

        public static string Show(long milliseconds)
        {
            return milliseconds % 1000 == 0 ? milliseconds / 1000 + "s" : milliseconds + "ms";
        }
    }
}
