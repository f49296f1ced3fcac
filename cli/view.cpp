// heatskin view: products in a web browser.

#include <chrono>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "heatskin/base/files.h"
#include "heatskin/viewing/page.h"
#include "heatskin/viewing/server.h"

#include "cli/browser.h"
#include "cli/interrupt.h"
#include "cli/verb.h"

namespace heatskin::cli {
namespace {

class View : public Verb {
 public:
  bool random() const override { return false; }

  void describe(CLI::App& app) override {
    app.add_option("FILES", files_, "Products, or assets (GLB, glTF, OBJ, PLY)")
        ->required()
        ->expected(1, 1000);
    app.add_option(
           "--reference", references_,
           "What the products were fitted to, to compare with: once for each of FILES, in their order")
        ->type_name("ASSET")
        ->expected(1)
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
    app.add_option("--port", port_, "Port of the server; 0: one that is free")->check(CLI::Range(0, 65535));
    app.add_flag("--open", open_, "Open the page in the system's browser");
    app.add_option("--export", folder_, "Write page and files into a folder for any web server, and end")
        ->type_name("DIR");
    app.add_option("--single", single_, "Write one page that holds everything and opens from disk, and end")
        ->type_name("OUT.html");
    app.footer(
        "Prints the address of a page that draws the kernels themselves, and serves it to this machine alone "
        "until Ctrl-C.\n"
        "The page needs a browser with WebGL2, and format 2 products of the method 'local' with charts (the "
        "default).\n\n"
        "Example:\n"
        "  heatskin view model_fit.glb --reference model.glb --open\n"
        "  heatskin view model_fit.glb --reference model.glb --single model.html");
  }

  Result<void> prepare(Session& session) override {
    if (references_.size() > files_.size())
      return usageError(fmt::format("--reference is given {} times for {}", references_.size(),
                                    counted(files_.size(), "file", "files")));
    if (port_ != 0 && (!folder_.empty() || !single_.empty()))
      return usageError("--port has no meaning with --export or --single");
    if (open_ && (!folder_.empty() || !single_.empty()))
      return usageError("--open has no meaning with --export or --single");
    for (const std::string& file : files_)
      session.files.reads(file, "FILES");
    for (const std::string& file : references_)
      session.files.reads(file, "--reference");
    if (!single_.empty()) session.files.writes(single_, "--single", ".html");
    if (!folder_.empty()) {
      std::vector<std::string> names;
      for (std::size_t i = 0; i < files_.size() + references_.size(); ++i)
        names.push_back(fmt::format("{}.glb", i));
      session.files.writesInto(folder_, {"index.html"}, "--export");
      session.files.writesInto(std::filesystem::path(folder_) / "files", names, "--export");
    }
    return {};
  }

  Result<void> run(Session& session) override {
    std::vector<ViewedFile> viewed;
    for (std::size_t i = 0; i < files_.size(); ++i) {
      auto shown = readForViewing(files_[i]);
      if (!shown) return shown.error();
      viewed.push_back({std::move(*shown), nullptr});
      if (i >= references_.size()) continue;
      auto original = readForViewing(references_[i]);
      if (!original) return original.error();
      viewed.back().original = std::make_unique<ViewedBytes>(std::move(*original));
    }
    if (!single_.empty()) {
      const auto page = singlePage(viewed);
      if (!page) return page.error();
      if (auto saved = saveText(single_, *page); !saved) return saved;
    }
    if (!folder_.empty()) {
      if (auto saved = exportInto(folder_, viewed); !saved) return saved;
    }
    Json document = {{"files", files_}};
    if (!single_.empty()) document["single"] = displayPath(single_);
    if (!folder_.empty()) document["export"] = displayPath(folder_);
    if (!single_.empty() || !folder_.empty()) return saveJson(session.console, session.common.json, document);
    return serve(session, viewed, std::move(document));
  }

 private:
  static Result<void> exportInto(const std::filesystem::path& folder, const std::vector<ViewedFile>& viewed) {
    const auto page = linkedPage(viewed);
    if (!page) return page.error();
    for (const ServedFile& file : servedFiles(viewed))
      if (auto saved = saveBytes(folder / file.address, file.file->bytes); !saved) return saved;
    return saveText(folder / "index.html", *page);
  }

  Result<void> serve(Session& session, const std::vector<ViewedFile>& viewed, Json document) const {
    session.graceful.emplace();
    const auto server = ViewServer::start(viewed, {.port = static_cast<std::uint16_t>(port_)});
    if (!server) return server.error();
    const std::string& address = (*server)->address();
    document["address"] = address;
    document["port"] = (*server)->port();
    if (auto saved = saveJson(session.console, session.common.json, document); !saved) return saved;
    // The address is the result: it is printed even when progress and tables are not wanted.
    fmt::print("{}\n", address);
    std::fflush(stdout);
    if (open_ && !openInBrowser(address))
      session.console.warning("no browser could be opened; open the address yourself");
    while (!interrupted())
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    // Stopping is how this verb ends.
    ignoreFurtherInterrupts();
    return {};
  }

  std::vector<std::string> files_, references_;
  std::string folder_, single_;
  int port_ = 0;
  bool open_ = false;
};

}  // namespace

std::unique_ptr<Verb> makeView() {
  return std::make_unique<View>();
}

}  // namespace heatskin::cli
