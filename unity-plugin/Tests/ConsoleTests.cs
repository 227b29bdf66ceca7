using System.Collections.Generic;
using NUnit.Framework;

namespace UnityMcp.Tests
{
    [TestFixture]
    public class ConsoleTests
    {
        const int FrameMax = 1048576;
        ConsoleBuffer console;

        [SetUp]
        public void SetUp()
        {
            console = new ConsoleBuffer("c", null);
        }

        void Add(string type, string message, string stackTrace = "")
        {
            console.Add(new ConsoleEntry { Type = type, Message = message, StackTrace = stackTrace });
        }

        Json Read(string parameters, int frameMax = FrameMax)
        {
            return console.Read(ConsoleQuery.Parse(JsonReader.Parse(parameters)), frameMax);
        }

        static string Messages(Json answer)
        {
            var messages = new List<string>();
            foreach (var entry in answer["entries"].Items) messages.Add(entry.Text("message"));
            return string.Join(" ", messages.ToArray());
        }

        [Test]
        public void An_empty_console_has_an_answer()
        {
            Assert.AreEqual("{\"entries\":[],\"count\":0,\"truncated\":false,\"more\":0,\"cursor\":\"c-0\",\"cursor_lost\":false}", Read("{}").ToString());
        }

        [Test]
        public void The_newest_entries_come_oldest_first_with_what_was_left_out()
        {
            foreach (var message in new[] { "a", "b", "c", "d" }) Add("log", message);
            var answer = Read("{\"max_entries\":2}");
            Assert.AreEqual("c d", Messages(answer));
            Assert.AreEqual(2, answer.Integer("more", 0));
            Assert.AreEqual(true, answer["truncated"].AsBool);
            Assert.AreEqual("c-3", answer["entries"].Items[0].Text("cursor"));
            Assert.AreEqual("c-4", answer.Text("cursor"));
        }

        [Test]
        public void Types_and_text_are_filtered_and_case_is_ignored()
        {
            Add("log", "Loaded Level");
            Add("error", "no level");
            Add("exception", "boom");
            Assert.AreEqual("no level boom", Messages(Read("{\"types\":[\"error\",\"exception\"]}")));
            Assert.AreEqual("Loaded Level no level", Messages(Read("{\"contains\":\"LEVEL\"}")));
            Assert.AreEqual("c-3", Read("{\"contains\":\"nothing\"}").Text("cursor"), "the newest entry, even if it does not match");
        }

        [Test]
        public void Stack_traces_can_be_left_out()
        {
            Add("error", "a", "at X");
            Assert.AreEqual("at X", Read("{\"stack_traces\":true}")["entries"].Items[0].Text("stack_trace"));
            Assert.IsNull(Read("{\"stack_traces\":false}")["entries"].Items[0]["stack_trace"]);
        }

        [Test]
        public void Equal_entries_in_a_row_are_one_with_a_count_and_the_cursor_of_the_oldest()
        {
            Add("log", "a");
            for (var count = 0; count < 3; count++) Add("log", "b");
            Add("log", "b", "other");
            var entries = Read("{}")["entries"].Items;
            Assert.AreEqual(3, entries.Count);
            Assert.AreEqual(3, entries[1].Integer("count", 0));
            Assert.AreEqual("c-2", entries[1].Text("cursor"));
            Assert.AreEqual("c-5", entries[2].Text("cursor"));
        }

        [Test]
        public void Rows_that_become_neighbours_by_a_filter_are_joined()
        {
            Add("error", "e");
            Add("log", "x");
            Add("error", "e");
            var entries = Read("{\"types\":[\"error\"]}")["entries"].Items;
            Assert.AreEqual(1, entries.Count);
            Assert.AreEqual(2, entries[0].Integer("count", 0));
        }

        [Test]
        public void Since_and_before_name_the_part_between_two_cursors()
        {
            for (var number = 1; number <= 6; number++) Add("log", number.ToString());
            Assert.AreEqual("5 6", Messages(Read("{\"since\":\"c-4\"}")));
            Assert.AreEqual("1 2", Messages(Read("{\"before\":\"c-3\"}")));
            Assert.AreEqual("3 4", Messages(Read("{\"since\":\"c-2\",\"before\":\"c-5\"}")));
            Assert.AreEqual("", Messages(Read("{\"since\":\"c-6\"}")));
        }

        [Test]
        public void A_cursor_inside_a_row_splits_it()
        {
            for (var count = 0; count < 5; count++) Add("log", "a");
            var entry = Read("{\"since\":\"c-2\"}")["entries"].Items[0];
            Assert.AreEqual(3, entry.Integer("count", 0));
            Assert.AreEqual("c-3", entry.Text("cursor"));
        }

        [TestCase("x-1")]
        [TestCase("c-99")]
        [TestCase("c-")]
        [TestCase("c--1")]
        [TestCase("")]
        public void A_cursor_that_is_not_known_is_lost_and_the_newest_entries_are_read(string cursor)
        {
            Add("log", "a");
            var answer = Read("{\"since\":\"" + cursor + "\"}");
            Assert.AreEqual(true, answer["cursor_lost"].AsBool);
            Assert.AreEqual("a", Messages(answer));
        }

        [Test]
        public void Numbers_stay_when_the_console_is_cleared()
        {
            Add("log", "a");
            console.Clear();
            Add("log", "b");
            var answer = Read("{\"since\":\"c-1\"}");
            Assert.AreEqual("b", Messages(answer));
            Assert.AreEqual(false, answer["cursor_lost"].AsBool);
            Assert.AreEqual("c-2", answer.Text("cursor"));
        }

