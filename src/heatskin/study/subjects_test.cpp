#include "heatskin/study/subjects.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "support/temporary_folder.h"

namespace heatskin::study {
namespace {

TEST(Manifest, HasMeshesMethodsSeedsAndOptions) {
  const testing::TemporaryFolder folder;
  folder.write("spot.obj", "");
  const auto subjects = parseManifest(R"(
seeds = [3, 4]
options = ["steps=100"]
[[mesh]]
file = "spot.obj"
set = "low"
vertices = 330
[[mesh]]
resolution = 600
[[method]]
name = "mine"
preset = "compact"
options = ["solves=0"]
)",
                                      folder.path() / "m.toml");
  ASSERT_TRUE(subjects.ok()) << subjects.error().message;
  EXPECT_EQ(subjects->seeds, (std::vector<std::uint64_t>{3, 4}));
  ASSERT_EQ(subjects->meshes.size(), 2u);
  EXPECT_EQ(subjects->meshes[0].name, "spot");
  EXPECT_EQ(subjects->meshes[0].file, folder.path() / "spot.obj");
  EXPECT_EQ(subjects->meshes[0].vertices, 330);
  EXPECT_EQ(subjects->meshes[1].name, "pumpkin 600");
  EXPECT_EQ(subjects->methods[0].title, "mine");
  const auto config = configOf(subjects->methods[0], subjects->options, 7);
  ASSERT_TRUE(config.ok());
  EXPECT_EQ(config->train.steps, 100);
  EXPECT_EQ(config->train.solves, 0);
  EXPECT_EQ(config->train.seed, 7u);
}

TEST(Manifest, FiveFramesAreTheStudysChoiceUnlessAskedFor) {
  const auto of = [](std::string_view text) { return parseManifest(text, "m.toml")->five_frame_samples; };
  EXPECT_EQ(of("seeds = [1]"), std::nullopt);
  EXPECT_EQ(of("five_frame_samples = 0"), 0);
  EXPECT_EQ(of("five_frame_samples = 32"), 32);
}

TEST(Manifest, ErrorsNameFileAndLine) {
  const auto problem = [](std::string_view text) {
    const auto subjects = parseManifest(text, "m.toml");
    return subjects ? std::string() : subjects.error().message;
  };
  EXPECT_EQ(problem("\nseed = [1]"), "m.toml, line 2: there is no key 'seed'");
  EXPECT_EQ(problem("seeds = [1, -1]"), "m.toml, line 1: 'seeds' is a list of whole numbers, not negative");
  EXPECT_EQ(problem("seeds = 3"), "m.toml, line 1: 'seeds' is a list of whole numbers, not negative");
  EXPECT_EQ(problem("five_frame_samples = -1"), "m.toml, line 1: 'five_frame_samples' is 0 .. 4096");
  EXPECT_EQ(problem("[[mesh]]\nresolution = 3"), "m.toml, line 2: 'resolution' is 500 .. 1000000");
  EXPECT_NE(problem("[[mesh]]\nfile = 'gone.obj'").find("there is no file"), std::string::npos);
  EXPECT_NE(problem("[[method]]\nname = 'x'\npreset = 'none'").find("line 1"), std::string::npos);
  EXPECT_NE(problem("[[method]]\nname = 'x'\noptions = ['stepz=3']").find("stepz"), std::string::npos);
  EXPECT_NE(problem("[[method]]\nname = 'x'\n[[method]]\nname = 'x'").find("two methods"), std::string::npos);
  EXPECT_NE(problem("= 3").find("m.toml, line 1"), std::string::npos);
  EXPECT_NE(problem("mesh = 3").find("[[mesh]]"), std::string::npos);
}

TEST(MeshesIn, FindsFilesAndFoldersNamedAfterTheirMesh) {
  const testing::TemporaryFolder folder;
  std::filesystem::create_directories(folder / "spot");
  std::filesystem::create_directories(folder / "variants");
  for (const char* name : {"fox.glb", "readme.md", "spot/spot_triangulated.obj",
                           "spot/spot_quadrangulated.obj", "variants/fox_draco.glb"})
    folder.write(name, "");
  const auto meshes = meshesIn(folder.path());
  ASSERT_EQ(meshes.size(), 2u);
  EXPECT_EQ(meshes[0].name, "fox");
  EXPECT_EQ(meshes[1].file, folder.path() / "spot" / "spot_triangulated.obj");
  EXPECT_TRUE(meshesIn({}).empty());
}

TEST(Specs, SurviveTheWayThroughJson) {
  MeshSpec mesh;
  mesh.name = "a";
  mesh.set = "low";
  mesh.resolution = 700;
  mesh.vertices = 90;
  const auto json = toJson(mesh);
  ASSERT_TRUE(json.ok());
  const MeshSpec back = meshFromJson(*json);
  EXPECT_EQ(back.name, "a");
  EXPECT_EQ(back.set, "low");
  EXPECT_EQ(back.resolution, 700);
  EXPECT_EQ(back.vertices, 90);
  for (const MethodSpec& method : paperMethods()) {
    const MethodSpec same = methodFromJson(toJson(method));
    EXPECT_EQ(same.options, method.options);
    EXPECT_TRUE(configOf(method, {}, 0).ok()) << method.name;
  }
}

// The same file at another place is the same mesh; another content is not.
TEST(Specs, AFileIsItsContent) {
  const testing::TemporaryFolder folder;
  const char* triangle = "v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n";
  MeshSpec a, b, c;
  a.file = folder.write("a.obj", triangle);
  b.file = folder.write("b.obj", triangle);
  c.file = folder.write("c.obj", "v 0 0 0\nv 1 0 0\nv 0 2 0\nf 1 2 3\n");
  ASSERT_TRUE(toJson(a).ok()) << toJson(a).error().message;
  EXPECT_EQ((*toJson(a))["content"], (*toJson(b))["content"]);
  EXPECT_NE((*toJson(a))["content"], (*toJson(c))["content"]);
}

}  // namespace
}  // namespace heatskin::study
