using System;
using System.Collections.Generic;
using System.Globalization;

namespace UnityMcp
{
    /// <summary>
    /// The newest console entries. Entries are numbered from 1 and keep their numbers over a domain reload and when the
    /// console is cleared. Equal entries in a row are stored once. May be used from any thread.
    /// </summary>
    public sealed class ConsoleBuffer
    {
        /// <summary>Equal entries in a row: the number of the first and how many there are.</summary>
        sealed class Row
        {
            public long First;
            public long Count;
            public ConsoleEntry Entry;
            /// <summary>The assembly, for a message of the compiler; else null.</summary>
            public string Assembly;

            public int Chars
            {
                get { return Entry.Message.Length + Entry.StackTrace.Length; }
            }
        }

        readonly object gate = new object();
        string name;
        readonly List<Row> rows = new List<Row>();
        long made;
        long chars;

        /// <param name="newName">For a buffer that begins here. It was never used before, so that old cursors do not fit.</param>
        /// <param name="saved">What Save returned before the domain reload, or an empty object.</param>
        public ConsoleBuffer(string newName, Json saved)
        {
            name = newName;
            if (saved != null && saved.Text("name") != null) Restore(saved);
        }

        public void Add(ConsoleEntry entry)
        {
            lock (gate) Append(entry, null);
        }

        public void Clear()
        {
            lock (gate) RemoveAll(row => true);
        }

        /// <summary>A compile starts: the errors of the last one may be fixed.</summary>
        public void CompileStarted()
        {
            lock (gate) RemoveAll(row => row.Assembly != null && row.Entry.Type == "error");
        }

        /// <summary>Replaces what the compiler said about this assembly.</summary>
        public void AssemblyFinished(string assembly, IEnumerable<ConsoleEntry> messages)
        {
            lock (gate)
            {
                RemoveAll(row => row.Assembly == assembly);
                foreach (var message in messages) Append(message, assembly);
            }
        }

        void RemoveAll(Predicate<Row> isMeant)
        {
            rows.RemoveAll(isMeant);
            chars = 0;
            foreach (var row in rows) chars += row.Chars;
        }

        void Append(ConsoleEntry entry, string assembly)
        {
            made++;
            var stored = new ConsoleEntry
            {
                Type = entry.Type,
                Message = FrameRoom.Cut(entry.Message ?? "", Limits.TextCharsMax),
                StackTrace = FrameRoom.Cut(entry.StackTrace ?? "", Limits.TextCharsMax)
            };
            var last = rows.Count == 0 ? null : rows[rows.Count - 1];
            if (last != null && last.First + last.Count == made && last.Assembly == assembly && IsSame(last.Entry, stored))
            {
                last.Count++;
                return;
            }
            var row = new Row { First = made, Count = 1, Entry = stored, Assembly = assembly };
            rows.Add(row);
            chars += row.Chars;
            DropOldest();
        }

        void DropOldest()
        {
            var surplus = 0;
            while (rows.Count - surplus > Limits.ConsoleRowsMax || chars > Limits.ConsoleCharsMax) chars -= rows[surplus++].Chars;
            rows.RemoveRange(0, surplus);
        }

        static bool IsSame(ConsoleEntry one, ConsoleEntry other)
        {
            return one.Type == other.Type && one.Message == other.Message && one.StackTrace == other.StackTrace;
        }

        string Cursor(long number)
        {
            return name + "-" + number.ToString(CultureInfo.InvariantCulture);
        }

        /// <summary>The number that a cursor names; null if it is not of this console.</summary>
        long? NumberOf(string cursor)
        {
            if (cursor == null || !cursor.StartsWith(name + "-", StringComparison.Ordinal)) return null;
            long number;
            var digits = cursor.Substring(name.Length + 1);
            var isNumber = long.TryParse(digits, NumberStyles.None, CultureInfo.InvariantCulture, out number);
            return isNumber && number <= made ? number : (long?)null;
        }

        /// <summary>The newest entries that match, oldest first, in one frame.</summary>
        public Json Read(ConsoleQuery query, int maxMessageBytes)
        {
            lock (gate)
            {
                var since = NumberOf(query.Since);
                var before = NumberOf(query.Before);
                var isLost = (query.Since != null && since == null) || (query.Before != null && before == null);
                var matching = Matching(query, since ?? 0, before ?? long.MaxValue);
                var entries = Newest(matching, query, maxMessageBytes);
                var leftOut = matching.Count - entries.Count;
                long more = 0;
                for (var index = 0; index < leftOut; index++) more += matching[index].Count;
                return Json.Object().With("entries", Json.Array(entries)).With("count", entries.Count)
                    .With("truncated", leftOut > 0).With("more", more).With("cursor", Cursor(made)).With("cursor_lost", isLost);
            }
        }

        /// <summary>The rows between two numbers that match. Rows that become neighbours are joined if they are equal.</summary>
        List<Row> Matching(ConsoleQuery query, long since, long before)
        {
            var matching = new List<Row>();
            foreach (var row in rows)
            {
                var first = Math.Max(row.First, since + 1);
                var end = Math.Min(row.First + row.Count, before);
                if (first >= end || !query.Fits(row.Entry)) continue;
                var last = matching.Count == 0 ? null : matching[matching.Count - 1];
                if (last != null && IsSame(last.Entry, row.Entry)) last.Count += end - first;
                else matching.Add(new Row { First = first, Count = end - first, Entry = row.Entry });
            }
            return matching;
        }

        List<Json> Newest(List<Row> matching, ConsoleQuery query, int maxMessageBytes)
        {
            var room = new FrameRoom(maxMessageBytes);
            var charsMax = FrameRoom.TextChars(maxMessageBytes);
            var entries = new List<Json>();
            for (var index = matching.Count - 1; index >= 0 && entries.Count < query.EntriesMax; index--)
            {
                var row = matching[index];
                var stackTrace = query.HasStackTraces && row.Entry.StackTrace.Length > 0 ? row.Entry.StackTrace : null;
                var entry = Json.Object().With("type", row.Entry.Type).With("message", FrameRoom.Cut(row.Entry.Message, charsMax))
                    .With("stack_trace", FrameRoom.Cut(stackTrace, charsMax)).With("count", row.Count).With("cursor", Cursor(row.First));
                if (!room.Take(entry)) break;
                entries.Add(entry);
            }
            entries.Reverse();
            return entries;
        }

        public Json Save()
        {
            lock (gate)
            {
                var saved = Json.Array();
                foreach (var row in rows)
                    saved.Add(Json.Object().With("n", row.First).With("c", row.Count).With("t", row.Entry.Type)
                        .With("m", row.Entry.Message).With("s", row.Entry.StackTrace).With("a", row.Assembly));
                return Json.Object().With("name", name).With("made", made).With("rows", saved);
            }
        }

        void Restore(Json saved)
        {
            name = saved.Text("name");
            made = saved.Integer("made", 0);
            foreach (var row in saved["rows"].Items)
            {
                var entry = new ConsoleEntry { Type = row.Text("t"), Message = row.Text("m"), StackTrace = row.Text("s") };
                rows.Add(new Row { First = row.Integer("n", 0), Count = row.Integer("c", 1), Entry = entry, Assembly = row.Text("a") });
                chars += rows[rows.Count - 1].Chars;
            }
        }
    }
}
