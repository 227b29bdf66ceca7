using UnityEditor;

namespace UnityMcp.Editor
{
    /// <summary>SessionState survives a domain reload and ends with the Editor. Main thread only.</summary>
    sealed class SessionStateStore : IStateStore
    {
        public string Get(string key)
        {
            return SessionState.GetString(key, null);
        }

        public void Set(string key, string value)
        {
            SessionState.SetString(key, value);
        }
    }
}
