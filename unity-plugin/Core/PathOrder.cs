using System;
using System.Collections.Generic;

namespace UnityMcp
{
    /// <summary>Sorts paths by code point, as the server does. .NET itself sorts by UTF-16 unit, which differs for emoji.</summary>
    public sealed class PathOrder : IComparer<string>
    {
        public static readonly PathOrder Instance = new PathOrder();

        public int Compare(string one, string other)
        {
            var length = Math.Min(one.Length, other.Length);
            for (var index = 0; index < length; index++)
                if (one[index] != other[index]) return Rank(one[index]) - Rank(other[index]);
            return one.Length - other.Length;
        }

        /// <summary>A surrogate is half of a code point above all others.</summary>
        static int Rank(char unit)
        {
            return char.IsSurrogate(unit) ? unit + 0x10000 : unit;
        }
    }
}
