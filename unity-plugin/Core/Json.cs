using System;
using System.Collections.Generic;
using System.Globalization;

namespace UnityMcp
{
    public enum JsonKind { Null, Bool, Number, String, Array, Object }

    /// <summary>A JSON value. Numbers keep their text, so integers are exact to 64 bits.</summary>
    public sealed class Json
    {
        public static readonly Json Null = new Json(JsonKind.Null);
        public static readonly Json True = new Json(JsonKind.Bool) { text = "true" };
        public static readonly Json False = new Json(JsonKind.Bool) { text = "false" };

        public readonly JsonKind Kind;
        string text;
        List<Json> items;
        List<KeyValuePair<string, Json>> fields;

        Json(JsonKind kind)
        {
            Kind = kind;
        }

        public static Json Of(string value)
        {
            return value == null ? Null : new Json(JsonKind.String) { text = value };
        }

        public static Json Of(bool value)
        {
            return value ? True : False;
        }

        public static Json Of(long value)
        {
            return Number(value.ToString(CultureInfo.InvariantCulture));
        }

        /// <summary>A number by its JSON text.</summary>
        internal static Json Number(string text)
        {
            return new Json(JsonKind.Number) { text = text };
        }

        public static Json Array(IEnumerable<Json> values = null)
        {
            var array = new Json(JsonKind.Array) { items = new List<Json>() };
            if (values != null) array.items.AddRange(values);
            return array;
        }

        public static Json Object()
        {
            return new Json(JsonKind.Object) { fields = new List<KeyValuePair<string, Json>>() };
        }

        /// <summary>Adds a field to an object. A null value adds nothing: optional fields are left out.</summary>
        public Json With(string name, Json value)
        {
            if (value != null) fields.Add(new KeyValuePair<string, Json>(name, value));
            return this;
        }

        public Json With(string name, string value)
        {
            return value == null ? this : With(name, Of(value));
        }

        public Json With(string name, long value)
        {
            return With(name, Of(value));
        }

        public Json With(string name, bool value)
        {
            return With(name, Of(value));
        }

        public void Add(Json item)
        {
            items.Add(item);
        }

        /// <summary>The items of an array. Other values have none.</summary>
        public IList<Json> Items
        {
            get { return items ?? (IList<Json>)new Json[0]; }
        }

        public IList<KeyValuePair<string, Json>> Fields
        {
            get { return fields ?? (IList<KeyValuePair<string, Json>>)new KeyValuePair<string, Json>[0]; }
        }

        /// <summary>A field of an object; null if there is none, or if this is no object.</summary>
        public Json this[string name]
        {
            get
            {
                foreach (var field in Fields)
                    if (field.Key == name) return field.Value;
                return null;
            }
        }

        public bool IsNull
        {
            get { return Kind == JsonKind.Null; }
        }

        /// <summary>The text of a string; null for every other value.</summary>
        public string AsString
        {
            get { return Kind == JsonKind.String ? text : null; }
        }

        public bool? AsBool
        {
            get { return Kind == JsonKind.Bool ? text == "true" : (bool?)null; }
        }

        public long? AsLong
        {
            get
            {
                long value;
                if (Kind != JsonKind.Number) return null;
                var isInteger = long.TryParse(text, NumberStyles.AllowLeadingSign, CultureInfo.InvariantCulture, out value);
                return isInteger ? value : (long?)null;
            }
        }

        /// <summary>The text of a number or of true and false.</summary>
        internal string RawText
        {
            get { return text; }
        }

        /// <summary>The text of a field; null if it is absent or no string.</summary>
        public string Text(string name)
        {
            var value = this[name];
            return value == null ? null : value.AsString;
        }

        public long Integer(string name, long otherwise)
        {
            var value = this[name];
            return (value == null ? null : value.AsLong) ?? otherwise;
        }

        public override string ToString()
        {
            return JsonWriter.Write(this);
        }
    }

    /// <summary>A text that is not valid JSON, and why.</summary>
    public sealed class JsonException : Exception
    {
        public JsonException(string message) : base(message)
        {
        }
    }
}
