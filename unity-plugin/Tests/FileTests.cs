using System.Collections.Generic;
using System.IO;
using NUnit.Framework;

namespace UnityMcp.Tests
{
    /// <summary>The token file, the project's unity-mcp.server.json, and the answer of /healthz.</summary>
    [TestFixture]
    public class FileTests
    {
        string folder;

        [SetUp]
        public void SetUp()
        {
            folder = Path.Combine(Path.GetTempPath(), "unity-mcp-" + System.Guid.NewGuid());
            Directory.CreateDirectory(folder);
        }

        [TearDown]
        public void TearDown()
        {
            Directory.Delete(folder, true);
        }

        static string Locate(HostSystem system, params string[] variables)
        {
            var values = new Dictionary<string, string>();
            for (var index = 0; index < variables.Length; index += 2) values[variables[index]] = variables[index + 1];
            var path = TokenFile.Locate(system, name => values.ContainsKey(name) ? values[name] : null);
            return path == null ? null : path.Replace('\\', '/');
        }

        [Test]
        public void The_token_is_where_the_server_puts_it()
        {
            Assert.AreEqual("/h/.local/state/unity-mcp/token", Locate(HostSystem.Linux, "HOME", "/h"));
            Assert.AreEqual("/s/unity-mcp/token", Locate(HostSystem.Linux, "HOME", "/h", "XDG_STATE_HOME", "/s"));
            Assert.AreEqual("/h/.local/state/unity-mcp/token", Locate(HostSystem.Linux, "HOME", "/h", "XDG_STATE_HOME", "relative"));
            Assert.AreEqual("/h/Library/Application Support/unity-mcp/token", Locate(HostSystem.MacOs, "HOME", "/h", "XDG_STATE_HOME", "/s"));
            Assert.AreEqual("/l/unity-mcp/token", Locate(HostSystem.Windows, "LOCALAPPDATA", "/l"));
            Assert.AreEqual("/t", Locate(HostSystem.Linux, "HOME", "/h", "UNITY_MCP_TOKEN_FILE", "/t"));
            Assert.AreEqual("/h/.local/state/unity-mcp/token", Locate(HostSystem.Linux, "HOME", "/h", "UNITY_MCP_TOKEN_FILE", ""));
            Assert.IsNull(Locate(HostSystem.Linux));
        }

        [Test]
        public void A_token_is_read_without_the_line_end()
        {
            var token = new string('a', 64);
            Assert.AreEqual(token, TokenFile.ReadFrom(Write("token", token + "\n")));
        }

        [TestCase("")]
        [TestCase("short")]
        [TestCase("a token with spaces that is long enough to be one")]
        public void What_is_no_token_is_refused_by_name(string text)
        {
            var file = Write("token", text);
            StringAssert.Contains(file, Assert.Throws<IOException>(() => TokenFile.ReadFrom(file)).Message);
        }

        [Test]
        public void A_missing_or_huge_token_file_is_a_clear_error()
        {
            var missing = Path.Combine(folder, "none");
            StringAssert.Contains(missing, Assert.Throws<IOException>(() => TokenFile.ReadFrom(missing)).Message);
            var huge = Write("token", new string('a', 2000));
            StringAssert.Contains("is not a file with a token", Assert.Throws<IOException>(() => TokenFile.ReadFrom(huge)).Message);
        }

        string Write(string name, string text)
        {
            var file = Path.Combine(folder, name);
            File.WriteAllText(file, text);
            return file;
        }

        [Test]
        public void The_port_comes_from_the_file_of_the_project_else_from_the_settings()
        {
            Assert.AreEqual(8091, ServerFile.Find(folder, 8091).Port);
            Assert.AreEqual(8091, ServerFile.Find(null, 8091).Port);
            Write(ServerFile.Name, "{\"schema_version\":1,\"unity_ws_port\":9000,\"queue_max_size\":4}");
            Assert.AreEqual(9000, ServerFile.Find(folder, 8091).Port);
            Write(ServerFile.Name, "{}");
            Assert.AreEqual(7000, ServerFile.Find(folder, 7000).Port);
        }

        [TestCase("{", "is not valid JSON")]
        [TestCase("[]", "JSON object")]
        [TestCase("{\"unity_ws_port\":0}", "1 to 65535")]
        [TestCase("{\"unity_ws_port\":65536}", "1 to 65535")]
        [TestCase("{\"unity_ws_port\":\"8091\"}", "1 to 65535")]
        [TestCase("{\"schema_version\":2}", "schema_version 1")]
        [TestCase("{\"unity_ws_port\":1,\"unity_ws_port\":2}", "occurs twice")]
        public void A_broken_file_is_a_clear_error(string text, string problem)
        {
            var address = ServerFile.Parse(text, 8091);
            StringAssert.Contains("unity-mcp.server.json", address.Problem);
            StringAssert.Contains(problem, address.Problem);
        }

        static DialException Judge(string body, bool hasToken)
        {
            return Health.Judge("HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n\r\n" + body, 8091, hasToken);
        }

        [Test]
        public void The_health_answer_tells_why_a_connection_failed()
        {
            const string Healthy = "{\"name\":\"unity-mcp\",\"version\":\"1\",\"server_state\":\"ready\"";
            Assert.AreEqual(DialProblem.TokenRequired, Judge(Healthy + ",\"requires_token\":true}", false).Problem);
            Assert.AreEqual(DialProblem.Other, Judge(Healthy + ",\"requires_token\":true}", true).Problem);
            Assert.AreEqual(DialProblem.Other, Judge(Healthy + "}", false).Problem);
            StringAssert.Contains("not unity-mcp", Judge("<html>{}</html>", false).Message);
            StringAssert.Contains("not unity-mcp", Judge("nothing", false).Message);
            StringAssert.Contains("not unity-mcp", Judge("}{", false).Message);
        }
    }
}
