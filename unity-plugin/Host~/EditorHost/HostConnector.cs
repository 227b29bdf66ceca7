using System;
using System.Threading;
using System.Threading.Tasks;
using UnityMcp;

namespace UnityMcp.Host
{
    /// <summary>A connector that shows every frame, and whose network can fail on purpose.</summary>
    public sealed class HostConnector : IConnector
    {
        readonly IConnector real;
        readonly Bridge bridge;
        readonly DisplayQueue display;
        volatile HostConnection last;

        public HostConnector(IConnector real, Bridge bridge, DisplayQueue display)
        {
            this.real = real;
            this.bridge = bridge;
            this.display = display;
        }

        public async Task<IConnection> Connect(int port, string token)
        {
            for (var wait = bridge.AwayTime; wait > 0; wait = bridge.AwayTime) await Task.Delay(wait).ConfigureAwait(false);
            try
            {
                var opened = new HostConnection(await real.Connect(port, token).ConfigureAwait(false), bridge, display);
                display.Show("connected", null);
                last = opened;
                return opened;
            }
            catch (DialException problem)
            {
                if (problem.Problem != DialProblem.TokenRequired)
                {
                    display.Show("no_connection", problem.Message);
                    bridge.ConnectionFailed(problem.Message);
                }
                throw;
            }
        }

        /// <param name="code">The code of the close frame; 0: without one.</param>
        public void Leave(int code)
        {
            var open = last;
            if (open == null) return;
            if (code == 0) open.Abort();
            else Task.Run(() => open.TryClose(code));
        }
    }

    sealed class HostConnection : IConnection
    {
        readonly IConnection real;
        readonly Bridge bridge;
        readonly DisplayQueue display;
        /// <summary>The plugin and the word "close" may write at the same time.</summary>
        readonly SemaphoreSlim writing = new SemaphoreSlim(1);
        volatile bool hasClosed;

        public HostConnection(IConnection real, Bridge bridge, DisplayQueue display)
        {
            this.real = real;
            this.bridge = bridge;
            this.display = display;
        }

        public Task Send(string text)
        {
            return Write(() =>
            {
                // Shown first: otherwise the answer of the server could be shown before it.
                display.Show("to_server", text);
                return real.Send(text);
            });
        }

        public Task Close(int code)
        {
            hasClosed = true;
            return Write(() => real.Close(code));
        }

        public async Task TryClose(int code)
        {
            try
            {
                await Close(code).ConfigureAwait(false);
            }
            catch (Exception)
            {
                // The socket has ended already.
            }
        }

        async Task Write(Func<Task> write)
        {
            await writing.WaitAsync().ConfigureAwait(false);
            try
            {
                await write().ConfigureAwait(false);
            }
            finally
            {
                writing.Release();
            }
        }

        public async Task<Received> Receive()
        {
            var received = new Received();
            try
            {
                received = await real.Receive().ConfigureAwait(false);
            }
            catch (Exception)
            {
                // The socket has failed, which is an end without a close frame.
            }
            if (received.Text == null)
            {
                display.Show("disconnected", ClosedByServer(received));
                bridge.ConnectionFailed("the connection is lost");
                return received;
            }
            display.Show("from_server", received.Text);
            if (received.Text.Contains("\"server_version\"")) bridge.ConnectionAccepted();
            return received;
        }

        /// <summary>The close frame of the server; null if there was none, or if it answers our own.</summary>
        string ClosedByServer(Received end)
        {
            if (end.CloseCode == 0 || hasClosed) return null;
            return Json.Object().With("code", end.CloseCode).With("reason", end.CloseReason).ToString();
        }

        public void Abort()
        {
            real.Abort();
        }
    }
}
