using System;
using NUnit.Framework;
using UnityMcp.Editor;

namespace UnityMcp.Tests
{
    /// <summary>Methods that a version of Unity may have, change or overload.</summary>
    [TestFixture]
    public class InternalsTests
    {
        static class SomeUnity
        {
            static int Once() { return 1; }
            static int Twice() { return 2; }
            static int Twice(int factor) { return 2 * factor; }
            static T Generic<T>() { return default(T); }
        }

        [Test]
        public void A_method_is_found_even_if_Unity_has_added_an_overload()
        {
            Assert.AreEqual(1, Internals.Method<Func<int>>(typeof(SomeUnity), "Once", "")());
            Assert.AreEqual(2, Internals.Method<Func<int>>(typeof(SomeUnity), "Twice", "")());
            Assert.AreEqual(6, Internals.Method<Func<int, int>>(typeof(SomeUnity), "Twice", "")(3));
        }

        [Test]
        public void A_method_is_found_under_the_name_that_it_has_in_this_version()
        {
            Assert.AreEqual(1, Internals.Method<Func<int>>(typeof(SomeUnity), new[] { "Never", "Once" }, "x")());
            Assert.IsNull(Internals.Method<Func<string>>(typeof(SomeUnity), new[] { "Never", "Once" }, "both are missing"));
            Assert.Contains("SomeUnity.Never/Once: both are missing", (System.Collections.ICollection)Internals.Missing);
            Assert.IsFalse(Internals.Missing.Contains("SomeUnity.Never/Once: x"));
        }

        [TestCase("Twice")]
        [TestCase("Generic")]
        [TestCase("Never")]
        public void A_method_that_no_longer_fits_is_noted_as_missing(string name)
        {
            Assert.IsNull(Internals.Method<Action<string>>(typeof(SomeUnity), name, "something does not work"));
            Assert.Contains("SomeUnity." + name + ": something does not work", (System.Collections.ICollection)Internals.Missing);
        }

        [Test]
        public void A_type_that_is_gone_is_noted_as_missing()
        {
            Assert.IsNull(Internals.Method<Action>(null, "Never", "something does not work"));
            Assert.Contains("?.Never: something does not work", (System.Collections.ICollection)Internals.Missing);
        }
    }
}
