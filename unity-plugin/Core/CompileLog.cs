using System.Collections.Generic;
using System.Text.RegularExpressions;

namespace UnityMcp
{
    /// <summary>How a compile of the scripts ended, in numbers.</summary>
    public sealed class LastCompile
    {
        public long Errors;
        public long Warnings;
        public long EndedAt;
    }

    /// <summary>What the compiler said about the last compile. It survives a domain reload. Main thread only.</summary>
    public sealed class CompileLog
    {
        /// <summary>The end of "Assets/A.cs(1,2): error CS0103: text".</summary>
        static readonly Regex CodeAndText = new Regex(@"(?:^|: )(?:error|warning) ([A-Z]{1,8}[0-9]{1,8}): (.*)$", RegexOptions.Singleline);

        readonly IClock clock;
        Json errors = Json.Array();
        long errorCount;
        long warnings;

        public bool IsRunning { get; private set; }
        /// <summary>Nobody knows how the last compile that started has ended.</summary>
        public bool IsAbandoned { get; private set; }
        /// <summary>Null if nothing was compiled since the Editor started.</summary>
        public LastCompile Last { get; private set; }
        /// <summary>The first errors of the last compile.</summary>
        public Json LastErrors { get; private set; }
        /// <summary>Whether the domain was loaded again after the last compile.</summary>
        public bool IsReloaded { get; private set; }
        /// <summary>Grows with every compile, so that nothing is stored twice.</summary>
        public int Revision { get; private set; }

        /// <param name="saved">What Save returned before the domain reload, or null.</param>
        public CompileLog(IClock clock, Json saved)
        {
            this.clock = clock;
            LastErrors = Json.Array();
            if (saved == null || saved["ended_at"] == null) return;
            Last = new LastCompile
            {
                Errors = saved.Integer("errors", 0),
                Warnings = saved.Integer("warnings", 0),
                EndedAt = saved.Integer("ended_at", 0)
            };
            LastErrors = saved["first_errors"];
            IsReloaded = true;
        }

        public void Started()
        {
            IsRunning = true;
            IsAbandoned = false;
            errors = Json.Array();
            errorCount = 0;
            warnings = 0;
        }

        public void AssemblyFinished(string assembly, IList<ScriptMessage> messages)
        {
            foreach (var message in messages)
            {
                if (message.Type != "error") warnings++;
                else if (errorCount++ < Limits.CompileErrorsMax) errors.Add(Describe(assembly, message));
            }
        }

        public void Finished()
        {
            IsRunning = false;
            IsReloaded = false;
            LastErrors = errors;
            Last = new LastCompile { Errors = errorCount, Warnings = warnings, EndedAt = clock.Now };
            Revision++;
        }

        public void Abandoned()
        {
            IsRunning = false;
            IsAbandoned = true;
        }

        static Json Describe(string assembly, ScriptMessage message)
        {
            var found = CodeAndText.Match(message.Message);
            var text = found.Success ? found.Groups[2].Value : message.Message;
            var error = Json.Object();
            if (!string.IsNullOrEmpty(message.File)) error.With("file", FrameRoom.Cut(message.File.Replace('\\', '/'), Limits.NameCharsMax));
            if (message.Line > 0) error.With("line", message.Line);
            if (message.Column > 0) error.With("column", message.Column);
            return error.With("code", found.Success ? found.Groups[1].Value : null)
                .With("message", FrameRoom.Cut(text, Limits.CompileErrorCharsMax))
                .With("assembly", FrameRoom.Cut(assembly, Limits.NameCharsMax));
        }

        public Json Save()
        {
            if (Last == null) return Json.Object();
            return Json.Object().With("ended_at", Last.EndedAt).With("errors", Last.Errors).With("warnings", Last.Warnings)
                .With("first_errors", LastErrors);
        }
    }
}
