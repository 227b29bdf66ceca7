using System.Collections.Generic;
using NUnit.Framework;

namespace UnityMcp.Tests
{
    [TestFixture]
    public class ProjectToolTests
    {
        FakeProject project;
        List<Tool> tools;

        [SetUp]
        public void SetUp()
        {
            project = new FakeProject();
            tools = new List<Tool>(new ProjectTools(project).All);
        }

        Json Call(string name, string parameters, int maxMessageBytes = 1048576)
        {
            var call = new ToolCall { RequestId = "r", Params = JsonReader.Parse(parameters), MaxMessageBytes = maxMessageBytes };
            return tools.Find(tool => tool.Name == name).Prepare(call)()["result"];
        }

        string Failure(string name, string parameters)
        {
            return Assert.Throws<FailedException>(() => Call(name, parameters)).Message;
        }

        [Test]
        public void Scenes_are_listed()
        {
            project.Open.Add(new OpenScene { Path = "", Name = "", IsDirty = true });
            project.Build.Add(new BuildScene { Path = "Assets/B.unity", IsEnabled = true });
            Assert.AreEqual("{\"open\":[{\"path\":\"Assets/A.unity\",\"name\":\"A\",\"is_active\":true,\"is_dirty\":false},"
                + "{\"path\":\"\",\"name\":\"\",\"is_active\":false,\"is_dirty\":true}],\"build\":[{\"path\":\"Assets/B.unity\",\"enabled\":true}]}",
                Call("list_scenes", "{}").ToString());
        }

        [Test]
        public void The_selection_is_listed()
        {
            Assert.AreEqual("{\"count\":0,\"objects\":[]}", Call("get_selection", "{}").ToString());
            project.Selected.Add(new SelectedObject { Name = "Player", Path = "/Player", Type = "GameObject" });
            Assert.AreEqual("{\"count\":1,\"objects\":[{\"name\":\"Player\",\"path\":\"/Player\",\"type\":\"GameObject\"}]}", Call("get_selection", "{}").ToString());
        }

        [Test]
        public void A_large_selection_and_many_scenes_fit_into_a_frame()
        {
            for (var number = 0; number < 5000; number++)
            {
                project.Selected.Add(new SelectedObject { Name = new string('\u0001', 9000), Path = "/x", Type = "T" });
                project.Build.Add(new BuildScene { Path = "Assets/" + number + ".unity" });
            }
            Assert.AreEqual(5000, Call("get_selection", "{}").Integer("count", 0));
            Assert.Less(JsonWriter.Bytes(Call("get_selection", "{}", 16384).ToString()), 16384);
            Assert.Less(JsonWriter.Bytes(Call("list_scenes", "{}", 16384).ToString()), 16384);
            Assert.AreEqual(Limits.ListedMax, Call("list_scenes", "{}")["build"].Items.Count);
        }

        [Test]
        public void A_scene_is_opened()
        {
            Assert.AreEqual("{\"path\":\"Assets/B.unity\"}", Call("open_scene", "{\"path\":\"Assets/B.unity\"}").ToString());
            Call("open_scene", "{\"path\":\"Assets/B.unity\",\"additive\":true}");
            Assert.AreEqual("open Assets/B.unity,open Assets/B.unity additive", string.Join(",", project.Calls.ToArray()));
        }

        [Test]
        public void Unsaved_changes_of_any_open_scene_stop_it_and_the_scene_is_named()
        {
            project.Open.Add(new OpenScene { Path = "Assets/Other.unity", Name = "Other", IsDirty = true });
            StringAssert.Contains("Assets/Other.unity has unsaved changes", Failure("open_scene", "{\"path\":\"Assets/B.unity\"}"));
            Assert.AreEqual(0, project.Calls.Count);
            Call("open_scene", "{\"path\":\"Assets/B.unity\",\"additive\":true}");
            Assert.AreEqual(1, project.Calls.Count, "an additive one keeps them open");
        }

