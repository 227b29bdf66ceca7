using System;
using System.Collections.Generic;
using System.IO;
using System.Text.RegularExpressions;
using UnityMcp;

namespace UnityMcp.Host
{
    /// <summary>
    /// The scripts of the project: those that the word "edit" changes, and the .cs files below Assets if there are any. A file with a
    /// line "#error TEXT" or an identifier that ends in "_undefined" does not compile.
    /// </summary>
    public sealed class Scripts
    {
        static readonly string[] WrongNames = { "targt", "speeed", "Heatlh" };
        static readonly Regex ErrorLine = new Regex(@"^\s*#error\s+(.*\S)");
        static readonly Regex UndefinedName = new Regex(@"\b(\w+_undefined)\b");

        readonly string folder;
        Dictionary<string, string> compiled;
        int wordErrors;

        /// <summary>Errors that the next compile finds; null if no script was edited by a word.</summary>
        public int? Edited { get; private set; }
        public bool HasFailed { get; private set; }

        /// <param name="project">Null if the Editor names none. What is there now counts as compiled.</param>
        public Scripts(string project)
        {
            folder = project == null ? null : Path.Combine(project, "Assets");
            compiled = ReadFiles();
        }

        public void Edit(int errors)
        {
            Edited = errors;
        }

        public bool HasChanged
        {
            get
            {
                if (Edited != null) return true;
                var files = ReadFiles();
                if (files.Count != compiled.Count) return true;
                foreach (var file in files)
                {
                    string text;
                    if (!compiled.TryGetValue(file.Key, out text) || text != file.Value) return true;
                }
                return false;
            }
        }

        /// <summary>Compiles what is on disk now. Returns the errors of the words, then those of the files.</summary>
        /// <param name="count">How many errors a word wants; null: as many as before, unless a script was edited.</param>
        public Json Compile(int? count)
        {
            wordErrors = count ?? Edited ?? wordErrors;
            Edited = null;
            compiled = ReadFiles();
            var errors = Json.Array();
            for (var index = 0; index < wordErrors; index++)
                errors.Add(Error("Assets/Scripts/Enemy.cs", 12 + 3 * index, 9, "CS0103", Unknown(WrongNames[index % WrongNames.Length])));
            foreach (var file in compiled) Check(file.Key, file.Value, errors);
            HasFailed = errors.Items.Count > 0;
            return errors;
        }

        Dictionary<string, string> ReadFiles()
        {
            var files = new Dictionary<string, string>();
            if (folder == null || !Directory.Exists(folder)) return files;
            var paths = Directory.GetFiles(folder, "*.cs", SearchOption.AllDirectories);
            Array.Sort(paths, string.CompareOrdinal);
            foreach (var path in paths)
                files["Assets/" + path.Substring(folder.Length + 1).Replace('\\', '/')] = File.ReadAllText(path);
            return files;
        }

        /// <summary>At most one error per file.</summary>
        static void Check(string file, string text, Json errors)
        {
            var lines = text.Split('\n');
            for (var index = 0; index < lines.Length; index++)
            {
                var found = ErrorLine.Match(lines[index]);
                var isLine = found.Success;
                if (!isLine) found = UndefinedName.Match(lines[index]);
                if (!found.Success) continue;
                var place = found.Groups[1];
                errors.Add(isLine
                    ? Error(file, index + 1, place.Index + 1, "CS1029", "#error: '" + place.Value + "'")
                    : Error(file, index + 1, place.Index + 1, "CS0103", Unknown(place.Value)));
                return;
            }
        }

        static string Unknown(string name)
        {
            return "The name '" + name + "' does not exist in the current context";
        }

        static Json Error(string file, int line, int column, string code, string text)
        {
            var message = file + "(" + line + "," + column + "): error " + code + ": " + text;
            return Json.Object().With("file", file).With("line", line).With("column", column).With("message", message);
        }
    }
}
