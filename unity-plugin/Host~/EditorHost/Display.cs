using System;
using System.Collections.Concurrent;
using System.Diagnostics;
using System.Globalization;
using System.Text;
using System.Threading;
using UnityMcp;

namespace UnityMcp.Host
{
    /// <summary>Shows what happens: plain lines, or the JSON lines of mock-unity. May be used from any thread.</summary>
    public sealed class Display
    {
        const int CharsMax = 160;
        const int LinesMax = 10000;
        const string LastLine = "\n";
        static readonly TimeSpan FlushTimeout = TimeSpan.FromMilliseconds(500);

        readonly Stopwatch time = Stopwatch.StartNew();
        readonly BlockingCollection<string> lines = new BlockingCollection<string>(LinesMax);
        readonly ManualResetEventSlim isWritten = new ManualResetEventSlim();
        readonly bool isJson;
        readonly bool hasHeartbeats;
        int failed;

        /// <param name="hasHeartbeats">Whether pings and pongs are shown. JSON lines always have them.</param>
        public Display(bool isJson, bool hasHeartbeats)
        {
            this.isJson = isJson;
            this.hasHeartbeats = hasHeartbeats || isJson;
            // A blocked stdout must not stop the Editor: a separate thread writes, and surplus lines are dropped.
            new Thread(WriteLines) { IsBackground = true }.Start();
        }

        /// <param name="kind">to_server, from_server, connected, disconnected (text: the close frame of the server), no_connection, tell or books.</param>
        public void Show(string kind, string text)
        {
            if (kind == "connected") failed = 0;
            if (kind == "no_connection" && ++failed > 1) return;
            if (!hasHeartbeats && text != null && (text.Contains("\"type\":\"ping\"") || text.Contains("\"type\":\"pong\""))) return;
            WriteLine(isJson ? JsonLine(kind, text) : PlainLine(kind, text));
        }

        public void WriteLine(string line)
        {
            lines.TryAdd(line);
        }

        string JsonLine(string kind, string text)
        {
            var isJsonText = kind == "to_server" || kind == "from_server" || kind == "disconnected" || kind == "books";
            var value = text == null ? "null" : isJsonText ? text : Json.Of(text).ToString();
            return Printable("{\"ms\":" + time.ElapsedMilliseconds + ",\"" + kind + "\":" + value + "}");
        }

        string PlainLine(string kind, string text)
        {
            var sign = kind == "to_server" ? "->" : kind == "from_server" ? "<-" : kind == "connected" ? "=="
                : kind == "disconnected" || kind == "no_connection" ? "xx" : "..";
            var shown = Printable(kind == "disconnected" && text != null ? "the server closed the connection: " + text : text ?? kind);
            if (shown.Length > CharsMax && kind != "books") shown = shown.Substring(0, CharsMax) + "…";
            return string.Format(CultureInfo.InvariantCulture, "{0,9:0.000}  {1}  {2}", time.Elapsed.TotalSeconds, sign, shown);
        }

        /// <summary>Escapes control and direction characters, so that text from elsewhere stays text.</summary>
        static string Printable(string text)
        {
            var clean = new StringBuilder(text.Length);
            foreach (var character in text)
            {
                var isHidden = char.IsControl(character) || (character >= '\u200B' && character <= '\u200F')
                    || (character >= '\u2028' && character <= '\u202E') || (character >= '\u2060' && character <= '\u206F') || character == '\uFEFF';
                if (isHidden) clean.Append("\\u").Append(((int)character).ToString("x4", CultureInfo.InvariantCulture));
                else clean.Append(character);
            }
            return clean.ToString();
        }

        void WriteLines()
        {
            var output = Console.OpenStandardOutput();
            for (var line = lines.Take(); line != LastLine; line = lines.Take())
            {
                var bytes = Encoding.UTF8.GetBytes(line + "\n");
                output.Write(bytes, 0, bytes.Length);
                if (lines.Count == 0) output.Flush();
            }
            isWritten.Set();
        }

        /// <summary>Waits until the last lines are written, or until the timeout.</summary>
        public void Flush()
        {
            lines.Add(LastLine);
            isWritten.Wait(FlushTimeout);
        }
    }
}