        [Test]
        public void A_scene_that_was_never_saved_is_named_too()
        {
            project.Open[0] = new OpenScene { Path = "", Name = "", IsDirty = true };
            StringAssert.Contains("\"Untitled\" has unsaved changes", Failure("open_scene", "{\"path\":\"Assets/B.unity\"}"));
        }

        [Test]
        public void A_missing_scene_and_Play_Mode_stop_it()
        {
            StringAssert.Contains("no scene Assets/No.unity", Failure("open_scene", "{\"path\":\"Assets/No.unity\"}"));
            project.IsPlaying = true;
            StringAssert.Contains("Play Mode", Failure("open_scene", "{\"path\":\"Assets/B.unity\",\"additive\":true}"));
            Assert.AreEqual(0, project.Calls.Count);
        }

        [Test]
        public void Assets_are_sorted_and_each_is_listed_once()
        {
            project.Assets.Clear();
            project.Assets.AddRange(new[] { "Assets/b", "Assets/B", "Assets/a", "Assets/b", "", null });
            var answer = Call("list_assets", "{\"query\":\"t:X\",\"folder\":\"Assets\"}");
            Assert.AreEqual("find [t:X] in [Assets]", project.Calls[0]);
            Assert.AreEqual("Assets/B,Assets/a,Assets/b", Paths(answer));
            Assert.AreEqual(3, answer.Integer("count", 0));
            Assert.IsFalse(answer["truncated"].AsBool.Value);
            Assert.AreEqual("{\"path\":\"Assets/B\",\"type\":\"T\",\"guid\":\"guid of Assets/B\"}", answer["assets"].Items[0].ToString());
        }

        static string Paths(Json answer)
        {
            var paths = new List<string>();
            foreach (var asset in answer["assets"].Items) paths.Add(asset.Text("path"));
            return string.Join(",", paths.ToArray());
        }

        [Test]
        public void Pages_of_assets_leave_out_nothing_and_ask_Unity_for_the_listed_ones_only()
        {
            project.Assets.Clear();
            project.Assets.AddRange(new[] { "Assets/c", "Assets/a", "Assets/b" });
            var first = Call("list_assets", "{\"max_entries\":2}");
            Assert.AreEqual("Assets/a,Assets/b", Paths(first));
            Assert.IsTrue(first["truncated"].AsBool.Value);
            Assert.IsFalse(project.Calls.Contains("type Assets/c"));
            var second = Call("list_assets", "{\"max_entries\":2,\"after\":\"Assets/b\"}");
            Assert.AreEqual("Assets/c", Paths(second));
            Assert.IsFalse(second["truncated"].AsBool.Value);
        }

        [Test]
        public void The_order_is_that_of_the_server_even_for_emoji()
        {
            var paths = new List<string> { "\U0001F600", "\uFF01", "\uD7FF", "a", "ab", "\U0001F601" };
            paths.Sort(PathOrder.Instance);
            Assert.AreEqual("a ab \uD7FF \uFF01 \U0001F600 \U0001F601", string.Join(" ", paths.ToArray()));
        }

        [Test]
        public void Assets_beyond_the_frame_are_left_for_the_next_page()
        {
            project.Assets.Clear();
            for (var number = 100; number < 400; number++) project.Assets.Add("Assets/" + number + new string('x', 200));
            var answer = Call("list_assets", "{\"max_entries\":500}", 16384);
            Assert.Less(JsonWriter.Bytes(answer.ToString()), 16384);
            Assert.Greater(answer.Integer("count", 0), 10);
            Assert.IsTrue(answer["truncated"].AsBool.Value);
        }

        [TestCase("Assets/", "Assets")]
        [TestCase("Assets\\\\", "Assets")]
        [TestCase("/", "")]
        public void The_form_of_a_folder_does_not_matter(string folder, string asked)
        {
            Call("list_assets", "{\"folder\":\"" + folder + "\"}");
            Assert.AreEqual("find [] in [" + asked + "]", project.Calls[0]);
        }

        [Test]
        public void A_missing_folder_is_named()
        {
            StringAssert.Contains("no folder Asset ", Failure("list_assets", "{\"folder\":\"Asset\"}"));
        }
    }
}
