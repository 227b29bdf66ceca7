namespace UnityMcp
{
    /// <summary>Every limit and time of the plugin, in one place. Times are in milliseconds.</summary>
    public static class Limits
    {
        public const int ProtocolVersion = 1;
        public const int DefaultPort = 8091;

        // JSON and frames
        public const int JsonDepthMax = 128;
        /// <summary>The largest frame if the server's hello names no limit.</summary>
        public const int MessageBytesDefault = 1024 * 1024;
        /// <summary>The smallest limit that a server may have.</summary>
        public const int MessageBytesMin = 16 * 1024;
        /// <summary>Part of a frame that is kept free for the fields around a list.</summary>
        public const int EnvelopeBytes = 2 * 1024;
        /// <summary>The server rejects a frame with 64,000 tokens.</summary>
        public const int FrameTokensMax = 60000;
        public const int ReceiveBufferBytes = 16 * 1024;
        /// <summary>More than a server may send in one frame.</summary>
        public const int ReceiveBytesMax = 32 * 1024 * 1024;

        // Connection
        public const double BackoffFirst = 100;
        public const double BackoffFactor = 1.7;
        public const double BackoffMax = 1200;
        public const double BackoffJitter = 0.1;
        /// <summary>Wait after the server rejected the hello: another Editor or another project.</summary>
        public const int RefusedWait = 10000;
        public const int DialTimeout = 5000;
        /// <summary>How long a connection may be without the server's hello. The server waits as long for the plugin's.</summary>
        public const int GreetingTimeout = 5000;
        /// <summary>Windows takes about two seconds to refuse a closed port of this machine.</summary>
        public const int HealthTimeout = 4000;
        public const int HealthBytesMax = 64 * 1024;
        /// <summary>How long the end of a domain waits for the server's close frame.</summary>
        public const int CloseWait = 300;
        /// <summary>Interval at which an Editor with open work is woken.</summary>
        public const int WakeInterval = 50;
        /// <summary>How long an Editor is woken only because it is not ready. A state that lasts longer does not end with a tick.</summary>
        public const int WakeToReadyMax = 10 * 60 * 1000;

        // Requests
        /// <summary>Request ids that are remembered, so that none of them runs twice.</summary>
        public const int BegunMax = 1024;
        /// <summary>Requests that one tick of the main thread runs.</summary>
        public const int RequestsPerTick = 16;

        // Console
        public const int ConsoleRowsMax = 2000;
        public const int ConsoleCharsMax = 2 * 1024 * 1024;
        public const int TextCharsMax = 8000;
        public const int ReadEntriesDefault = 200;

        // Texts of tools and jobs
        /// <summary>The name of a test in a progress report.</summary>
        public const int NameCharsMax = 500;
        public const int ErrorCharsMax = 1000;
        public const int ErrorDetailsCharsMax = 1500;

        // Jobs
        /// <summary>Ended jobs that are kept with all they found. The server asks for it within seconds and keeps it then.</summary>
        public const int WholeJobsMax = 8;
        /// <summary>
        /// Ended jobs that are kept, most of them without their lists: the request book names a job for long, and after a restart
        /// of the server its end must still be known.
        /// </summary>
        public const int EndedJobsMax = 256;
        /// <summary>Requests that are remembered of a job, besides the one that started it.</summary>
        public const int RepeatsMax = 64;
        /// <summary>Failed tests that are stored of one run. Agents see at most 50.</summary>
        public const int FailedTestsMax = 50;
        public const int FailureCharsMax = 4000;
        /// <summary>Updates after a run before the next one, in a version of Unity that does not tell whether a run is active.</summary>
        public const int UpdatesBetweenRuns = 10;
        /// <summary>How long Unity may take to name its tests.</summary>
        public const int ListWait = 30000;
        /// <summary>How long a run may be inactive without an end before the job counts as failed.</summary>
        public const int SilentRunMax = 5000;
        /// <summary>How long a cancelled run may take to end before the job counts as cancelled.</summary>
        public const int CancelWait = 3000;

        // Compiles
        /// <summary>Errors that are stored of one compile. Agents see at most 50.</summary>
        public const int CompileErrorsMax = 200;
        public const int CompileErrorCharsMax = 1000;
        /// <summary>Updates of a ready Editor without a compile that end the wait for one.</summary>
        public const int QuietUpdates = 5;

        // Project
        public const int AssetsDefault = 50;
        /// <summary>Scenes or selected objects in one answer.</summary>
        public const int ListedMax = 500;

        // Request book
        /// <summary>Twice what the server keeps (1,024 ids), because the plugin must never forget a run that the server remembers.</summary>
        public const int BookEntriesMax = 2048;
        /// <summary>A longer answer is not stored.</summary>
        public const int BookAnswerCharsMax = 16 * 1024;

        // Files
        public const int ConfigBytesMax = 1024 * 1024;
        public const int TokenBytesMax = 1024;
        public const int TokenCharsMin = 32;
    }
}
