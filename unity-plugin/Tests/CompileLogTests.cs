using NUnit.Framework;

namespace UnityMcp.Tests
{
    [TestFixture]
    public class CompileLogTests
    {
        FakeClock clock;
        CompileLog log;

        [SetUp]
        public void SetUp()
        {
            clock = new FakeClock { Now = 1000 };
            log = new CompileLog(clock, null);
        }

        void Compile(params ScriptMessage[] messages)
        {
            log.Started();
            log.AssemblyFinished("Game", messages);
            log.Finished();
        }

        [Test]
        public void It_knows_nothing_before_the_first_compile()
        {
            Assert.IsNull(log.Last);
            Assert.IsFalse(log.IsRunning);
            Assert.IsNull(new CompileLog(clock, JsonReader.Parse(log.Save().ToString())).Last);
        }

        [Test]
        public void An_error_has_its_place_code_text_and_assembly()
        {
            Compile(FakeCompiler.Error(12), FakeCompiler.Warning);
            Assert.AreEqual("[{\"file\":\"Assets/A.cs\",\"line\":12,\"column\":9,\"code\":\"CS0103\",\"message\":\"The name 'x' does not exist\",\"assembly\":\"Game\"}]",
                log.LastErrors.ToString());
            Assert.AreEqual(1, log.Last.Errors);
            Assert.AreEqual(1, log.Last.Warnings);
            Assert.AreEqual(1000, log.Last.EndedAt);
        }

        [TestCase("error CS1029: #error: 'a: b'", "CS1029", "#error: 'a: b'")]
        [TestCase("Assets/A.cs(1,2): error CS0103: two\nlines", "CS0103", "two\nlines")]
        [TestCase("A.cs(1,2): error UNT0001: error CS0001: x", "UNT0001", "error CS0001: x")]
        [TestCase("The compiler crashed", null, "The compiler crashed")]
        [TestCase("no terror CS0001: x", null, "no terror CS0001: x")]
        public void The_code_is_taken_from_the_message(string message, string code, string text)
        {
            Compile(new ScriptMessage { Type = "error", Message = message });
            var error = log.LastErrors.Items[0];
            Assert.AreEqual(code, error.Text("code"));
            Assert.AreEqual(text, error.Text("message"));
            Assert.IsNull(error["file"], "what is not known is left out");
            Assert.IsNull(error["line"]);
            Assert.IsNull(error["column"]);
        }

        [Test]
        public void All_errors_are_counted_and_the_first_ones_are_stored()
        {
            var many = new ScriptMessage[Limits.CompileErrorsMax + 1];
            for (var index = 0; index < many.Length; index++) many[index] = FakeCompiler.Error(index + 1);
            Compile(many);
            Assert.AreEqual(many.Length, log.Last.Errors);
            Assert.AreEqual(Limits.CompileErrorsMax, log.LastErrors.Items.Count);
            Assert.AreEqual(1, log.LastErrors.Items[0].Integer("line", 0));
        }

        [Test]
        public void Long_texts_are_cut()
        {
            Compile(new ScriptMessage { Type = "error", Message = new string('x', 100000), File = new string('y', 100000) });
            Assert.Less(log.LastErrors.ToString().Length, 2000);
        }

        [Test]
        public void A_compile_forgets_the_one_before_only_at_its_end()
        {
            Compile(FakeCompiler.Error(1));
            log.Started();
            Assert.IsTrue(log.IsRunning);
            Assert.AreEqual(1, log.Last.Errors);
            clock.Now = 2000;
            log.Finished();
            Assert.IsFalse(log.IsRunning);
            Assert.AreEqual(0, log.Last.Errors);
            Assert.AreEqual(0, log.LastErrors.Items.Count);
            Assert.AreEqual(2000, log.Last.EndedAt);
            Assert.AreEqual(2, log.Revision);
        }

        [Test]
        public void It_survives_a_reload_and_knows_about_it()
        {
            Compile(FakeCompiler.Error(1), FakeCompiler.Warning);
            Assert.IsFalse(log.IsReloaded);
            var restored = new CompileLog(clock, JsonReader.Parse(log.Save().ToString()));
            Assert.IsTrue(restored.IsReloaded);
            Assert.AreEqual(log.Save().ToString(), restored.Save().ToString());
            restored.Started();
            restored.Finished();
            Assert.IsFalse(restored.IsReloaded, "this compile was not followed by a reload yet");
        }
    }
}