        [Test]
        public void Entries_and_cursors_survive_a_reload()
        {
            Add("error", "a", "trace");
            Add("log", "b");
            Add("log", "b");
            var before = Read("{}").ToString();
            console = new ConsoleBuffer("c", JsonReader.Parse(console.Save().ToString()));
            Assert.AreEqual(before, Read("{}").ToString());
            Add("log", "b");
            Assert.AreEqual(3, Read("{}")["entries"].Items[1].Integer("count", 0));
        }

        [Test]
        public void A_new_start_of_the_Editor_does_not_know_old_cursors()
        {
            Add("log", "a");
            console = new ConsoleBuffer("d", null);
            Assert.AreEqual(true, Read("{\"since\":\"c-1\"}")["cursor_lost"].AsBool);
        }

        [Test]
        public void The_oldest_rows_are_dropped_at_the_limits()
        {
            for (var number = 0; number < Limits.ConsoleRowsMax + 10; number++) Add("log", "m" + number);
            var answer = Read("{\"max_entries\":5000}");
            Assert.AreEqual(Limits.ConsoleRowsMax, answer.Integer("count", 0));
            Assert.AreEqual("m10", answer["entries"].Items[0].Text("message"));
            for (var number = 0; number < 600; number++) Add("log", number + new string('x', 10000));
            Assert.Less(console.Save().ToString().Length, Limits.ConsoleCharsMax + 200000);
        }

        [Test]
        public void An_answer_never_exceeds_a_frame_and_always_has_the_newest_entry()
        {
            for (var number = 0; number < 300; number++) Add("error", number + new string('\u0001', 20000), new string('"', 20000));
            foreach (var frameMax in new[] { 16384, 100000, FrameMax })
            {
                var answer = Read("{\"max_entries\":2000}", frameMax);
                Assert.Less(JsonWriter.Bytes(Wire.Result(new string('r', 100), answer).ToString()), frameMax);
                Assert.GreaterOrEqual(answer.Integer("count", 0), 1);
                StringAssert.StartsWith("299", answer["entries"].Items[answer["entries"].Items.Count - 1].Text("message"));
                Assert.AreEqual(true, answer["truncated"].AsBool);
                Assert.Greater(answer.Integer("more", 0), 0);
            }
        }

        [Test]
        public void An_answer_stays_below_the_limit_of_tokens()
        {
            for (var number = 0; number < Limits.ConsoleRowsMax; number++) Add("log", "m" + number);
            Assert.Less(JsonWriter.Tokens(Read("{\"max_entries\":2000}", 16 * FrameMax).ToString()), 64000);
            var room = new FrameRoom(16 * FrameMax);
            var wide = Json.Array();
            for (var number = 0; number < 59990; number++) wide.Add(Json.Of(0));
            Assert.IsTrue(room.Take(wide));
            Assert.IsFalse(room.Take(Json.Array(new[] { wide })));
        }

        [Test]
        public void A_cut_text_has_a_mark_and_whole_characters()
        {
            Assert.AreEqual("abcd", FrameRoom.Cut("abcd", 4));
            Assert.AreEqual("abc…", FrameRoom.Cut("abcde", 4));
            Assert.AreEqual("ab…", FrameRoom.Cut("ab😀cd", 4));
        }

        [Test]
        public void Compile_errors_are_entries_until_the_next_compile()
        {
            var errors = new[] { new ConsoleEntry { Type = "error", Message = "CS0103" }, new ConsoleEntry { Type = "warning", Message = "CS0168" } };
            Add("log", "a");
            console.AssemblyFinished("Game", errors);
            Assert.AreEqual("a CS0103 CS0168", Messages(Read("{}")));
            console.CompileStarted();
            Assert.AreEqual("a CS0168", Messages(Read("{}")));
            console.AssemblyFinished("Other", new ConsoleEntry[0]);
            Assert.AreEqual("a CS0168", Messages(Read("{}")), "an assembly that was not compiled keeps its warnings");
            console.AssemblyFinished("Game", new ConsoleEntry[0]);
            Assert.AreEqual("a", Messages(Read("{}")));
        }

        [Test]
        public void Rows_around_a_removed_compile_error_keep_their_numbers()
        {
            Add("log", "a");
            console.AssemblyFinished("Game", new[] { new ConsoleEntry { Type = "error", Message = "CS0103" } });
            console.CompileStarted();
            Add("log", "a");
            var answer = Read("{\"since\":\"c-2\"}");
            Assert.AreEqual("a", Messages(answer));
            Assert.AreEqual("c-3", answer["entries"].Items[0].Text("cursor"));
        }

        [TestCase("{\"max_entries\":0}")]
        [TestCase("{\"max_entries\":\"5\"}")]
        [TestCase("{\"types\":\"log\"}")]
        [TestCase("{\"types\":[\"info\"]}")]
        [TestCase("{\"contains\":7}")]
        [TestCase("{\"since\":7}")]
        [TestCase("{\"stack_traces\":\"full\"}")]
        public void Wrong_parameters_are_rejected(string parameters)
        {
            Assert.AreEqual("ERR_INVALID_PARAMS", Assert.Throws<RejectedException>(() => Read(parameters)).Code);
        }
    }
}
