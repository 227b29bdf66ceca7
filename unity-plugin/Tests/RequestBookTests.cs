using System.Collections.Generic;
using NUnit.Framework;

namespace UnityMcp.Tests
{
    [TestFixture]
    public class RequestBookTests : IStateStore
    {
        readonly Dictionary<string, string> stored = new Dictionary<string, string>();
        readonly HashSet<string> activeJobs = new HashSet<string>();
        RequestBook book;
        int ids;

        string IStateStore.Get(string key)
        {
            return stored.ContainsKey(key) ? stored[key] : null;
        }

        void IStateStore.Set(string key, string value)
        {
            stored[key] = value;
        }

        [SetUp]
        public void SetUp()
        {
            stored.Clear();
            activeJobs.Clear();
            ids = 0;
            Load();
        }

        void Load()
        {
            book = new RequestBook(this, () => "book-" + ++ids, id => id != null && activeJobs.Contains(id));
        }

        static ServerMessage Request(string requestId, string clientRequestId, string tool = "open_scene", string path = "a")
        {
            return new ServerMessage { RequestId = requestId, ClientRequestId = clientRequestId, ToolName = tool, Params = Json.Object().With("path", path) };
        }

        RequestBook.Run Begin(string clientRequestId)
        {
            return book.Begin(Request("first", clientRequestId));
        }

        void Run(string clientRequestId)
        {
            book.End(Begin(clientRequestId), Wire.Result("first", Json.Object().With("n", clientRequestId)));
        }

        Json Ask(string clientRequestId)
        {
            return book.AnswerTo(Request("again", clientRequestId));
        }

        [Test]
        public void A_run_that_has_not_begun_is_not_in_the_book()
        {
            Run("a");
            Assert.IsNull(Ask("b"));
        }

        [Test]
        public void A_run_that_has_ended_gets_the_same_answer_under_the_new_request_id()
        {
            Run("a");
            Assert.AreEqual("{\"type\":\"result\",\"protocol_version\":1,\"request_id\":\"again\",\"status\":\"ok\",\"result\":{\"n\":\"a\"}}", Ask("a").ToString());
            book.End(Begin("e"), Wire.FailedResult("first", "broken", null));
            Assert.AreEqual("broken", Ask("e")["error"].Text("message"));
            book.End(Begin("j"), Wire.SubmitJobResult("first", "job-1"));
            Assert.AreEqual("job-1", Ask("j").Text("job_id"));
            Assert.AreEqual("again", Ask("j").Text("request_id"));
        }

        [Test]
        public void It_is_stored_before_the_run_and_survives_a_reload_with_its_name()
        {
            Run("a");
            Begin("b");
            Load();
            Assert.AreEqual("book-1", book.Name);
            Assert.AreEqual("a", Ask("a")["result"].Text("n"));
            Assert.AreEqual("error", Ask("b").Text("type"));
            Assert.AreEqual("ERR_INVALID_RESPONSE", Ask("b")["error"].Text("code"), "nobody knows how it ended");
        }

        [Test]
        public void The_name_is_stored_at_once()
        {
            Load();
            Assert.AreEqual("book-1", book.Name);
        }

        [TestCase("not JSON")]
        [TestCase("{}")]
        [TestCase("[]")]
        [TestCase("{\"format\":1,\"name\":\"book-1\"}")]
        [TestCase("{\"format\":1,\"name\":\"book-1\",\"runs\":{}}")]
        [TestCase("{\"format\":1,\"name\":\"book-1\",\"runs\":[{\"id\":1}]}")]
        [TestCase("{\"format\":1,\"runs\":[]}")]
        public void A_book_that_cannot_be_read_gets_a_new_name(string text)
        {
            stored["UnityMcp.Book"] = text;
            Load();
            Assert.AreEqual("book-2", book.Name);
            Load();
            Assert.AreEqual("book-2", book.Name);
        }

