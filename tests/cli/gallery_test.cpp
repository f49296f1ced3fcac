// heatskin gallery and fit --report, end to end; what pages look like is for tests/viewer.

#include <filesystem>
#include <string>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "heatskin/io/image.h"

#include "support/run_process.h"
#include "support/temporary_folder.h"

namespace heatskin {
namespace {

namespace fs = std::filesystem;
using testing::runHeatskin;

std::size_t countOf(const std::string& text, const std::string& what) {
  std::size_t count = 0;
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1))
    ++count;
  return count;
}

TEST(Gallery, ShowsWhatFitMadeAndWhatIsBroken) {
  testing::TemporaryFolder folder;
  const std::string asset = folder / "pumpkin.glb", product = folder / "small.glb";
  ASSERT_EQ(runHeatskin({"demo-asset", "-o", asset, "--resolution", "500", "--texture", "256"}).exit_code, 0);
  const auto fit = runHeatskin({"fit", asset, "-o", product, "--kernels", "150", "--steps", "20", "--report",
                                folder / "small_report", "--json", folder / "small.json"});
  ASSERT_EQ(fit.exit_code, 0) << fit.err;
  EXPECT_NE(fit.out.find("report.html"), std::string::npos) << fit.out;

  const std::string page = folder.read("small_report/report.html");
  EXPECT_LT(page.size(), 3'000'000U);
  for (const char* part : {"class=\"stack\"", "<svg", "PSNR of the batches", "Anisotropy of the kernels",
                           "solve", "max_kernels", "fit", "--kernels 150", "Turn it around"})
    EXPECT_NE(page.find(part), std::string::npos) << part;
  EXPECT_EQ(countOf(page, "data-view="), 8U * 4 + 3) << "eight views and the atlas";
  for (const char* name : {"views", "error", "worst", "coverage", "atlas"})
    EXPECT_TRUE(readImage(folder / ("small_report/" + std::string(name) + ".png"))) << name;
  const auto json = nlohmann::json::parse(folder.read("small.json"));
  EXPECT_TRUE(fs::exists(fs::path(json["report"].get<std::string>())));
  EXPECT_EQ(json["pictures"].size(), 5U);

  folder.write("broken.glb", "glTF");
  const auto gallery = runHeatskin({"gallery", folder / ".", "--json", folder / "gallery.json"});
  ASSERT_EQ(gallery.exit_code, 0) << gallery.err;
  EXPECT_EQ(countOf(gallery.err, "warning"), 1U) << gallery.err;
  const auto outcome = nlohmann::json::parse(folder.read("gallery.json"));
  EXPECT_EQ(outcome["products"], 1);
  EXPECT_EQ(outcome["broken"], 1);
  EXPECT_EQ(outcome["left_out"], 1) << "the asset";
  const std::string index = folder.read("index.html");
  EXPECT_NE(index.find("href=\"small_report/report.html\""), std::string::npos);
  EXPECT_NE(index.find("data-key=\"surface_psnr\""), std::string::npos);
}

TEST(Gallery, RefusesWhatItCannotDo) {
  testing::TemporaryFolder folder;
  EXPECT_EQ(runHeatskin({"gallery", folder / "missing"}).exit_code, 3);
  EXPECT_EQ(runHeatskin({"gallery", folder / ".", "-o", folder / "page.txt"}).exit_code, 2);
  EXPECT_EQ(runHeatskin({"gallery"}).exit_code, 2);
  const auto empty = runHeatskin({"gallery", folder / "."});
  EXPECT_EQ(empty.exit_code, 0) << empty.err;
  EXPECT_TRUE(fs::exists(fs::path(folder / "index.html")));
  for (const char* option : {"--open", "--live-port=4000"}) {
    EXPECT_EQ(runHeatskin({"fit", "x.glb", "-o", folder / "y.glb", option}).exit_code, 2) << option;
  }
}

}  // namespace
}  // namespace heatskin
