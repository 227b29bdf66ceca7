using NUnit.Framework;

namespace UnityMcp.Tests
{
    [TestFixture]
    public class JsonTests
    {
        [TestCase("{\"a\":[1,-2.5e+3,true,false,null,\"x\"],\"b\":{}}")]
        [TestCase("[]")]
        [TestCase("\"\"")]
        [TestCase("0")]
        public void What_is_read_is_written_again(string text)
        {
            Assert.AreEqual(text, JsonReader.Parse(text).ToString());
        }

        [TestCase("")]
        [TestCase("{")]
        [TestCase("{\"a\":1,}")]
        [TestCase("{\"a\" 1}")]
        [TestCase("{a:1}")]
        [TestCase("[1 2]")]
        [TestCase("[1] x")]
        [TestCase("01")]
        [TestCase("1.")]
        [TestCase("-")]
        [TestCase("1e")]
        [TestCase("+1")]
        [TestCase("NaN")]
        [TestCase("tru")]
        [TestCase("'a'")]
        [TestCase("\"a")]
        [TestCase("\"\\x\"")]
        [TestCase("\"\\u12\"")]
        [TestCase("\"\\ud800\"")]
        [TestCase("\"a\nb\"")]
        [TestCase("\uFEFF{}")]
        public void What_is_not_JSON_is_rejected(string text)
        {
            Assert.Throws<JsonException>(() => JsonReader.Parse(text));
        }

        [Test]
        public void A_key_that_occurs_twice_is_rejected_by_name()
        {
            var problem = Assert.Throws<JsonException>(() => JsonReader.Parse("{\"a\":{\"b\":1,\"b\":2}}"));
            StringAssert.Contains("\"b\" occurs twice", problem.Message);
        }

        [Test]
        public void Depth_is_limited()
        {
            var deepest = new string('[', Limits.JsonDepthMax) + new string(']', Limits.JsonDepthMax);
            Assert.AreEqual(deepest, JsonReader.Parse(deepest).ToString());
            Assert.Throws<JsonException>(() => JsonReader.Parse("[" + deepest + "]"));
            Assert.Throws<JsonException>(() => JsonReader.Parse(new string('[', 1000000)));
        }

        [TestCase(long.MaxValue)]
        [TestCase(long.MinValue)]
        [TestCase(9007199254740993)]
        public void Integers_are_exact_to_64_bits(long value)
        {
            Assert.AreEqual(value, JsonReader.Parse(Json.Of(value).ToString()).AsLong);
        }

        [TestCase("18446744073709551615")]
        [TestCase("1.0")]
        [TestCase("1e3")]
        public void A_number_that_is_no_64_bit_integer_keeps_its_text(string text)
        {
            Assert.IsNull(JsonReader.Parse(text).AsLong);
            Assert.AreEqual(text, JsonReader.Parse(text).ToString());
        }

        [Test]
        public void Escapes_are_read_and_written()
        {
            var value = JsonReader.Parse("\"\\\"\\\\\\/\\b\\f\\n\\r\\t\\u00e9\\ud83d\\ude00\"");
            Assert.AreEqual("\"\\/\b\f\n\r\té😀", value.AsString);
            Assert.AreEqual("\"\\\"\\\\/\\u0008\\u000c\\n\\r\\té😀\"", value.ToString());
        }

        [Test]
        public void Half_a_surrogate_pair_is_replaced_because_UTF8_has_no_form_for_it()
        {
            Assert.AreEqual("\"a\uFFFDb\uFFFD\"", Json.Of("a\ud800b\udc00").ToString());
        }

        [Test]
        public void Tokens_are_counted_outside_of_strings()
        {
            Assert.AreEqual(6, JsonWriter.Tokens("{\"a{[\\\"\":[1,2],\"b\":0}"));
        }

        [Test]
        public void Absent_fields_are_null_and_do_not_fail()
        {
            var value = JsonReader.Parse("{\"a\":1,\"b\":null}");
            Assert.IsNull(value["c"]);
            Assert.IsNull(value.Text("a"));
            Assert.IsTrue(value["b"].IsNull);
            Assert.AreEqual(7, value.Integer("c", 7));
            Assert.IsNull(Json.Null["a"]);
        }

        [Test]
        public void A_null_value_adds_no_field()
        {
            Assert.AreEqual("{\"b\":1}", Json.Object().With("a", (string)null).With("b", 1).ToString());
        }
    }
}
