using System.Globalization;
using System.Text;

namespace UnityMcp
{
    /// <summary>Writes JSON on one line, and measures what a frame would cost.</summary>
    public static class JsonWriter
    {
        const char Replacement = '\uFFFD';

        public static string Write(Json value)
        {
            var text = new StringBuilder();
            Append(text, value);
            return text.ToString();
        }

        static void Append(StringBuilder text, Json value)
        {
            switch (value.Kind)
            {
                case JsonKind.Null:
                    text.Append("null");
                    break;
                case JsonKind.Bool:
                case JsonKind.Number:
                    text.Append(value.RawText);
                    break;
                case JsonKind.String:
                    AppendString(text, value.AsString);
                    break;
                case JsonKind.Array:
                    AppendArray(text, value);
                    break;
                case JsonKind.Object:
                    AppendObject(text, value);
                    break;
            }
        }

        static void AppendArray(StringBuilder text, Json value)
        {
            text.Append('[');
            var isFirst = true;
            foreach (var item in value.Items)
            {
                if (!isFirst) text.Append(',');
                isFirst = false;
                Append(text, item);
            }
            text.Append(']');
        }

        static void AppendObject(StringBuilder text, Json value)
        {
            text.Append('{');
            var isFirst = true;
            foreach (var field in value.Fields)
            {
                if (!isFirst) text.Append(',');
                isFirst = false;
                AppendString(text, field.Key);
                text.Append(':');
                Append(text, field.Value);
            }
            text.Append('}');
        }

        static void AppendString(StringBuilder text, string value)
        {
            text.Append('"');
            for (var index = 0; index < value.Length; index++)
            {
                var character = value[index];
                if (character == '"' || character == '\\') text.Append('\\').Append(character);
                else if (character == '\n') text.Append("\\n");
                else if (character == '\r') text.Append("\\r");
                else if (character == '\t') text.Append("\\t");
                else if (character < ' ') text.Append("\\u").Append(((int)character).ToString("x4", CultureInfo.InvariantCulture));
                else if (!char.IsSurrogate(character)) text.Append(character);
                else if (!IsPair(value, index)) text.Append(Replacement);
                else text.Append(character).Append(value[++index]);
            }
            text.Append('"');
        }

        static bool IsPair(string value, int index)
        {
            return char.IsHighSurrogate(value[index]) && index + 1 < value.Length && char.IsLowSurrogate(value[index + 1]);
        }

        /// <summary>Whether every surrogate has its other half.</summary>
        internal static bool IsWhole(string value)
        {
            for (var index = 0; index < value.Length; index++)
            {
                if (!char.IsSurrogate(value[index])) continue;
                if (!IsPair(value, index)) return false;
                index++;
            }
            return true;
        }

        public static int Bytes(string text)
        {
            return Encoding.UTF8.GetByteCount(text);
        }

        /// <summary>How many of the signs { [ : , are outside of strings. The server limits them.</summary>
        public static int Tokens(string json)
        {
            var count = 0;
            var isInString = false;
            for (var index = 0; index < json.Length; index++)
            {
                var character = json[index];
                if (character == '"') isInString = !isInString;
                else if (isInString && character == '\\') index++;
                else if (!isInString && (character == '{' || character == '[' || character == ':' || character == ',')) count++;
            }
            return count;
        }
    }
}
