#include "cli/inputs.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "heatskin/base/files.h"
#include "heatskin/io/asset.h"

#include "cli/remedies.h"

namespace heatskin::cli {

Filter filterNamed(std::string_view name) {
  const auto* found = std::find(std::begin(kFilterNames), std::end(kFilterNames), name);
  return found == std::end(kFilterNames) ? Filter::kAuto
                                         : static_cast<Filter>(found - std::begin(kFilterNames));
}

std::vector<std::string> filterChoices() {
  return {std::begin(kFilterNames), std::end(kFilterNames)};
}

Result<Asset> readAsset(Session& session, const std::filesystem::path& path,
                        std::vector<std::filesystem::path>* others) {
  std::vector<std::filesystem::path> references;
  LoadOptions options;
  options.references = &references;
  session.console.begin("reading " + displayPath(path.filename()), 0);
  auto asset = loadAsset(path, options);
  session.console.end();
  for (const std::filesystem::path& file : references) {
    auto apart = session.files.alsoReads(file, fmt::format("part of {}", displayPath(path.filename())));
    if (!apart) return apart.error();
  }
  if (others != nullptr) *others = std::move(references);
  return asset;
}

OpenOptions openOptions(Session& session) {
  OpenOptions options;
  options.progress = &session.console;
  options.notify = [&session](const Notice& notice) { session.console.warning(worded(notice)); };
  return options;
}

Result<LoadedAsset> openAsset(Session& session, const std::filesystem::path& path,
                              const SurfaceOptions& surface, const std::string& variant) {
  auto asset = readAsset(session, path);
  if (!asset) return asset.error();
  OpenOptions options = openOptions(session);
  options.variant = variant;
  options.surface = surface;
  return heatskin::openAsset(std::move(*asset), options);
}

Result<LoadedProduct> openProduct(Session& session, const std::filesystem::path& path,
                                  std::optional<Method> method, const std::string& variant,
                                  std::size_t level) {
  auto asset = readAsset(session, path);
  if (!asset) return asset.error();
  OpenOptions options = openOptions(session);
  options.variant = variant;
  options.method = method;
  options.level = level;
  return heatskin::openProduct(std::move(*asset), options);
}

Result<LoadedFile> openFile(Session& session, const std::filesystem::path& path,
                            const SurfaceOptions& surface, const std::string& variant, std::size_t level) {
  auto asset = readAsset(session, path);
  if (!asset) return asset.error();
  OpenOptions options = openOptions(session);
  options.variant = variant;
  options.level = level;
  options.surface = surface;
  return heatskin::openFile(std::move(*asset), options);
}

void addVariantOption(CLI::App& app, std::string& variant) {
  app.add_option(
         "--variant", variant,
         "The material variant to use (KHR_materials_variants; 'heatskin inspect' lists them). Default: "
         "the default materials")
      ->type_name("NAME")
      ->check([](const std::string& name) {
        return name.empty() ? std::string("the name of a variant is empty") : std::string();
      });
}

void addLevelOption(CLI::App& app, std::size_t& level) {
  app.add_option("--level", level,
                 "The level of detail to use, of a file with several ('heatskin lod' without %d); 0: what is "
                 "in the scene")
      ->type_name("N")
      ->capture_default_str();
}

void warnAbout(Session& session, const LoadedAsset& asset) {
  warnAbout(session, asset.asset.path, asset.notices);
}

void warnAbout(Session& session, const std::filesystem::path& path, const std::vector<Notice>& notices) {
  for (const std::string& message : messages(notices, true)) {
    if (session.warned.insert(message).second)
      session.console.warning(fmt::format("{}: {}", displayPath(path), message));
  }
}

std::vector<std::string> messages(const std::vector<Notice>& notices, bool warnings) {
  std::vector<std::string> result;
  for (const Notice& notice : notices) {
    if (notice.warning == warnings) result.push_back(worded(notice));
  }
  return result;
}

}  // namespace heatskin::cli
