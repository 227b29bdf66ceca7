using System.Collections.Generic;
using System.Globalization;
using System.Text;

namespace UnityMcp
{
    /// <summary>Reads JSON strictly: no duplicate keys, no text after the value, limited depth.</summary>
    public sealed class JsonReader
    {
        readonly string source;
        int at;
        int depth;

        JsonReader(string source)
        {
            this.source = source;
        }

        public static Json Parse(string text)
        {
            var reader = new JsonReader(text);
            var value = reader.ReadValue();
            reader.SkipSpace();
            if (reader.at < text.Length) throw reader.Problem("text after the value");
            return value;
        }

        Json ReadValue()
        {
            SkipSpace();
            if (at >= source.Length) throw Problem("the text ends too early");
            switch (source[at])
            {
                case '{': return ReadObject();
                case '[': return ReadArray();
                case '"': return Json.Of(ReadString());
                case 't': return ReadWord("true", Json.True);
                case 'f': return ReadWord("false", Json.False);
                case 'n': return ReadWord("null", Json.Null);
                default: return ReadNumber();
            }
        }

        Json ReadObject()
        {
            var value = Json.Object();
            var names = new HashSet<string>();
            Enter();
            if (TakeIf('}')) return Leave(value);
            while (true)
            {
                SkipSpace();
                if (at >= source.Length || source[at] != '"') throw Problem("a key is missing");
                var name = ReadString();
                if (!names.Add(name)) throw Problem("the key \"" + name + "\" occurs twice");
                if (!TakeIf(':')) throw Problem("a colon is missing");
                value.With(name, ReadValue());
                if (TakeIf('}')) return Leave(value);
                if (!TakeIf(',')) throw Problem("a comma is missing");
            }
        }

        Json ReadArray()
        {
            var value = Json.Array();
            Enter();
            if (TakeIf(']')) return Leave(value);
            while (true)
            {
                value.Add(ReadValue());
                if (TakeIf(']')) return Leave(value);
                if (!TakeIf(',')) throw Problem("a comma is missing");
            }
        }

        void Enter()
        {
            at++;
            if (++depth > Limits.JsonDepthMax) throw Problem("nested too deeply");
        }

        Json Leave(Json value)
        {
            depth--;
            return value;
        }

        Json ReadWord(string word, Json value)
        {
            if (string.CompareOrdinal(source, at, word, 0, word.Length) != 0) throw Problem("an unknown word");
            at += word.Length;
            return value;
        }

        Json ReadNumber()
        {
            var start = at;
            TakeNext('-');
            if (!TakeNext('0') && !TakeDigits()) throw Problem("an unexpected character");
            if (TakeNext('.') && !TakeDigits()) throw Problem("a digit is missing");
            if (TakeNext('e') || TakeNext('E'))
            {
                if (!TakeNext('+')) TakeNext('-');
                if (!TakeDigits()) throw Problem("a digit is missing");
            }
            return Json.Number(source.Substring(start, at - start));
        }

        bool TakeDigits()
        {
            var start = at;
            while (at < source.Length && source[at] >= '0' && source[at] <= '9') at++;
            return at > start;
        }

        string ReadString()
        {
            var start = ++at;
            while (at < source.Length && source[at] != '"' && source[at] != '\\' && source[at] >= ' ') at++;
            if (at < source.Length && source[at] == '"') return source.Substring(start, at++ - start);
            var text = new StringBuilder(source, start, at - start, 64);
            while (at < source.Length)
            {
                var character = source[at++];
                if (character == '"') return WithoutHalves(text.ToString());
                if (character < ' ') throw Problem("a control character in a string");
                text.Append(character == '\\' ? ReadEscape() : character);
            }
            throw Problem("a string does not end");
        }

        char ReadEscape()
        {
            var letter = at < source.Length ? source[at++] : ' ';
            switch (letter)
            {
                case '"': return '"';
                case '\\': return '\\';
                case '/': return '/';
                case 'b': return '\b';
                case 'f': return '\f';
                case 'n': return '\n';
                case 'r': return '\r';
                case 't': return '\t';
                case 'u': return ReadHex();
                default: throw Problem("an unknown escape");
            }
        }

        char ReadHex()
        {
            ushort unit;
            var digits = at + 4 <= source.Length ? source.Substring(at, 4) : "";
            if (!ushort.TryParse(digits, NumberStyles.AllowHexSpecifier, CultureInfo.InvariantCulture, out unit))
                throw Problem("four hexadecimal digits are missing");
            at += 4;
            return (char)unit;
        }

        /// <summary>An escape may be half of a surrogate pair. UTF-8 cannot express a half without the other one.</summary>
        string WithoutHalves(string text)
        {
            if (!JsonWriter.IsWhole(text)) throw Problem("half of a surrogate pair");
            return text;
        }

        void SkipSpace()
        {
            while (at < source.Length && (source[at] == ' ' || source[at] == '\n' || source[at] == '\r' || source[at] == '\t')) at++;
        }

        bool TakeIf(char wanted)
        {
            SkipSpace();
            return TakeNext(wanted);
        }

        bool TakeNext(char wanted)
        {
            if (at >= source.Length || source[at] != wanted) return false;
            at++;
            return true;
        }

        JsonException Problem(string what)
        {
            return new JsonException(what + " (at character " + at.ToString(CultureInfo.InvariantCulture) + ")");
        }
    }
}
