#include "cli/subject.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include <fmt/format.h>

#include "heatskin/base/files.h"
#include "heatskin/base/stopwatch.h"
#include "heatskin/io/asset_surface.h"
#include "heatskin/io/load.h"

namespace heatskin::cli {

Filter filterNamed(std::string_view name) {
  const auto* found = std::find(std::begin(kFilterNames), std::end(kFilterNames), name);
  return found == std::end(kFilterNames) ? Filter::kAuto
                                         : static_cast<Filter>(found - std::begin(kFilterNames));
}

std::vector<std::string> filterChoices() {
  return {std::begin(kFilterNames), std::end(kFilterNames)};
}

Result<Subject> loadSubject(Session& session, const std::filesystem::path& path,
                            const SurfaceOptions& options) {
  Console& console = session.console;
  console.begin("reading " + displayPath(path.filename()), 0);
  auto asset = loadApart(session, path);
  console.end();
  if (!asset) return asset.error();
  return makeSubject(session, std::move(*asset), options);
}

Result<Asset> loadApart(Session& session, const std::filesystem::path& path) {
  std::vector<std::filesystem::path> references;
  LoadOptions options;
  options.references = &references;
  auto asset = loadAsset(path, options);
  for (const std::filesystem::path& file : references) {
    auto apart = session.files.alsoReads(file, fmt::format("as a part of {}", displayPath(path.filename())));
    if (!apart) return apart.error();
  }
  return asset;
}

Result<Subject> makeSubject(Session& session, Asset asset, const SurfaceOptions& options) {
  Stopwatch watch;
  session.console.begin("building the surface", 0);
  auto surface = buildSurface(asset, options);
  session.console.end();
  if (!surface) return surface.error();

  Appearance appearance(asset, *surface);
  const double surface_seconds = watch.lap();
  std::vector<Notice> notices = asset.notices;
  for (Notice& notice : surface->notices())
    notices.push_back(std::move(notice));
  return Subject{std::move(asset), std::move(*surface), std::move(appearance), std::move(notices),
                 surface_seconds};
}

void warnAbout(Session& session, const Subject& subject) {
  warnAbout(session, subject.asset.path, subject.notices);
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
    if (notice.warning == warnings) result.push_back(notice.message);
  }
  return result;
}

}  // namespace heatskin::cli
