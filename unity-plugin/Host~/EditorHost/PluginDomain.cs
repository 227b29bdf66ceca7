using System;
using System.Collections.Generic;

namespace UnityMcp.Host
{
    /// <summary>The AppDomain that has the plugin. It is really unloaded and loaded again.</summary>
    public sealed class PluginDomain
    {
        readonly List<Action<Inside>> missed = new List<Action<Inside>>();
        AppDomain domain;
        volatile Inside inside;

        /// <summary>Null while the domain is not loaded. May be read from any thread.</summary>
        public Inside Inside
        {
            get { return inside; }
        }

        /// <summary>True if the new domain ticks at once, false if it waits until the plugin wakes it.</summary>
        public bool Load(Bridge bridge)
        {
            domain = AppDomain.CreateDomain("plugin");
            var type = typeof(Inside);
            var loaded = (Inside)domain.CreateInstanceAndUnwrap(type.Assembly.FullName, type.FullName);
            loaded.Load(bridge);
            foreach (var action in missed) action(loaded);
            missed.Clear();
            inside = loaded;
            return !loaded.TicksOnlyWoken;
        }

        public void Unload()
        {
            if (inside == null) return;
            Flush();
            inside = null;
            AppDomain.Unload(domain);
            domain = null;
        }

        /// <summary>Waits until the Editor has seen every frame.</summary>
        public void Flush()
        {
            if (inside != null) inside.Flush();
        }

        /// <summary>What happens while the domain is not loaded is passed on afterwards.</summary>
        public void Pass(Action<Inside> action)
        {
            if (inside != null) action(inside);
            else missed.Add(action);
        }

        /// <summary>The Editor has ended: nothing is passed on to the next one.</summary>
        public void Forget()
        {
            missed.Clear();
        }

        /// <summary>From any thread: ends the connection of the plugin.</summary>
        /// <param name="code">The code of the close frame; 0: without one.</param>
        public void Disconnect(int code)
        {
            Try(plugin => plugin.Leave(code));
        }

        /// <summary>From any thread: the Editor has something to do.</summary>
        public void Interrupt()
        {
            Try(plugin => plugin.Interrupt());
        }

        void Try(Action<Inside> action)
        {
            try
            {
                var plugin = inside;
                if (plugin != null) action(plugin);
            }
            catch (AppDomainUnloadedException)
            {
                // The domain has just ended, and everything in it.
            }
        }
    }
}