        [TestCase("\"format\":2,")]
        [TestCase("\"version\":\"0.2.0\",")]
        public void Of_a_book_in_another_format_the_ids_are_known_and_the_name_stays(string format)
        {
            Run("a");
            stored["UnityMcp.Book"] = stored["UnityMcp.Book"].Replace("\"format\":1,", format);
            for (var time = 0; time < 2; time++)
            {
                Load();
                Assert.AreEqual("book-1", book.Name);
                Assert.AreEqual("ERR_INVALID_RESPONSE", Ask("a")["error"].Text("code"), "it began, and nobody knows how it ended");
                Assert.AreEqual("ERR_INVALID_RESPONSE", book.AnswerTo(Request("r", "a", "run_tests"))["error"].Text("code"));
                Assert.IsNull(Ask("b"));
            }
        }

        [Test]
        public void A_new_name_keeps_the_runs()
        {
            Run("a");
            book.Rename();
            Load();
            Assert.AreEqual("book-2", book.Name);
            Assert.AreEqual("ok", Ask("a").Text("status"));
        }

        [Test]
        public void The_same_id_for_another_call_is_an_error_and_runs_nothing()
        {
            Run("a");
            Assert.AreEqual("ERR_INVALID_REQUEST", book.AnswerTo(Request("r", "a", "run_tests"))["error"].Text("code"));
            Assert.AreEqual("ERR_INVALID_REQUEST", book.AnswerTo(Request("r", "a", "open_scene", "b"))["error"].Text("code"));
        }

        [Test]
        public void A_run_that_the_server_remembers_is_never_forgotten_first()
        {
            const int ServerKeeps = 1024;
            Run("remembered");
            // The server forgets calls that did not run and drops ids in another order, so an equal limit would not do.
            for (var number = 0; number < ServerKeeps + 500; number++) Run("r" + number);
            Assert.IsNotNull(Ask("remembered"));
        }

        [Test]
        public void The_oldest_run_goes_first_at_the_limit_and_the_name_stays()
        {
            for (var number = 0; number <= Limits.BookEntriesMax; number++) Run("r" + number);
            Assert.IsNull(Ask("r0"));
            Assert.IsNotNull(Ask("r1"));
            Assert.AreEqual("book-1", book.Name);
        }

        [Test]
        public void A_run_that_was_asked_for_again_counts_as_new()
        {
            for (var number = 0; number < Limits.BookEntriesMax; number++) Run("r" + number);
            Ask("r0");
            Run("one more");
            Assert.IsNotNull(Ask("r0"));
            Assert.IsNull(Ask("r1"));
        }

        [Test]
        public void What_runs_is_never_dropped()
        {
            activeJobs.Add("job-1");
            book.End(Begin("job"), Wire.SubmitJobResult("first", "job-1"));
            Begin("running");
            for (var number = 0; number < Limits.BookEntriesMax; number++) Run("r" + number);
            Assert.AreEqual("job-1", Ask("job").Text("job_id"));
            Assert.IsNotNull(Ask("running"));
            Assert.IsNull(Ask("r0"));
            Assert.IsNull(Ask("r1"));
            Assert.IsNotNull(Ask("r2"));
        }

        [Test]
        public void A_run_whose_end_is_not_known_goes_last_and_changes_the_name()
        {
            for (var number = 0; number < Limits.BookEntriesMax; number++) Begin("r" + number);
            Load();
            Run("one more");
            Assert.AreEqual("book-2", book.Name);
            Assert.IsNull(Ask("r0"));
            Run("and one");
            Assert.AreEqual("book-2", book.Name, "a run with a known end went first");
            Assert.IsNotNull(Ask("r1"));
        }

        [Test]
        public void An_answer_that_is_too_long_is_not_stored_but_never_runs_again()
        {
            book.End(Begin("a"), Wire.Result("first", Json.Object().With("x", new string('x', Limits.BookAnswerCharsMax))));
            Assert.AreEqual("ERR_INVALID_RESPONSE", Ask("a")["error"].Text("code"));
        }
    }
}
