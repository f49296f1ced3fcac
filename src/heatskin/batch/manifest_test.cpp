#include "heatskin/batch/manifest.h"

#include <map>
#include <string>

#include <gtest/gtest.h>

#include "support/temporary_folder.h"

namespace heatskin::batch {
namespace {

using heatskin::testing::TemporaryFolder;

class ManifestFile : public ::testing::Test {
 protected:
  Manifest read(const std::string& text, std::string_view defaults = {}) {
    const auto manifest = readManifest(folder_.write("m.jsonl", text), folder_.path() / "out", defaults);
    EXPECT_TRUE(manifest) << manifest.error().message;
    return manifest ? *manifest : Manifest();
  }
  /// Why the only line cannot be used.
  std::string why(const std::string& line) {
    const Manifest manifest = read(line + "\n");
    EXPECT_EQ(manifest.assets.size(), 0u) << line;
    return manifest.bad.size() == 1 ? manifest.bad[0].error : "no bad line";
  }
  TemporaryFolder folder_;
};

TEST_F(ManifestFile, HasAnAssetInEachLine) {
  const Manifest manifest = read(
      "\xEF\xBB\xBF{\"input\": \"a.glb\"}\r\n"
      "\n"
      "{\"output\": \"props/b.glb\", \"input\": \"../b.obj\", \"cost\": 2.5, \"memory\": 1000000}\n"
      "{\"input\": \"/abs/c.ply\", \"output\": \"c\"}");
  ASSERT_EQ(manifest.assets.size(), 3u);
  EXPECT_TRUE(manifest.bad.empty());
  EXPECT_EQ(manifest.assets[0].output, "a");
  EXPECT_EQ(manifest.assets[0].file, folder_.path() / "a.glb");
  EXPECT_EQ(manifest.assets[1].line, 3u);
  EXPECT_EQ(manifest.assets[1].output, "props/b");
  EXPECT_EQ(manifest.assets[1].file, folder_.path().parent_path() / "b.obj");
  EXPECT_EQ(manifest.assets[1].cost, 2.5);
  EXPECT_EQ(manifest.assets[1].memory, 1e6);
  EXPECT_EQ(manifest.assets[2].file, "/abs/c.ply");
}

// The same options in another order, or from the defaults, are the same options.
TEST_F(ManifestFile, SharesOptions) {
  const Manifest manifest = read(
      "{\"input\": \"a.glb\", \"options\": {\"steps\": 3, \"preset\": \"draft\"}}\n"
      "{\"input\": \"b.glb\", \"options\": {\"preset\": \"draft\", \"steps\": 3}}\n"
      "{\"input\": \"c.glb\", \"options\": {\"preset\": \"draft\"}}\n"
      "{\"input\": \"d.glb\", \"options\": {\"steps\": 4}}\n",
      "{\"steps\": 3}");
  ASSERT_EQ(manifest.assets.size(), 4u);
  EXPECT_EQ(manifest.assets[0].options, manifest.assets[1].options);
  EXPECT_EQ(manifest.assets[0].options, manifest.assets[2].options);
  EXPECT_NE(manifest.assets[0].options->identity(), manifest.assets[3].options->identity());
  EXPECT_EQ(manifest.assets[0].options->identity(), "@preset=draft\nsteps=3\n");
}

TEST_F(ManifestFile, TakesOptionsOfFitsAndWhatIsAroundThem) {
  const Manifest one = read(
      "{\"input\": \"a.glb\", \"options\": {\"rates.color\": 0.01, \"max-bytes\": \"100k\", \"no_eval\": "
      "true, "
      "\"extras\": false, \"channels\": [\"base_color\", \"roughness:0.5\"], \"config\": \"c.toml\"}}\n");
  ASSERT_EQ(one.assets.size(), 1u);
  const LineOptions& options = *one.assets[0].options;
  std::map<std::string, std::string> values;
  for (const LineOption& option : options.options) {
    values[option.key] = option.value;
    EXPECT_EQ(option.of_fit, option.key == "rates.color") << option.key;
  }
  const std::map<std::string, std::string> expected = {{"channels", "base_color,roughness:0.5"},
                                                       {"config", folder_ / "c.toml"},
                                                       {"max_bytes", "100k"},
                                                       {"no_eval", ""},
                                                       {"rates.color", "0.01"}};
  EXPECT_EQ(values, expected);
  ASSERT_EQ(options.files.size(), 1u);
}

TEST_F(ManifestFile, SaysWhatIsWrongWithALine) {
  EXPECT_NE(why("not json").find("not a JSON object"), std::string::npos);
  EXPECT_NE(why("[1, 2]").find("not a JSON object"), std::string::npos);
  EXPECT_NE(why("{\"input\": \"a\xff.glb\"}").find("not a JSON object"), std::string::npos) << "broken UTF-8";
  EXPECT_NE(why("{\"input\": \"a.glb\", \"cost\": NaN}").find("not a JSON object"), std::string::npos);
  EXPECT_NE(why("{\"input\": \"a.glb\", \"cost\": -1}").find("positive"), std::string::npos);
  EXPECT_NE(why("{\"output\": \"a\"}").find("no \"input\""), std::string::npos);
  EXPECT_NE(why("{\"input\": 3}").find("no \"input\""), std::string::npos);
  EXPECT_NE(why("{\"input\": \"a\\u0000b.glb\"}").find("control"), std::string::npos);
  EXPECT_NE(why("{\"input\": \"a.glb\", \"outputs\": \"b\"}").find("no key 'outputs'"), std::string::npos);
  EXPECT_NE(why("{\"input\": \"a.glb\", \"options\": 3}").find("not an object"), std::string::npos);
  EXPECT_EQ(why("{\"input\": \"a.glb\", \"options\": {\"kernel\": 3}}"),
            "there is no option 'kernel'; did you mean 'kernels'?");
  EXPECT_NE(why("{\"input\": \"a.glb\", \"options\": {\"no_eval\": 1}}").find("true or false"),
            std::string::npos);
  EXPECT_NE(why("{\"input\": \"a.glb\", \"options\": {\"steps\": {}}}").find("needs a number"),
            std::string::npos);
  EXPECT_NE(why("{\"input\": \"a.glb\", \"options\": {\"max_kernels\": 1e999}}").find("JSON"),
            std::string::npos);
  EXPECT_NE(why("{\"input\": \"" + std::string(kMaxLineBytes, 'a') + "\"}").find("longer"),
            std::string::npos);
}

TEST_F(ManifestFile, KeepsOutputsInTheirFolderAndApart) {
  for (const char* name : {"../a", "a/../../b", "/a", "a//b", ".hidden", "a/.b", "a\\\\b", "", "a/", ".",
                           "rows/a", "a.glb/b", "a\\nb"})
    EXPECT_NE(why(std::string("{\"input\": \"i.glb\", \"output\": \"") + name + "\"}").find("\"output\""),
              std::string::npos)
        << name;
  EXPECT_EQ(whyNoOutputName("a/b c/d-é.v2"), "");
  EXPECT_EQ(whyNoOutputName("rows"), "");
  EXPECT_NE(whyNoOutputName(std::string(201, 'a')), "");

  const Manifest manifest = read(
      "{\"input\": \"a.glb\", \"output\": \"x\"}\n"
      "{\"input\": \"b.glb\", \"output\": \"x.glb\"}\n"
      "{\"input\": \"out/x.glb\", \"output\": \"y\"}\n");
  ASSERT_EQ(manifest.assets.size(), 1u);
  ASSERT_EQ(manifest.bad.size(), 2u);
  EXPECT_EQ(manifest.bad[0].error, "\"output\" is the same as in line 1");
  EXPECT_EQ(manifest.bad[1].error, "the input would be overwritten by the output of line 1");
}

TEST_F(ManifestFile, RefusesWhatIsNone) {
  EXPECT_FALSE(readManifest(folder_ / "missing.jsonl", folder_.path()));
  EXPECT_FALSE(readManifest(folder_.path(), folder_.path()));
  EXPECT_FALSE(readManifest(folder_.write("empty.jsonl", "\n \n"), folder_.path()));
  const std::string one = folder_.write("one.jsonl", "{\"input\": \"a.glb\"}\n");
  for (const char* defaults : {"[]", "x", "{\"kernel\": 1}"}) {
    const auto refused = readManifest(one, folder_.path(), defaults);
    ASSERT_FALSE(refused) << defaults;
    EXPECT_EQ(refused.error().kind, ErrorKind::kUsage);
  }
}

}  // namespace
}  // namespace heatskin::batch
