#include "cli/fit_report.h"

#include <fmt/format.h>

#include "heatskin/base/files.h"
#include "heatskin/base/machine.h"
#include "heatskin/evaluation/reference.h"
#include "heatskin/kernels/simd_level.h"
#include "heatskin/version.h"

#include "cli/evaluation_page.h"
#include "cli/fit_job.h"
#include "cli/report_sections.h"

namespace heatskin::cli {

Result<std::vector<std::string>> writeFitReport(Session& session, const std::filesystem::path& folder,
                                                const LoadedAsset& subject, const FitJob& job,
                                                const FitOutcome& outcome, const ReportPage::Rows& rows) {
  const LoadedProduct& stored = *outcome.stored;
  const std::string name = displayPath(job.output.filename());
  ReportPage page(
      name, fmt::format("{} instead of the textures of {}: how close they come, and how they came about.",
                        counted(outcome.fit.kernels.size(), "kernel", "kernels"),
                        displayPath(subject.asset.path.filename())));
  ReportPage::Rows tiles;
  if (outcome.evaluation) tiles = evaluationTiles(*outcome.evaluation);
  tiles.emplace_back("for " + counted(outcome.fit.kernels.size(), "kernel", "kernels"),
                     humanBytes(static_cast<double>(stored.product.model_bytes)));
  tiles.emplace_back("optimisation", humanSeconds(outcome.fit.history.optimise_seconds));
  page.tiles(tiles);
  addViewer(page, name, outcome.bytes, subject.asset.path);

  const auto reference = Reference::match(stored.texture.surface(), *subject.surface, subject.appearance,
                                          displayPath(subject.asset.path));
  if (!reference) return reference.error();
  EvaluationPictureOptions options;
  options.progress = &session.console;
  auto files = addEvaluationPictures(page, folder, stored.texture, *reference, options);
  if (!files) return files.error();

  page.section("Figures", "Measured on the product as it is stored.");
  page.table("The fit", rows);
  if (outcome.evaluation) {
    const ReportPage::Rows materials = materialRows(*outcome.evaluation, subject.asset);
    if (!materials.empty()) page.table("By material", materials);
    if (!outcome.evaluation->views.empty()) page.table("View by view", viewRows(*outcome.evaluation));
  }
  ReportPage::Rows notes;
  for (const std::vector<Notice>* notices : {&subject.notices, &outcome.notices}) {
    for (const Notice& notice : *notices)
      notes.emplace_back(notice.warning ? "Warning" : "Note", notice.message);
  }
  if (!notes.empty()) page.table("Notes", notes);
  page.section("How it came about");
  addCurves(page, outcome.fit.history, job.layout.size());
  page.bars("Where the time of the optimisation went", profileBars(outcome));
  page.table("Before the first step",
             {{"Surface and appearance", humanSeconds(subject.surface_seconds)},
              {"Preprocessing of the method", humanSeconds(outcome.fit.preprocess_seconds)},
              {"Placing the first kernels",
               humanSeconds(outcome.fit.init_seconds - outcome.fit.preprocess_seconds)}});
  addKernelHistograms(page, stored.product.kernels);
  addCommand(page, session.command, configToml(outcome.config), "All options of the fit");
  const Machine machine = describeMachine(simdLevel());
  page.footer(fmt::format("heatskin {}, seed {}. {}, {}, {}, {} build.", kVersion, outcome.config.train.seed,
                          machine.cpu, counted(static_cast<std::size_t>(machine.cores), "core", "cores"),
                          machine.compiler, machine.build));
  if (auto saved = saveText(folder / "report.html", page.html()); !saved) return saved.error();
  return files;
}

}  // namespace heatskin::cli
