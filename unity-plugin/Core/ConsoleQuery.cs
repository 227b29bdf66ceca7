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
                EntriesMax = parameters.Integer("max_entries", Limits.ReadEntriesDefault),
                HasStackTraces = true,
                Contains = OptionalText(parameters, "contains"),
                Since = OptionalText(parameters, "since"),
                Before = OptionalText(parameters, "before")
            };
            Require(parameters, "max_entries", value => value.AsLong >= 1);
            Require(parameters, "stack_traces", value => value.AsBool != null);
            Require(parameters, "types", value => value.Kind == JsonKind.Array);
            if (Has(parameters, "stack_traces")) query.HasStackTraces = parameters["stack_traces"].AsBool == true;
            if (!Has(parameters, "types")) return query;
            query.Types = new HashSet<string>();
            foreach (var type in parameters["types"].Items)
            {
                if (Array.IndexOf(KnownTypes, type.AsString) < 0)
                    throw RejectedException.Params("types has an unknown type: " + type);
                query.Types.Add(type.AsString);
            }
            return query;
        }

        static bool Has(Json parameters, string name)
        {
            return parameters[name] != null && !parameters[name].IsNull;
        }

        static void Require(Json parameters, string name, Func<Json, bool> isRight)
        {
            if (Has(parameters, name) && !isRight(parameters[name]))
                throw RejectedException.Params(name + " has a wrong value");
        }

        static string OptionalText(Json parameters, string name)
        {
            Require(parameters, name, value => value.AsString != null);
            return parameters.Text(name);
        }

        public bool Fits(ConsoleEntry entry)
        {
            if (Types != null && !Types.Contains(entry.Type)) return false;
            return Contains == null || entry.Message.IndexOf(Contains, StringComparison.OrdinalIgnoreCase) >= 0;
        }
    }
}
