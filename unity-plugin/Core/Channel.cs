using System;
using System.Collections.Generic;
using System.Threading.Tasks;

namespace UnityMcp
{
    /// <summary>An open socket with what waits to be written, in order. Enqueue and TakeUnsent need the driver's lock.</summary>
    sealed class Channel
    {
        readonly object gate;
        readonly Queue<Output> waiting = new Queue<Output>();
        bool isWriting;
        bool hasFailed;

        public readonly int Attempt;
        public readonly IConnection Connection;

        public Channel(object gate, int attempt, IConnection connection)
        {
            this.gate = gate;
            Attempt = attempt;
            Connection = connection;
        }

        /// <summary>After a failure too: TakeUnsent must find every answer.</summary>
        public void Enqueue(Output output)
        {
            waiting.Enqueue(output);
        }

        /// <summary>Writes until nothing waits. Only one caller at a time writes; the others return at once.</summary>
        public async Task Write()
        {
            while (true)
            {
                Output next;
                lock (gate)
                {
                    if (isWriting || hasFailed || waiting.Count == 0) return;
                    isWriting = true;
                    next = waiting.Peek();
                }
                var isWritten = await TryWrite(next).ConfigureAwait(false);
                lock (gate)
                {
                    isWriting = false;
                    if (isWritten && waiting.Count > 0) waiting.Dequeue();
                    hasFailed |= !isWritten;
                }
                if (isWritten) continue;
                // The reader sees the end of the socket and reports it, with the answers that were not written.
                Connection.Abort();
                return;
            }
        }

        async Task<bool> TryWrite(Output output)
        {
            try
            {
                if (output.Kind == OutputKind.Close) await Connection.Close(output.Code).ConfigureAwait(false);
                else await Connection.Send(output.Text).ConfigureAwait(false);
                return true;
            }
            catch (Exception)
            {
                // Whatever the socket reports, it cannot be used any more.
                return false;
            }
        }

        /// <summary>The answers that were not written, at the end of the socket.</summary>
        public List<Answer> TakeUnsent()
        {
            hasFailed = true;
            var answers = new List<Answer>();
            foreach (var output in waiting)
                if (output.Answer != null) answers.Add(output.Answer);
            waiting.Clear();
            return answers;
        }
    }
}
