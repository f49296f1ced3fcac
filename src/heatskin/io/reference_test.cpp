#include "heatskin/io/reference.h"

#include <filesystem>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "heatskin/base/rng.h"

#include "support/gltf_builder.h"
#include "support/temporary_folder.h"

namespace heatskin {
namespace {

namespace fs = std::filesystem;

class ResolveReference : public ::testing::Test {
 protected:
  void SetUp() override {
    fs::create_directories(folder_.path() / "asset" / "textures");
    folder_.write("secret.png", "secret");
    folder_.write("asset/tex.png", "tex");
    folder_.write("asset/textures/名前 é.png", "unicode");
  }

  fs::path asset() const { return folder_.path() / "asset"; }

  std::string refusal(std::string_view reference) const {
    const Result<fs::path> path = resolveReference(asset(), reference);
    return path ? "accepted as " + path->string() : path.error().message;
  }

  testing::TemporaryFolder folder_;
};

TEST_F(ResolveReference, FindsFilesInAndBelowTheFolder) {
  for (const char* reference : {"tex.png", "./tex.png", "textures/../tex.png", "textures/名前 é.png",
                                "no_such_folder/no_such_file.png", "..png", "...", "a..b/c"}) {
    const Result<fs::path> path = resolveReference(asset(), reference);
    ASSERT_TRUE(path) << path.error().message;
    EXPECT_TRUE(path->string().starts_with(fs::canonical(asset()).string() + "/")) << *path;
  }
  EXPECT_EQ(*resolveReference(asset(), "textures/../tex.png"), fs::canonical(asset() / "tex.png"));
}

TEST_F(ResolveReference, RefusesEverythingOutside) {
  const std::string leaves = "path leaves the asset's folder";
  const std::string relative = "only relative paths and data URIs are supported";
  EXPECT_EQ(refusal("../secret.png"), "'../secret.png': " + leaves);
  for (const char* reference : {"..", "textures/../../secret.png", "./../secret.png",
                                "a/../../asset/../secret.png", "../asset/tex.png"}) {
    EXPECT_NE(refusal(reference).find(leaves), std::string::npos) << refusal(reference);
  }
  for (const char* reference : {"/etc/passwd", "//server/share", "http://example.org/a.png",
                                "file:///dev/zero", "C:/windows/a.png", "c:a.png", "FILE:a", "x+y-z.1:a"}) {
    EXPECT_NE(refusal(reference).find(relative), std::string::npos) << refusal(reference);
  }
  for (const char* reference : {"..\\secret.png", "textures\\a.png", "\\\\server\\share"}) {
    EXPECT_NE(refusal(reference).find("backslash"), std::string::npos) << refusal(reference);
  }
  EXPECT_NE(refusal("").find("empty"), std::string::npos);
  EXPECT_NE(refusal(".").find("folder, not a file"), std::string::npos);
  EXPECT_NE(refusal(std::string_view("a\0b", 3)).find("NUL"), std::string::npos);
}

TEST_F(ResolveReference, SymbolicLinksMustStayInside) {
  fs::create_symlink("../secret.png", asset() / "out.png");
  fs::create_symlink("..", asset() / "up");
  fs::create_symlink("tex.png", asset() / "in.png");
  EXPECT_NE(refusal("out.png").find("leaves"), std::string::npos);
  EXPECT_NE(refusal("up/secret.png").find("leaves"), std::string::npos);
  EXPECT_NE(refusal("up/missing.png").find("leaves"), std::string::npos);
  const Result<fs::path> inside = resolveReference(asset(), "in.png");
  ASSERT_TRUE(inside);
  EXPECT_EQ(*inside, fs::canonical(asset() / "tex.png"));
  // A folder that itself is reached over a link is fine.
  fs::create_directory_symlink("asset", folder_.path() / "alias");
  EXPECT_TRUE(resolveReference(folder_.path() / "alias", "tex.png"));
}

TEST_F(ResolveReference, ReadsWithTheNameTheAssetUses) {
  const Result<std::vector<std::uint8_t>> bytes = readReference(asset(), "tex.png");
  ASSERT_TRUE(bytes);
  EXPECT_EQ(std::string(bytes->begin(), bytes->end()), "tex");
  const auto missing = readReference(asset(), "missing.png");
  ASSERT_FALSE(missing);
  EXPECT_TRUE(missing.error().message.starts_with("'missing.png': cannot be opened"))
      << missing.error().message;
}

TEST(QuoteForMessage, IsOneShortPrintableLine) {
  EXPECT_EQ(quoteForMessage("a b"), "'a b'");
  EXPECT_EQ(quoteForMessage("a\nb\x1b[31m\xff"), "'a?b?[31m?'");
  EXPECT_EQ(quoteForMessage("名"), "'名'");
  EXPECT_LT(quoteForMessage(std::string(100000, 'x')).size(), 200u);
}

TEST(RepairUtf8, ReplacesExactlyWhatIsBroken) {
  for (const char* text : {"", "plain", "é", "名前", "\xF0\x9F\x8E\x83", "\xED\x9F\xBF", "\xEE\x80\x80"}) {
    EXPECT_EQ(repairUtf8(text), text);
  }
  const std::string r = "\xEF\xBF\xBD";
  EXPECT_EQ(repairUtf8("a\xFFz"), "a" + r + "z");
  EXPECT_EQ(repairUtf8("\xC3"), r);                          // cut
  EXPECT_EQ(repairUtf8("\xC0\xAF"), r + r);                  // overlong
  EXPECT_EQ(repairUtf8("\xED\xA0\x80"), r + r + r);          // surrogate
  EXPECT_EQ(repairUtf8("\xF4\x90\x80\x80"), r + r + r + r);  // beyond U+10FFFF
}

TEST(PercentDecode, DecodesBytesAndRefusesHalves) {
  EXPECT_EQ(*percentDecode("a%20b"), "a b");
  EXPECT_EQ(*percentDecode("%E5%90%8D.png"), "名.png");
  EXPECT_EQ(*percentDecode("plain+text"), "plain+text");
  EXPECT_FALSE(percentDecode("100%"));
  EXPECT_FALSE(percentDecode("%4"));
  EXPECT_FALSE(percentDecode("%zz"));
}

TEST(DataUri, RoundTripsEveryLength) {
  const RandomStream random(3, 3);
  for (std::size_t length = 0; length < 70; ++length) {
    std::vector<std::uint8_t> bytes(length);
    for (std::size_t i = 0; i < length; ++i) {
      bytes[i] = static_cast<std::uint8_t>(random.below(100 * length + i, 256));
    }
    const auto decoded = decodeDataUri("data:application/octet-stream;base64," + testing::base64(bytes));
    ASSERT_TRUE(decoded) << length;
    EXPECT_EQ(*decoded, bytes);
  }
}

TEST(DataUri, IsStrict) {
  for (const char* text : {"QUJ", "QUJDR===", "QU=D", "Q===", "QUI=QUI=", "QUI =", "QUJ\n", "QUJ-", "QUJ_",
                           "QUJ=", "QR==", "!!!!"}) {
    EXPECT_FALSE(decodeDataUri(std::string("data:;base64,") + text)) << text;
  }
  EXPECT_TRUE(decodeDataUri("data:;base64,QUI="));
  EXPECT_FALSE(decodeDataUri("data:text/plain,hello"));
  EXPECT_FALSE(decodeDataUri("data:;base64"));
  EXPECT_FALSE(decodeDataUri("http://example.org"));
  EXPECT_TRUE(isDataUri("DATA:x"));
  EXPECT_FALSE(isDataUri("dat"));
}

}  // namespace
}  // namespace heatskin
