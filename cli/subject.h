#pragma once

// The object a verb works on: a file with the surface and the appearance made from it.

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "heatskin/appearance/appearance.h"
#include "heatskin/base/result.h"
#include "heatskin/io/asset.h"
#include "heatskin/surface/surface.h"

#include "cli/verb.h"

namespace heatskin::cli {

struct Subject {
  Asset asset;
  Surface surface;
  Appearance appearance;
  std::vector<Notice> notices;  ///< of the reader, then of the surface
  double surface_seconds = 0;   ///< that surface and appearance took
};

/// The filter of a name that was checked to be one of kFilterNames.
Filter filterNamed(std::string_view name);

/// kFilterNames for an option's check.
std::vector<std::string> filterChoices();

/// Loads a file and builds its surface, with progress. Warnings are the caller's to show.
Result<Subject> loadSubject(Session& session, const std::filesystem::path& path,
                            const SurfaceOptions& options = {});

/// The same for an asset that was read.
Result<Subject> makeSubject(Session& session, Asset asset, const SurfaceOptions& options = {});

/// loadAsset() that fails if a file the asset consists of is one of the outputs.
Result<Asset> loadApart(Session& session, const std::filesystem::path& path);

/// Shows warnings on stderr, each with the file's name. What was said once in this run is not said again: a
/// product and its reference are one mesh with the same faults.
void warnAbout(Session& session, const std::filesystem::path& path, const std::vector<Notice>& notices);
void warnAbout(Session& session, const Subject& subject);

/// The messages of the notices that are warnings (or, with false, of those that are not).
std::vector<std::string> messages(const std::vector<Notice>& notices, bool warnings);

}  // namespace heatskin::cli
