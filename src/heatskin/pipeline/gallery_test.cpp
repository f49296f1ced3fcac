#include "heatskin/pipeline/gallery.h"

#include <filesystem>
#include <fstream>
#include <limits>
#include <sstream>
#include <string>

#include <gtest/gtest.h>

#include "heatskin/io/glb_writer.h"
#include "heatskin/pipeline/gallery_page.h"
#include "heatskin/pipeline/test_jobs.h"

#include "support/temporary_folder.h"

namespace heatskin {
namespace {

namespace fs = std::filesystem;

std::string textOf(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

std::size_t occurrences(const std::string& text, const std::string& what) {
  std::size_t count = 0;
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1))
    ++count;
  return count;
}

class GalleryTest : public ::testing::Test {
 protected:
  void SetUp() override {
    FitJob job = testing::smallJob();
    job.config.train.steps = 5;
    job.evaluate = false;
    const auto subject = openAssetToFit(testing::coloredSphere(), Method::kLocal, testing::quietly());
    ASSERT_TRUE(subject);
    auto outcome = fitProduct(*subject, job);
    ASSERT_TRUE(outcome) << outcome.error().message;
    product_ = std::string(outcome->bytes.begin(), outcome->bytes.end());
    options_.thumbnail_size = 48;
  }

  fs::path add(const std::string& name, const std::string& content) {
    const fs::path path = fs::path(folder_ / name);
    fs::create_directories(path.parent_path());
    std::ofstream(path, std::ios::binary) << content;
    return path;
  }

  GalleryOutcome write(std::size_t expected_items) {
    const auto items = galleryItems(folder_ / ".");
    EXPECT_TRUE(items);
    EXPECT_EQ(items->size(), expected_items);
    const auto outcome = writeGallery(*items, folder_ / "index.html", options_);
    EXPECT_TRUE(outcome) << outcome.error().message;
    html_ = textOf(folder_ / "index.html");
    return *outcome;
  }

  testing::TemporaryFolder folder_;
  std::string product_, html_;
  GalleryOptions options_;
};

TEST_F(GalleryTest, BrokenFilesAreCardsAndPlainOnesAreLeftOut) {
  add("a.glb", product_);
  add("inner/B & <b>.GLB", product_);
  add("broken.glb", "glTF, but no more");
  add("cut.glb", product_.substr(0, product_.size() / 2));
  add("empty.glb", "");
  add(".hidden/c.glb", product_);
  add("notes.txt", "nothing");
  const auto plain = encodeGlb(testing::coloredSphere());
  ASSERT_TRUE(plain);
  add("plain.glb", std::string(plain->begin(), plain->end()));
  add("a.json", R"({"surface_psnr": 35.25, "view_psnr": null, "optimise_s": "soon"})");
  add("broken.json", "{]");
  add("a_report/report.html", "<p>");

  const GalleryOutcome outcome = write(6);
  EXPECT_EQ(outcome.products, 2U);
  EXPECT_EQ(outcome.broken, 3U);
  EXPECT_EQ(outcome.left_out, 1U);
  ASSERT_EQ(outcome.errors.size(), 3U);
  EXPECT_TRUE(outcome.errors[0].starts_with("broken.glb: ")) << outcome.errors[0];
  EXPECT_EQ(occurrences(html_, "<li class=\"card\""), 5U);
  EXPECT_EQ(occurrences(html_, "data:image/webp;base64,"), 2U);
  EXPECT_EQ(occurrences(html_, "<p class=\"error\">"), 3U);
  EXPECT_NE(html_.find("35.25 dB"), std::string::npos);
  EXPECT_NE(html_.find("href=\"a_report/report.html\""), std::string::npos);
  EXPECT_NE(html_.find("inner/B &amp; &lt;b&gt;.GLB"), std::string::npos);
  EXPECT_NE(html_.find("href=\"inner/B%20%26%20%3Cb%3E.GLB\""), std::string::npos);
  EXPECT_EQ(html_.find("<b>"), std::string::npos);
  EXPECT_EQ(html_.find("http"), std::string::npos) << "refers to a network";
  const std::string first = html_;
  write(6);
  EXPECT_EQ(html_, first) << "the same folder gives the same page";
}

TEST_F(GalleryTest, ManyPicturesLieBesideThePage) {
  options_.most_embedded = 1;
  add("a.glb", product_);
  add("b.glb", product_);
  write(2);
  EXPECT_EQ(html_.find("data:image"), std::string::npos);
  EXPECT_NE(html_.find("src=\"index_thumbnails/000001.webp\""), std::string::npos);
  EXPECT_EQ(textOf(folder_ / "index_thumbnails/000000.webp").substr(0, 4), "RIFF");
}

TEST_F(GalleryTest, CallersKnowMore) {
  std::vector<GalleryItem> items(2);
  items[0].product = add("a.glb", product_);
  items[0].name = "Anna's";
  items[0].figures = {{"seconds", "seconds", 12, "12 s"}, {"kernels", "kernels", 1, "one"}};
  items[1].product = folder_ / "never.glb";
  items[1].error = "out of \"memory\"";
  items[1].figures = {{"attempts", "attempts", std::numeric_limits<double>::quiet_NaN(), "?"}};
  options_.title = "<Batch>";
  const auto outcome = writeGallery(items, folder_ / "page.html", options_);
  ASSERT_TRUE(outcome);
  const std::string html = textOf(folder_ / "page.html");
  EXPECT_NE(html.find("<h1>&lt;Batch&gt;</h1>"), std::string::npos);
  EXPECT_NE(html.find("data-key=\"seconds\" data-value=\"12\">12 s"), std::string::npos);
  EXPECT_NE(html.find(">one</dd>"), std::string::npos);
  EXPECT_NE(html.find("out of &quot;memory&quot;"), std::string::npos);
  EXPECT_EQ(html.find("nan"), std::string::npos) << "sorts as a number";
}

TEST_F(GalleryTest, LargeFilesAreNotOpened) {
  options_.most_bytes = 100;
  add("a.glb", product_);
  const GalleryOutcome outcome = write(1);
  EXPECT_EQ(outcome.broken, 1U);
  EXPECT_NE(outcome.errors.at(0).find("too large"), std::string::npos);
}

TEST(Gallery, LinksAreRelativeAndEncoded) {
  EXPECT_EQ(relativeLink("/a/b/index.html", "/a/b/c d.glb"), "c%20d.glb");
  EXPECT_EQ(relativeLink("/a/b/index.html", "/a/x/\xc3\xa4#?.glb"), "../x/%C3%A4%23%3F.glb");
  EXPECT_EQ(relativeLink("/a/b/index.html", ""), "");
  EXPECT_EQ(relativeLink("/a/index.html", "/a/javascript:alert(1).glb"), "javascript%3Aalert%281%29.glb");
}

TEST(Gallery, AFolderThatIsNotThereIsAnError) {
  EXPECT_FALSE(galleryItems("/nowhere/at/all"));
}

}  // namespace
}  // namespace heatskin
