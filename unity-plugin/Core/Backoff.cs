using System;

namespace UnityMcp
{
    /// <summary>How long to wait before the next attempt to connect.</summary>
    public sealed class Backoff
    {
        readonly Func<double> chance;
        int failed;

        /// <param name="chance">A random number from 0 to 1.</param>
        public Backoff(Func<double> chance)
        {
            this.chance = chance;
        }

        public long NextWait()
        {
            var wait = Math.Min(Limits.BackoffFirst * Math.Pow(Limits.BackoffFactor, failed), Limits.BackoffMax);
            failed++;
            return (long)Math.Round(wait * (1 + Limits.BackoffJitter * (2 * chance() - 1)));
        }

        public void Reset()
        {
            failed = 0;
        }
    }
}
