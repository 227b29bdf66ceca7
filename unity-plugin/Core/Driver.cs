using System;
using System.Collections.Generic;
using System.Threading;
using System.Threading.Tasks;

namespace UnityMcp
{
    /// <summary>Drives a Session with sockets, threads and a clock. It decides nothing itself.</summary>
    public sealed class Driver
    {
        readonly object gate = new object();
        readonly Session session;
        readonly IConnector connector;
        readonly IMainThread mainThread;
        readonly IClock clock;
        readonly ILog log;
        readonly Func<ServerAddress> findServer;
        readonly Func<string> readToken;
        readonly Timer timer;
        readonly ManualResetEventSlim ended = new ManualResetEventSlim();
        Channel channel;
        bool isStopped;
        /// <summary>When the timer fires next. To set it takes longer than most inputs.</summary>
        long? firesAt;

        /// <summary>The port of the last attempt.</summary>
        public int Port { get; private set; }

        /// <param name="readToken">Throws IOException if this user has no token.</param>
        public Driver(Session session, IConnector connector, IMainThread mainThread, IClock clock, ILog log,
            Func<ServerAddress> findServer, Func<string> readToken)
        {
            this.session = session;
            this.connector = connector;
            this.mainThread = mainThread;
            this.clock = clock;
            this.log = log;
            this.findServer = findServer;
            this.readToken = readToken;
            timer = new Timer(_ => Fire(), null, Timeout.Infinite, Timeout.Infinite);
        }

        /// <summary>Reads the session under the lock.</summary>
        public T Look<T>(Func<Session, T> look)
        {
            lock (gate) return look(session);
        }

        public void Apply(Input input)
        {
            Do(null, null, input);
        }

        void Do(Channel opened, Channel closed, Input input)
        {
            List<Output> outputs;
            Channel written;
            lock (gate)
            {
                if (isStopped) return;
                if (opened != null) channel = opened;
                // Under the lock: an answer comes either before this, or after the session knows of the end.
                if (closed != null) input.Unsent = closed.TakeUnsent();
                outputs = session.Handle(clock.Now, input);
                foreach (var output in outputs)
                    if (output.Kind == OutputKind.Send || output.Kind == OutputKind.Close) Enqueue(output);
                written = channel;
                SetTimer();
                if (session.Link == LinkState.Ended) ended.Set();
            }
            // The lock is free here: none of this can block another thread.
            foreach (var output in outputs) Perform(output);
            if (written != null) Forget(written.Write());
        }

        void Enqueue(Output output)
        {
            if (channel != null && channel.Attempt == output.Attempt) channel.Enqueue(output);
        }

        void Fire()
        {
            lock (gate) firesAt = null;
            Apply(Input.Tick);
        }

        void SetTimer()
        {
            var deadline = session.NextDeadline;
            if (deadline == firesAt) return;
            firesAt = deadline;
            if (deadline == null) timer.Change(Timeout.Infinite, Timeout.Infinite);
            else timer.Change(Math.Max(0, deadline.Value - clock.Now), Timeout.Infinite);
        }

        void Perform(Output output)
        {
            switch (output.Kind)
            {
                case OutputKind.Dial:
                    Forget(Task.Run(() => Dial(output.Attempt, output.WithToken)));
                    break;
                case OutputKind.Abort:
                    Abort(output.Attempt);
                    break;
                case OutputKind.Wake:
                    mainThread.Wake();
                    break;
                case OutputKind.Tell:
                    log.Tell(output.Text);
                    break;
            }
        }

        void Abort(int attempt)
        {
            Channel open;
            lock (gate) open = channel;
            if (open != null && open.Attempt == attempt) open.Connection.Abort();
        }

        /// <summary>Failures are handled inside the task. Nobody waits for it.</summary>
        static void Forget(Task task)
        {
            task.ContinueWith(failed => { GC.KeepAlive(failed.Exception); }, TaskContinuationOptions.OnlyOnFaulted);
        }

        async Task Dial(int attempt, bool withToken)
        {
            IConnection connection;
            try
            {
                var server = findServer();
                if (server.Problem != null) throw new DialException(DialProblem.Other, server.Problem);
                Port = server.Port;
                var token = withToken ? readToken() : null;
                connection = await connector.Connect(server.Port, token).ConfigureAwait(false);
            }
            catch (DialException problem)
            {
                Apply(Input.DialFailed(attempt, problem.Problem, problem.Message));
                return;
            }
            catch (Exception problem)
            {
                // A file or a socket may fail in any way. The next attempt comes later.
                Apply(Input.DialFailed(attempt, DialProblem.Other, problem.Message));
                return;
            }
            var opened = new Channel(gate, attempt, connection);
            Do(opened, null, Input.Connected(attempt));
            await Read(opened).ConfigureAwait(false);
        }

        async Task Read(Channel open)
        {
            while (true)
            {
                var received = await Receive(open.Connection).ConfigureAwait(false);
                if (received.Text == null)
                {
                    open.Connection.Abort();
                    Do(null, open, Input.Closed(open.Attempt, received.CloseCode, received.CloseReason, null));
                    return;
                }
                Apply(Input.Frame(open.Attempt, received.Text));
            }
        }

        static async Task<Received> Receive(IConnection connection)
        {
            try
            {
                return await connection.Receive().ConfigureAwait(false);
            }
            catch (Exception)
            {
                // A socket that fails has ended without a close frame.
                return new Received();
            }
        }

        /// <summary>The next request for the main thread, or null.</summary>
        public ServerMessage TakeRequest()
        {
            lock (gate) return isStopped ? null : session.TakeRequest();
        }

        /// <summary>
        /// Ends the connection: waits a short time for the server's close frame, and returns what to keep. Blocks for
        /// at most Limits.CloseWait.
        /// </summary>
        public Json Stop(Input how)
        {
            Apply(how);
            ended.Wait(Limits.CloseWait);
            Channel open;
            Json saved;
            lock (gate)
            {
                isStopped = true;
                saved = session.Save();
                open = channel;
            }
            timer.Dispose();
            if (open != null) open.Connection.Abort();
            return saved;
        }
    }
}
