using System;
using System.IO;
using System.Runtime.InteropServices;
using System.Threading;
using System.Threading.Tasks;

namespace UnityMcp.Host
{
    /// <summary>EditorHost: an Editor stand-in for Mono that runs the real plugin.</summary>
    public static class Program
    {
        /// <summary>A quit ends the process after this time in any case.</summary>
        const int QuitTimeout = 2000;

        public static int Main(string[] arguments)
        {
            Options options;
            try
            {
                options = Options.Parse(arguments);
            }
            catch (Exception problem) when (problem is WordException || problem is IOException || problem is UnauthorizedAccessException)
            {
                Complain(problem.Message);
                return 2;
            }
            if (options.WantsHelp)
            {
                Console.WriteLine(Options.Help);
                return 0;
            }
            return Play(options);
        }

        static int Play(Options options)
        {
            var display = new Display(options.IsJson, options.HasHeartbeats);
            var editor = new Editor(options, display);
            if (!options.IsJson) display.WriteLine("EditorHost plays a Unity Editor; type \"help\" or \"quit\"");
            new Thread(() => ReadWords(editor, options.IsJson)) { IsBackground = true }.Start();
            Console.CancelKeyPress += (sender, signal) =>
            {
                signal.Cancel = true;
                Quit(editor);
            };
            var exitCode = editor.Run();
            editor.ShowBooks();
            display.Flush();
            if (editor.Problem != null) Complain(editor.Problem);
            EndProcess(exitCode);
            return exitCode;
        }

        /// <summary>
        /// Ends the process at once. The shutdown of Mono 6.8 aborts the threads of the child domain, and crashes in one of fifty cases.
        /// </summary>
        static void EndProcess(int exitCode)
        {
            try
            {
                ExitNow(exitCode);
            }
            catch (DllNotFoundException)
            {
                // Windows has no libc. Main returns instead.
            }
        }

        [DllImport("libc", EntryPoint = "_exit")]
        static extern void ExitNow(int exitCode);

        /// <summary>The Editor runs on when stdin ends.</summary>
        static void ReadWords(Editor editor, bool isJson)
        {
            for (var line = Console.In.ReadLine(); line != null; line = Console.In.ReadLine())
            {
                if (line.Trim() == "") continue;
                try
                {
                    var word = Word.Parse(line);
                    if (word.Name == "help") Help(isJson);
                    else if (word.Name == "quit") Quit(editor);
                    else editor.Give(word);
                }
                catch (WordException problem)
                {
                    Complain(problem.Message);
                }
            }
        }

        static void Quit(Editor editor)
        {
            editor.Give(new Word { Name = "quit" });
            Task.Delay(QuitTimeout).ContinueWith(_ => Environment.Exit(0));
        }

        /// <summary>On stderr, because a program may read stdout.</summary>
        static void Complain(string problem)
        {
            Console.Error.WriteLine("EditorHost: " + problem);
        }

        static void Help(bool isJson)
        {
            var output = isJson ? Console.Error : Console.Out;
            foreach (var word in Word.All) output.WriteLine("  {0,-24} {1}", word[0] + " " + word[1], word[2]);
        }
    }
}
