using System.Collections.Concurrent;
using System.Threading;

namespace UnityMcp.Host
{
    /// <summary>
    /// What the plugin's domain wants to show, in order. A thread of its own takes it to the other domain: such a call takes
    /// longer than the work of the plugin, and a real Editor has none.
    /// </summary>
    public sealed class DisplayQueue
    {
        readonly Bridge bridge;
        readonly BlockingCollection<string[]> waiting = new BlockingCollection<string[]>();
        readonly object gate = new object();
        int open;

        public DisplayQueue(Bridge bridge)
        {
            this.bridge = bridge;
            new Thread(TakeOver) { IsBackground = true }.Start();
        }

        public void Show(string kind, string text)
        {
            lock (gate) open++;
            waiting.Add(new[] { kind, text });
        }

        void TakeOver()
        {
            foreach (var shown in waiting.GetConsumingEnumerable())
            {
                bridge.Show(shown[0], shown[1]);
                lock (gate)
                    if (--open == 0) Monitor.PulseAll(gate);
            }
        }

        /// <summary>Waits until the other domain has everything.</summary>
        public void Flush()
        {
            lock (gate)
                while (open > 0) Monitor.Wait(gate);
        }
    }
}
