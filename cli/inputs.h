#pragma once

// What a verb works on: files opened with the session's progress, warnings, and care for its outputs.

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "heatskin/base/result.h"
#include "heatskin/pipeline/loaded_file.h"
#include "heatskin/pipeline/pipeline.h"
#include "heatskin/surface/fit_target.h"

#include "cli/verb.h"

namespace CLI {
class App;
}

namespace heatskin::cli {

/// The filter of a name that was checked to be one of kFilterNames.
Filter filterNamed(std::string_view name);

/// kFilterNames for an option's check.
std::vector<std::string> filterChoices();

/// loadAsset() with progress, that fails if a file the asset consists of is one of the outputs. `others`,
/// unless null, gets the files it consists of besides `path`.
Result<Asset> readAsset(Session& session, const std::filesystem::path& path,
                        std::vector<std::filesystem::path>* others = nullptr);

/// What the pipeline's functions of the same names open. Warnings about meshes are the caller's to show.
/// `variant` and `level` are those of OpenOptions.
Result<LoadedAsset> openAsset(Session& session, const std::filesystem::path& path,
                              const SurfaceOptions& surface = {}, const std::string& variant = {});
Result<LoadedProduct> openProduct(Session& session, const std::filesystem::path& path,
                                  std::optional<Method> method = {}, const std::string& variant = {},
                                  std::size_t level = 0);
Result<LoadedFile> openFile(Session& session, const std::filesystem::path& path,
                            const SurfaceOptions& surface = {}, const std::string& variant = {},
                            std::size_t level = 0);

/// Adds --variant NAME, which goes into `variant`.
void addVariantOption(CLI::App& app, std::string& variant);

/// Adds --level N, which goes into `level`.
void addLevelOption(CLI::App& app, std::size_t& level);

/// Options of the pipeline's open functions for this session.
OpenOptions openOptions(Session& session);

/// Shows warnings on stderr, each with the file's name. What was said once in this run is not said again: a
/// product and its reference are one mesh with the same faults.
void warnAbout(Session& session, const std::filesystem::path& path, const std::vector<Notice>& notices);
void warnAbout(Session& session, const LoadedAsset& asset);

/// The messages of the notices that are warnings (or, with false, of those that are not).
std::vector<std::string> messages(const std::vector<Notice>& notices, bool warnings);

}  // namespace heatskin::cli
