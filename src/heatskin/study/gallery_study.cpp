// What it looks like (paper, "Qualitative cases"): every mesh as it is, with each method, and where that
// differs.

#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

#include "heatskin/base/base64.h"
#include "heatskin/base/files.h"
#include "heatskin/evaluation/pictures.h"
#include "heatskin/evaluation/reference.h"
#include "heatskin/figures/plot.h"
#include "heatskin/io/image.h"
#include "heatskin/rendering/camera.h"
#include "heatskin/study/aggregate.h"
#include "heatskin/study/fit_run.h"
#include "heatskin/study/studies.h"

namespace heatskin::study {
namespace {

namespace fs = std::filesystem;

constexpr int kPictureSide = 224, kQuickSide = 64;
constexpr std::array kPictureNames = {"truth.png", "fitted.png", "error.png", "coverage.png"};

std::string pictureUri(const fs::path& file) {
  const auto bytes = readFile(file);
  return bytes ? "data:image/png;base64," + base64(*bytes) : std::string();
}

class GalleryStudy final : public Study {
 public:
  std::string_view name() const override { return "gallery"; }
  std::string_view summary() const override {
    return "pictures of every mesh with each method, and of the errors";
  }

  Result<std::vector<StudyRun>> plan(const StudySettings& settings) const override {
    FitPlan fits;
    fits.meshes = meshesFor(settings, standardMeshes(settings));
    if (settings.quick) fits.meshes.resize(1);
    std::vector<MethodSpec> own = paperMethods();
    std::erase_if(own, [](const MethodSpec& method) { return method.name == "thermal"; });
    fits.methods = methodsFor(settings, std::move(own));
    fits.seeds = seedsFor(settings, {0});
    auto runs = planFits(fits, settings);
    if (!runs) return runs;
    for (StudyRun& run : *runs)
      run.work["picture_size"] = settings.quick ? kQuickSide : kPictureSide;
    return runs;
  }

  Result<StudyOutcome> execute(const Json& work, const RunContext& context) const override {
    StudyOutcome outcome;
    auto fitted = fitRun(work, context, outcome);
    if (!fitted) return fitted.error();
    if (!*fitted) return outcome;
    const LoadedAsset& asset = (*fitted)->asset;
    const KernelTexture& texture = (*fitted)->stored.texture;
    const auto reference =
        Reference::match(texture.surface(), *asset.surface, asset.appearance, displayPath(asset.asset.path));
    if (!reference) return reference.error();
    const bool gltf = asset.asset.format == "glb" || asset.asset.format == "gltf";
    const Camera camera = defaultView(texture.surface(), 1, gltf ? Front::kPlusZ : Front::kUnknown);
    const std::vector<ImageF> pictures = closeUpPictures(pictureSources(texture, *reference), camera,
                                                         work.value("picture_size", kPictureSide));
    outcome.values["pictures"] = Json::array();
    for (std::size_t i = 0; i < std::min(pictures.size(), kPictureNames.size()); ++i) {
      const ImageF& picture = pictures[i];
      const auto png = encodePng(toPng8WithMask(picture), picture.width, picture.height, 4);
      if (!png) return png.error();
      if (auto saved = writeFileAtomically(context.folder / kPictureNames[i], *png); !saved)
        return saved.error();
      outcome.values["pictures"].push_back(kPictureNames[i]);
    }
    return outcome;
  }

  StudyReport report(std::span<const StudyRow> rows, const fs::path& folder) const override {
    StudyReport report;
    report.title = "Gallery";
    PictureTable table;
    table.title = "Every mesh with each method, and the error of LocalHK PQ";
    table.columns = {"the asset"};
    const auto methods = methodsIn(rows);
    for (const auto& [name, title] : methods)
      table.columns.push_back(title);
    table.columns.emplace_back("error");
    table.columns.emplace_back("coverage");
    const MeshTable meshes = tabulate(rows, "view_psnr");
    for (const std::string& mesh : meshes.meshes) {
      PictureTable::Row line;
      line.name = mesh;
      line.cells.resize(table.columns.size());
      for (const StudyRow& row : rows) {
        if (row.text("mesh/name") != mesh || !row.values.contains("pictures")) continue;
        const fs::path files = folder / row.name;
        if (line.cells.front().data_uri.empty())
          line.cells.front().data_uri = pictureUri(files / kPictureNames[0]);
        for (std::size_t m = 0; m < methods.size(); ++m) {
          PictureTable::Cell& cell = line.cells[m + 1];
          if (row.text("method/name") != methods[m].first || !cell.data_uri.empty()) continue;
          cell.data_uri = pictureUri(files / kPictureNames[1]);
          cell.label = fmt::format("{:.2f} dB", row.number("view_psnr"));
        }
        // The errors of one method: of PQ where it is among them.
        const bool wanted = row.text("method/name") == "pq" || line.cells.back().data_uri.empty();
        if (!wanted) continue;
        line.cells[line.cells.size() - 2] = {pictureUri(files / kPictureNames[2]), row.text("method/title")};
        line.cells[line.cells.size() - 1] = {pictureUri(files / kPictureNames[3]), row.text("method/title")};
      }
      table.rows.push_back(std::move(line));
    }
    table.notes = {
        "Numbers: PSNR of the 8 views. Error: light is 32 levels of 255 or more. Coverage: red is a weight "
        "sum of 0, blue one of 4."};
    report.figure = drawPictures(table);
    report.tables.push_back(perMeshTable(rows, "", "view_psnr", 2, "View PSNR, dB"));
    if (ReportTable refused = refusals(rows); !refused.rows.empty())
      report.tables.push_back(std::move(refused));
    report.notes = {"One seed. Pictures are drawn without light; every run's are in rows/RUN/."};
    return report;
  }
};

}  // namespace

std::unique_ptr<Study> makeGalleryStudy() {
  return std::make_unique<GalleryStudy>();
}

}  // namespace heatskin::study
