using System;
using System.Net.Sockets;
using System.Text;
using System.Threading.Tasks;

namespace UnityMcp
{
    /// <summary>Asks /healthz why a connection failed.</summary>
    public static class Health
    {
        public static async Task<DialException> Explain(int port, bool hasToken)
        {
            string answer;
            try
            {
                answer = await Ask(port).ConfigureAwait(false);
            }
            catch (SocketException)
            {
                return new DialException(DialProblem.NoServer, "There is no server on port " + port + ".");
            }
            catch (Exception problem)
            {
                return new DialException(DialProblem.Other, "The program on port " + port + " does not answer: " + problem.Message);
            }
            return Judge(answer, port, hasToken);
        }

        /// <summary>Judges an HTTP answer of /healthz.</summary>
        public static DialException Judge(string answer, int port, bool hasToken)
        {
            Json body;
            try
            {
                var start = answer.IndexOf('{');
                var end = answer.LastIndexOf('}');
                body = start < 0 || end < start ? Json.Null : JsonReader.Parse(answer.Substring(start, end - start + 1));
            }
            catch (JsonException)
            {
                body = Json.Null; // Another program; the next line says so.
            }
            if (body.Text("name") == null || body.Text("server_state") == null)
                return new DialException(DialProblem.Other, "Port " + port + " is used by a program that is not unity-mcp.");
            var asks = body["requires_token"] != null && body["requires_token"].AsBool == true;
            if (asks && hasToken)
                return new DialException(DialProblem.Other, "The server does not accept the token of this user.");
            if (asks) return new DialException(DialProblem.TokenRequired, "The server requires a token.");
            return new DialException(DialProblem.Other, "The server on port " + port + " refuses the connection.");
        }

        static async Task<string> Ask(int port)
        {
            using (var client = new TcpClient())
            {
                var asked = Exchange(client, port);
                var timeout = Task.Delay(Limits.HealthTimeout);
                if (await Task.WhenAny(asked, timeout).ConfigureAwait(false) == timeout)
                    throw new TimeoutException("no answer in time");
                return await asked.ConfigureAwait(false);
            }
        }

        static async Task<string> Exchange(TcpClient client, int port)
        {
            await client.ConnectAsync("127.0.0.1", port).ConfigureAwait(false);
            var stream = client.GetStream();
            var request = "GET /healthz HTTP/1.1\r\nHost: 127.0.0.1:" + port + "\r\nConnection: close\r\n\r\n";
            var bytes = Encoding.ASCII.GetBytes(request);
            await stream.WriteAsync(bytes, 0, bytes.Length).ConfigureAwait(false);
            var answer = new StringBuilder();
            var buffer = new byte[4096];
            while (answer.Length < Limits.HealthBytesMax)
            {
                var count = await stream.ReadAsync(buffer, 0, buffer.Length).ConfigureAwait(false);
                if (count == 0) break;
                answer.Append(Encoding.UTF8.GetString(buffer, 0, count));
            }
            return answer.ToString();
        }
    }
}
