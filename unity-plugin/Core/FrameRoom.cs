namespace UnityMcp
{
    /// <summary>How much of a list fits into one frame, in bytes and in tokens.</summary>
    public sealed class FrameRoom
    {
        int bytes;
        int tokens = Limits.FrameTokensMax;

        public FrameRoom(int maxMessageBytes)
        {
            bytes = maxMessageBytes - Limits.EnvelopeBytes;
        }

        /// <summary>Takes the room of an item. False if there is not enough.</summary>
        public bool Take(Json item)
        {
            var text = item.ToString();
            bytes -= JsonWriter.Bytes(text) + 1;
            tokens -= JsonWriter.Tokens(text) + 1;
            return bytes >= 0 && tokens >= 0;
        }

        /// <summary>How long a text may be, so that an item with three of them always fits.</summary>
        public static int TextChars(int maxMessageBytes)
        {
            // A character may need six bytes of JSON.
            var chars = (maxMessageBytes - Limits.EnvelopeBytes) / (3 * 6) - 16;
            return System.Math.Min(Limits.TextCharsMax, chars);
        }

        /// <summary>Cuts a text with a mark, never between the halves of a surrogate pair.</summary>
        public static string Cut(string text, int charsMax)
        {
            if (text == null || text.Length <= charsMax) return text;
            var length = charsMax - 1;
            if (char.IsHighSurrogate(text[length - 1])) length--;
            return text.Substring(0, length) + "…";
        }
    }
}
