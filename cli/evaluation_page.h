#pragma once

// An evaluation as JSON, as lines for the terminal and as a part of a report page; shared by eval, fit and
// demo so that the same figure has the same name everywhere.

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "heatskin/base/result.h"
#include "heatskin/evaluation/evaluate.h"
#include "heatskin/evaluation/reference.h"
#include "heatskin/product/product.h"
#include "heatskin/texture/kernel_texture.h"

#include "cli/output.h"
#include "cli/report_page.h"

namespace heatskin::cli {

/// Names of the files a report with addEvaluationPictures() may consist of, close-ups aside.
std::vector<std::string> evaluationFiles();

/// "35.21 dB", or "infinite (identical)".
std::string decibels(double psnr);

/// Adds the figures of an evaluation to a document. Keys of DESIGN: surface_psnr, view_psnr, view_ssim,
/// atlas_psnr, coverage_below_half, seam_jump_p99, seam_jump_max, query_mpoints_s; what was not measured is
/// null. Further keys say how they came about and what the reference has itself.
void addEvaluation(Json& document, const Evaluation& evaluation);

/// The figures as label and value, for the terminal and for report tables.
ReportPage::Rows evaluationRows(const Evaluation& evaluation);

/// "5,000 in 57.9 kB, 11.6 bytes each".
std::string kernelsInBytes(const Product& product);

/// "kept animations, skins; dropped baseColorTexture"; empty if there is nothing to say.
std::string keptLine(const std::vector<std::string>& kept, const std::vector<std::string>& dropped);

/// The figures that meet the eye first.
ReportPage::Rows evaluationTiles(const Evaluation& evaluation);

/// A table per material; `asset` is the reference's. Empty with a single material.
ReportPage::Rows materialRows(const Evaluation& evaluation, const Asset& asset);

/// Adds `materials`, one object for each that is visible, to a document.
void addMaterials(Json& document, const Evaluation& evaluation, const Asset& asset);

/// A table per view.
ReportPage::Rows viewRows(const Evaluation& evaluation);

/// A picture as WebP for a page; its mask is alpha.
Result<std::vector<std::uint8_t>> pageImage(const ImageF& image);

/// A close-up to be added to a report.
struct CloseUp {
  std::string name;  ///< of the file, without extension
  std::string title, caption;
  Camera camera;
};

struct EvaluationPictureOptions {
  float error_full = 32;           ///< 8-bit levels drawn brightest
  std::vector<CloseUp> close_ups;  ///< besides the worst place
  Progress* progress = nullptr;    ///< may be null
};

/// Adds the pictures of a fit to the page, section by section: views of reference and fitted, error map,
/// worst place and other close-ups, coverage map, atlas. Each is also saved, exactly and with names and
/// scales, as a PNG in `folder`, which exists. Returns the names of the files.
Result<std::vector<std::string>> addEvaluationPictures(ReportPage& page, const std::filesystem::path& folder,
                                                       const KernelTexture& texture,
                                                       const Reference& reference,
                                                       const EvaluationPictureOptions& options = {});

}  // namespace heatskin::cli
