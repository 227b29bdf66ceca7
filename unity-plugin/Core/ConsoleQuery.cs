using System;
using System.Collections.Generic;

namespace UnityMcp
{
    /// <summary>The parameters of read_console, checked.</summary>
    public sealed class ConsoleQuery
    {
        static readonly string[] KnownTypes = { "log", "warning", "error", "assert", "exception" };

        public long EntriesMax;
        public bool HasStackTraces;
        /// <summary>Null: all types.</summary>
        public HashSet<string> Types;
        public string Contains;
        public string Since;
        public string Before;

        /// <summary>Throws RejectedException.</summary>
        public static ConsoleQuery Parse(Json parameters)
        {
            var query = new ConsoleQuery
            {
                EntriesMax = Parameters.Count(parameters, "max_entries", Limits.ReadEntriesDefault),
                HasStackTraces = Parameters.Flag(parameters, "stack_traces", true),
                Contains = Parameters.OptionalText(parameters, "contains"),
                Since = Parameters.OptionalText(parameters, "since"),
                Before = Parameters.OptionalText(parameters, "before")
            };
            Parameters.Require(parameters, "types", value => value.Kind == JsonKind.Array);
            if (!Parameters.Has(parameters, "types")) return query;
            query.Types = new HashSet<string>();
            foreach (var type in parameters["types"].Items)
            {
                if (Array.IndexOf(KnownTypes, type.AsString) < 0)
                    throw RejectedException.Params("types has an unknown type: " + type);
                query.Types.Add(type.AsString);
            }
            return query;
        }

        public bool Fits(ConsoleEntry entry)
        {
            if (Types != null && !Types.Contains(entry.Type)) return false;
            return Contains == null || entry.Message.IndexOf(Contains, StringComparison.OrdinalIgnoreCase) >= 0;
        }
    }
}
