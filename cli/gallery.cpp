// heatskin gallery: an index page of many products.

#include "heatskin/pipeline/gallery.h"

#include <filesystem>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "heatskin/base/files.h"

#include "cli/verb.h"

namespace heatskin::cli {
namespace {

namespace fs = std::filesystem;

class Gallery : public Verb {
 public:
  bool random() const override { return false; }

  void describe(CLI::App& app) override {
    app.add_option("DIR", folder_, "A folder with products; those in its folders count, too")->required();
    app.add_option("-o,--output", output_, "The page to write (default: DIR/index.html)")
        ->type_name("OUT.html");
    app.add_option("--title", options_.title, "Headline of the page (default: the name of its folder)")
        ->type_name("TEXT");
    app.add_option("--size", options_.thumbnail_size, "Side of the pictures in pixels")
        ->type_name("N")
        ->check(CLI::Range(64, 1024))
        ->capture_default_str();
    app.footer(
        "The page has a picture and the figures of every product, sorts by any figure, searches, and opens "
        "from "
        "disk\n"
        "without a network. Figures of quality and time come from the file that 'fit --json STEM.json' wrote "
        "beside\n"
        "STEM.glb; a report in STEM_report (fit --report) is linked. Files that cannot be opened get a card "
        "with the\n"
        "reason, GLB files without kernels are left out. Up to 200 pictures are part of the page; more lie "
        "beside "
        "it.\n\n"
        "Example:\n"
        "  heatskin gallery products -o products/index.html");
  }

  Result<void> prepare(Session& session) override {
    auto items = galleryItems(folder_);
    if (!items) return items.error();
    items_ = std::move(*items);
    page_ = output_.empty() ? fs::path(folder_) / "index.html" : fs::path(output_);
    session.files.writes(page_, output_.empty() ? "the page" : "-o", ".html");
    for (const GalleryItem& item : items_)
      session.files.reads(item.product, "DIR");
    std::vector<std::string> names;
    fs::path beside;
    for (std::size_t i = 0; i < items_.size(); ++i) {
      const fs::path file = galleryThumbnail(page_, i, items_.size(), options_);
      if (file.empty()) break;
      beside = file.parent_path();
      names.push_back(file.filename().string());
    }
    if (!names.empty()) session.files.writesInto(beside, names, "the pictures");
    return {};
  }

  Result<void> run(Session& session) override {
    Console& console = session.console;
    options_.progress = &console;
    options_.write = [](const fs::path& path, std::span<const std::uint8_t> bytes) {
      return saveBytes(path, bytes);
    };
    const auto outcome = writeGallery(items_, page_, options_);
    if (!outcome) return outcome.error();
    for (const std::string& error : outcome->errors)
      console.warning(error);
    console.heading(oneLine(displayPath(page_)));
    std::vector<std::vector<std::string>> lines = {{"products", fmt::format("{}", outcome->products)}};
    if (outcome->broken > 0) lines.push_back({"not shown", counted(outcome->broken, "file", "files")});
    if (outcome->left_out > 0)
      lines.push_back(
          {"left out", fmt::format("{} without kernels", counted(outcome->left_out, "file", "files"))});
    lines.push_back({"page", humanBytes(static_cast<double>(outcome->page_bytes))});
    console.table(lines);
    Json json = {{"page", displayPath(page_)},        {"products", outcome->products},
                 {"broken", outcome->broken},         {"left_out", outcome->left_out},
                 {"page_bytes", outcome->page_bytes}, {"errors", outcome->errors}};
    return saveJson(console, session.common.json, json);
  }

 private:
  std::string folder_, output_;
  fs::path page_;
  std::vector<GalleryItem> items_;
  GalleryOptions options_;
};

}  // namespace

std::unique_ptr<Verb> makeGallery() {
  return std::make_unique<Gallery>();
}

}  // namespace heatskin::cli
