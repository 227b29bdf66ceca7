using NUnit.Framework;

namespace UnityMcp.Tests
{
    [TestFixture]
    public class WireTests
    {
        [Test]
        public void An_execute_is_read()
        {
            var message = Wire.Read("{\"type\":\"execute\",\"protocol_version\":1,\"request_id\":\"r\",\"client_request_id\":\"c\","
                + "\"tool_name\":\"t\",\"params\":{\"a\":1},\"timeout_ms\":5,\"unknown\":[]}");
            Assert.IsTrue(message.IsRequest && message.DoesSomething);
            Assert.AreEqual("r c t", message.RequestId + " " + message.ClientRequestId + " " + message.ToolName);
            Assert.AreEqual(1, message.Params.Integer("a", 0));
        }

        [TestCase("{\"type\":\"execute\",\"protocol_version\":1,\"request_id\":\"r\",\"params\":{}}", "tool_name")]
        [TestCase("{\"type\":\"execute\",\"protocol_version\":1,\"request_id\":\"r\",\"tool_name\":\"t\",\"params\":[]}", "params")]
        [TestCase("{\"type\":\"submit_job\",\"protocol_version\":1,\"request_id\":\"r\",\"tool_name\":\"t\"}", "params")]
        [TestCase("{\"type\":\"get_job_status\",\"protocol_version\":1,\"request_id\":\"r\"}", "job_id")]
        [TestCase("{\"type\":\"cancel\",\"protocol_version\":1,\"request_id\":\"r\"}", "target_job_id")]
        [TestCase("{\"type\":\"ping\",\"protocol_version\":2,\"request_id\":\"r\"}", "protocol_version")]
        [TestCase("{\"protocol_version\":1,\"request_id\":\"r\"}", "type")]
        public void A_wrong_message_is_rejected_with_its_request_id(string frame, string field)
        {
            var problem = Assert.Throws<WireException>(() => Wire.Read(frame));
            StringAssert.Contains(field, problem.Message);
            Assert.AreEqual("r", problem.RequestId);
        }

        [TestCase("nothing")]
        [TestCase("[]")]
        [TestCase("{\"type\":\"cancel\",\"protocol_version\":1,\"target_job_id\":\"j\"}")]
        public void Without_a_request_id_the_problem_names_none(string frame)
        {
            Assert.IsNull(Assert.Throws<WireException>(() => Wire.Read(frame)).RequestId);
        }

        [Test]
        public void A_hello_without_a_limit_means_one_mebibyte()
        {
            var hello = Wire.Read("{\"type\":\"hello\",\"protocol_version\":1,\"server_version\":\"9\"}");
            Assert.AreEqual(1048576, hello.MaxMessageBytes);
        }

        [Test]
        public void A_hello_names_all_optional_fields_that_are_known()
        {
            var fields = new HelloFields { PluginVersion = "1", EditorInstanceId = "e", PluginSessionId = "s", ConnectAttemptSeq = 3, ProjectPath = "/p" };
            Assert.AreEqual("{\"type\":\"hello\",\"protocol_version\":1,\"plugin_version\":\"1\",\"state\":\"compiling\","
                + "\"editor_instance_id\":\"e\",\"plugin_session_id\":\"s\",\"connect_attempt_seq\":3,\"project_path\":\"/p\"}",
                Wire.Hello(fields, EditorState.Compiling, 0).ToString());
        }

        [Test]
        public void A_failed_tool_is_a_result_and_a_rejection_is_an_error()
        {
            Assert.AreEqual("{\"type\":\"result\",\"protocol_version\":1,\"request_id\":\"r\",\"status\":\"error\","
                + "\"error\":{\"code\":\"ERR_UNITY_EXECUTION\",\"message\":\"m\"}}", Wire.FailedResult("r", "m", null).ToString());
            Assert.AreEqual("{\"type\":\"error\",\"protocol_version\":1,\"request_id\":\"r\",\"error\":{\"code\":\"C\",\"message\":\"m\"}}",
                Wire.Error("r", "C", "m").ToString());
        }
    }
}
