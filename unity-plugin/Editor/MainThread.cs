using System;
using UnityEditor;

namespace UnityMcp.Editor
{
    /// <summary>
    /// Makes an Editor without focus tick. Without SignalTick, which is internal, such an Editor ticks only a few times per
    /// second or not at all.
    /// </summary>
    sealed class MainThread : IMainThread
    {
        readonly Action signalTick = Internals.Method<Action>(typeof(EditorApplication), "SignalTick",
            "calls wait until the Editor ticks by itself, which is slow without focus");

        public void Wake()
        {
            if (signalTick != null) signalTick();
        }
    }
}
