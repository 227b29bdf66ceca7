using System;
using System.Collections.Generic;

namespace UnityMcp.Host
{
    public sealed class Test
    {
        public string Name;
        /// <summary>edit or play.</summary>
        public string Mode = "edit";
        /// <summary>Milliseconds.</summary>
        public long Takes = 100;
        /// <summary>pass, fail or skip.</summary>
        public string Outcome = "pass";
    }

    /// <summary>The tests of the project, in the order in which they run.</summary>
    public sealed class Suite
    {
        readonly List<Test> tests = new List<Test>();

        /// <summary>The sample project of mock-unity: twenty tests, of which two fail.</summary>
        public static Suite Sample()
        {
            var suite = new Suite();
            suite.AddFixture("Game.Tests.PlayerTests", "edit", "Walks", "Jumps", "Falls", "Lands", "Swims");
            suite.AddFixture("Game.Tests.EnemyTests", "edit", "Spawns", "Chases", "Attacks", "Flees", "Dies");
            suite.AddFixture("Game.Tests.InventoryTests", "edit", "Adds", "Removes", "Stacks", "Sorts", "Saves");
            suite.AddFixture("Game.Tests.LevelTests", "play", "Loads", "Lights", "Streams", "Resets", "Ends");
            return suite;
        }

        void AddFixture(string fixture, string mode, params string[] names)
        {
            foreach (var name in names)
            {
                var outcome = name == "Jumps" || name == "Stacks" ? "fail" : "pass";
                tests.Add(new Test { Name = fixture + "." + name, Mode = mode, Takes = 150, Outcome = outcome });
            }
        }

        /// <summary>Reads lines such as "- { name: A.B, mode: play, takes: 200ms, outcome: fail }". Throws WordException.</summary>
        public static Suite Parse(string text)
        {
            var suite = new Suite();
            foreach (var raw in text.Split('\n'))
            {
                var line = raw.Trim();
                if (line == "" || line[0] == '#') continue;
                if (line[0] != '-') throw new WordException("a test must be one line: - { name: A.B, mode: play }");
                suite.tests.Add(ParseTest(line.Substring(1).Trim().TrimStart('{').TrimEnd('}')));
            }
            return suite;
        }

        static Test ParseTest(string fields)
        {
            var test = new Test();
            foreach (var field in fields.Split(','))
            {
                var colon = field.IndexOf(':');
                if (colon < 0) throw new WordException("\"" + field.Trim() + "\" is not a field of a test");
                var value = field.Substring(colon + 1).Trim().Trim('"', '\'');
                switch (field.Substring(0, colon).Trim())
                {
                    case "name":
                        test.Name = value;
                        break;
                    case "mode":
                        test.Mode = OneOf(value, "edit", "play");
                        break;
                    case "takes":
                        test.Takes = Word.Duration(value);
                        break;
                    case "outcome":
                        test.Outcome = OneOf(value, "pass", "fail", "skip");
                        break;
                    default:
                        throw new WordException("\"" + field.Trim() + "\" is not a field of a test");
                }
            }
            if (test.Name == null) throw new WordException("a test has no name");
            return test;
        }

        static string OneOf(string value, params string[] known)
        {
            if (Array.IndexOf(known, value) < 0) throw new WordException("\"" + value + "\" is not one of " + string.Join(", ", known));
            return value;
        }

        /// <summary>Makes the first tests fail and all others pass.</summary>
        public void FailFirst(int count)
        {
            for (var index = 0; index < tests.Count; index++) tests[index].Outcome = index < count ? "fail" : "pass";
        }

        /// <param name="names">Null for all tests of the mode.</param>
        public List<Test> Select(string mode, string[] names)
        {
            return tests.FindAll(test => test.Mode == mode && (names == null || Array.IndexOf(names, test.Name) >= 0));
        }
    }
}
