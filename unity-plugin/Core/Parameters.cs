using System;

namespace UnityMcp
{
    /// <summary>Reads the parameters of a tool. A field that is absent or null is not given. Throws RejectedException.</summary>
    public static class Parameters
    {
        public static bool Has(Json parameters, string name)
        {
            return parameters[name] != null && !parameters[name].IsNull;
        }

        public static void Require(Json parameters, string name, Func<Json, bool> isRight)
        {
            if (Has(parameters, name) && !isRight(parameters[name]))
                throw RejectedException.Params(name + " has a wrong value");
        }

        /// <summary>Null if it is not given.</summary>
        public static string OptionalText(Json parameters, string name)
        {
            Require(parameters, name, value => value.AsString != null);
            return parameters.Text(name);
        }

        public static string RequiredText(Json parameters, string name)
        {
            var text = OptionalText(parameters, name);
            if (string.IsNullOrEmpty(text)) throw RejectedException.Params(name + " is missing");
            return text;
        }

        public static bool Flag(Json parameters, string name, bool otherwise)
        {
            Require(parameters, name, value => value.AsBool != null);
            return Has(parameters, name) ? parameters[name].AsBool == true : otherwise;
        }

        /// <summary>A number from 1.</summary>
        public static long Count(Json parameters, string name, long otherwise)
        {
            Require(parameters, name, value => value.AsLong >= 1);
            return parameters.Integer(name, otherwise);
        }
    }
}
