#pragma once

// The run most studies are made of: a method fits a mesh, and what it stored is measured by the paper's
// protocol (METHOD section 10).

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "heatskin/base/result.h"
#include "heatskin/pipeline/pipeline.h"
#include "heatskin/study/study.h"
#include "heatskin/study/subjects.h"

namespace heatskin::study {

/// How a study wants its fits.
struct FitPlan {
  std::vector<MeshSpec> meshes;
  std::vector<MethodSpec> methods;
  std::vector<std::uint64_t> seeds;
  bool fresh = false;        ///< nothing from a cache, no fit of another study: for times
  bool views = true;         ///< pictures are compared, too, not only the surface
  bool five_frames = false;  ///< unless somebody asked for them, whatever the study
};

/// One run for every mesh, method and seed. In quick studies steps, samples and pictures are few, and the
/// mesh is a tiny pumpkin (quickMesh()), whatever is asked for.
Result<std::vector<StudyRun>> planFits(const FitPlan& plan, const StudySettings& settings);

/// The work of a single fit, for studies that add to it.
Result<StudyRun> planFit(const MeshSpec& mesh, const MethodSpec& method, std::uint64_t seed,
                         const FitPlan& plan, const StudySettings& settings);

/// The meshes a study is about: those of the settings, else `own`; in quick studies the first of a set as
/// tiny pumpkins.
std::vector<MeshSpec> meshesFor(const StudySettings& settings, std::vector<MeshSpec> own);
std::vector<MethodSpec> methodsFor(const StudySettings& settings, std::vector<MethodSpec> own);
std::vector<std::uint64_t> seedsFor(const StudySettings& settings,
                                    std::vector<std::uint64_t> own = {0, 1, 2});

/// All there is: meshes of the assets folder, the pumpkin at four resolutions, coarse versions (set "low").
std::vector<MeshSpec> standardMeshes(const StudySettings& settings);

/// The mesh of that name, else the first one asked for, else the pumpkin with 3,000 vertices: for studies
/// about one object.
MeshSpec subjectNamed(const StudySettings& settings, std::string_view name);

/// What a fit left, for studies that look further.
struct FittedRun {
  LoadedAsset asset;
  FitConfig config;  ///< with budget and lengths as they were settled
  LoadedProduct stored;
};

/// Fits, unless another study has kept the same fit (kept_fits.h), and measures. Nothing, with `refused` in
/// `outcome`, for a mesh that the comparison does not admit (METHOD section 16; HKTex and ThermalRF only) or
/// that the method cannot take.
Result<std::optional<FittedRun>> fitRun(const Json& work, const RunContext& context, StudyOutcome& outcome);

/// A study whose runs are fits and nothing else.
class FitStudy : public Study {
 public:
  Result<StudyOutcome> execute(const Json& work, const RunContext& context) const final;
};

/// Columns of methods in the order of the rows: name and title.
std::vector<std::pair<std::string, std::string>> methodsIn(std::span<const StudyRow> rows);

/// A table with a line for each mesh of a set and a column for each method: means over seeds of one figure,
/// the last line their means over meshes with intervals. `better` marks the best of a line.
ReportTable perMeshTable(std::span<const StudyRow> rows, std::string_view set, std::string_view figure,
                         int decimals, std::string caption);

/// Meshes that some method refused, with the reasons.
ReportTable refusals(std::span<const StudyRow> rows);

}  // namespace heatskin::study
