using System;
using System.IO;
using System.Net.WebSockets;
using System.Text;
using System.Threading;
using System.Threading.Tasks;

namespace UnityMcp
{
    /// <summary>Opens WebSockets to the server on this machine.</summary>
    public sealed class WebSocketConnector : IConnector
    {
        public async Task<IConnection> Connect(int port, string token)
        {
            var socket = new ClientWebSocket();
            // The server sends pings of its own.
            socket.Options.KeepAliveInterval = TimeSpan.Zero;
            if (token != null) socket.Options.SetRequestHeader("Authorization", "Bearer " + token);
            try
            {
                using (var timeout = new CancellationTokenSource(Limits.DialTimeout))
                    await socket.ConnectAsync(new Uri("ws://127.0.0.1:" + port + "/unity"), timeout.Token).ConfigureAwait(false);
                return new WebSocketConnection(socket);
            }
            catch (Exception)
            {
                // The exception says nothing about the reason: a closed port and a missing token look the same.
                socket.Abort();
            }
            throw await Health.Explain(port, token != null).ConfigureAwait(false);
        }
    }

    sealed class WebSocketConnection : IConnection
    {
        readonly ClientWebSocket socket;
        readonly ArraySegment<byte> buffer = new ArraySegment<byte>(new byte[Limits.ReceiveBufferBytes]);

        public WebSocketConnection(ClientWebSocket socket)
        {
            this.socket = socket;
        }

        public Task Send(string text)
        {
            var bytes = new ArraySegment<byte>(Encoding.UTF8.GetBytes(text));
            return socket.SendAsync(bytes, WebSocketMessageType.Text, true, CancellationToken.None);
        }

        public Task Close(int code)
        {
            return socket.CloseOutputAsync((WebSocketCloseStatus)code, "", CancellationToken.None);
        }

        public async Task<Received> Receive()
        {
            var bytes = new MemoryStream();
            while (true)
            {
                var part = await socket.ReceiveAsync(buffer, CancellationToken.None).ConfigureAwait(false);
                if (part.MessageType == WebSocketMessageType.Close)
                    return new Received { CloseCode = (int?)part.CloseStatus ?? 1005, CloseReason = part.CloseStatusDescription ?? "" };
                bytes.Write(buffer.Array, 0, part.Count);
                if (bytes.Length > Limits.ReceiveBytesMax) throw new IOException("a frame of the server is too large");
                if (part.EndOfMessage) return new Received { Text = Encoding.UTF8.GetString(bytes.GetBuffer(), 0, (int)bytes.Length) };
            }
        }

        public void Abort()
        {
            socket.Abort();
        }
    }
}
