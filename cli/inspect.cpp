// heatskin inspect: what is in a file, and what is wrong with the mesh.

#include <algorithm>
#include <array>
#include <set>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "heatskin/appearance/appearance_target.h"
#include "heatskin/base/files.h"
#include "heatskin/product/product.h"

#include "cli/inputs.h"
#include "cli/verb.h"

namespace heatskin::cli {
namespace {

std::string_view name(Wrap wrap) {
  switch (wrap) {
    case Wrap::kRepeat:
      return "repeat";
    case Wrap::kClampToEdge:
      return "clamp";
    case Wrap::kMirroredRepeat:
      return "mirror";
  }
  return "";
}

std::string_view name(AlphaMode mode) {
  switch (mode) {
    case AlphaMode::kOpaque:
      return "opaque";
    case AlphaMode::kMask:
      return "mask";
    case AlphaMode::kBlend:
      return "blend";
  }
  return "";
}

std::string_view channelNames(int channels) {
  constexpr std::array<std::string_view, 5> kNames = {"", "grey", "grey+alpha", "RGB", "RGBA"};
  return kNames[static_cast<std::size_t>(std::clamp(channels, 0, 4))];
}

std::string orUnnamed(const std::string& text) {
  return text.empty() ? "(unnamed)" : oneLine(text);
}

/// What the file holds, counted.
struct Contents {
  std::size_t primitives = 0;
  std::size_t uv_sets = 0;           ///< the most sets any primitive has
  std::size_t colored = 0;           ///< primitives with vertex colours
  std::size_t without_material = 0;  ///< primitives with the default material
  std::set<int> textures;            ///< used as base colour by some material
};

Contents contentsOf(const Asset& asset) {
  Contents contents;
  for (const Mesh& mesh : asset.meshes) {
    for (const Primitive& primitive : mesh.primitives) {
      ++contents.primitives;
      contents.uv_sets = std::max(contents.uv_sets, primitive.uv_sets.size());
      if (!primitive.colors.empty()) ++contents.colored;
      if (primitive.material < 0) ++contents.without_material;
    }
  }
  for (const Material& material : asset.materials) {
    if (material.base_color.texture >= 0) contents.textures.insert(material.base_color.texture);
  }
  return contents;
}

struct Box {
  Vec3 low;
  Vec3 high;
};

Box assetBox(const Surface& surface) {
  Vec3 low = surface.positions()[0], high = low;
  for (const Vec3& p : surface.positions()) {
    low = low.cwiseMin(p);
    high = high.cwiseMax(p);
  }
  const Similarity back = surface.assetFromSurface();
  return {back(low), back(high)};
}

std::string vectorText(const Vec3& v) {
  return fmt::format("({:.6g}, {:.6g}, {:.6g})", v.x(), v.y(), v.z());
}

std::string textureText(const Asset& asset, const TextureUse& use) {
  if (use.texture < 0) return "no texture";
  const Texture& texture = asset.textures[static_cast<std::size_t>(use.texture)];
  std::string text = fmt::format("texture {}", use.texture);
  if (texture.image < 0) text += " (image cannot be used)";
  if (use.uv_set != 0) text += fmt::format(", UV set {}", use.uv_set);
  if (use.offset != Vec2f(0, 0)) text += fmt::format(", offset {:g} {:g}", use.offset.x(), use.offset.y());
  if (use.scale != Vec2f(1, 1)) text += fmt::format(", scale {:g} {:g}", use.scale.x(), use.scale.y());
  if (use.rotation != 0) text += fmt::format(", rotation {:g} rad", use.rotation);
  return text;
}

constexpr std::size_t kMostRows = 40;  // a table longer than a screen is for --json

void showContents(Console& console, const LoadedAsset& subject, const Contents& contents) {
  const Asset& asset = subject.asset;
  console.heading("File");
  std::vector<std::vector<std::string>> rows = {
      {"name", oneLine(displayPath(asset.path))},
      {"format", asset.format},
      {"meshes", fmt::format("{} in {}, {}", grouped(asset.meshes.size()),
                             counted(asset.instances.size(), "instance", "instances"),
                             counted(contents.primitives, "primitive", "primitives"))},
      {"vertices stored", grouped(asset.stored_vertices)},
      {"UV sets", contents.uv_sets == 0 ? "none" : std::to_string(contents.uv_sets)},
      {"vertex colours", contents.colored == 0
                             ? "none"
                             : fmt::format("in {} of {}", contents.colored,
                                           counted(contents.primitives, "primitive", "primitives"))},
  };
  if (!asset.extensions.empty()) {
    std::string text;
    for (const std::string& extension : asset.extensions)
      text += (text.empty() ? "" : ", ") + oneLine(extension);
    rows.push_back({"extensions", text});
  }
  if (!asset.variants.empty()) {
    std::string text;
    for (std::size_t v = 0; v < std::min(asset.variants.size(), kMostRows); ++v)
      text += (text.empty() ? "" : ", ") + oneLine(asset.variants[v]);
    if (asset.variants.size() > kMostRows) text += ", ...";
    rows.push_back({"material variants", fmt::format("{}: {}", grouped(asset.variants.size()), text)});
  }
  console.table(rows);

  console.heading(fmt::format("Materials ({})", asset.materials.size()));
  rows.clear();
  for (std::size_t i = 0; i < std::min(asset.materials.size(), kMostRows); ++i) {
    const Material& m = asset.materials[i];
    const Vec4f& f = m.base_color_factor;
    rows.push_back({std::to_string(i), orUnnamed(m.name),
                    fmt::format("factor {:.3g} {:.3g} {:.3g} {:.3g}", f[0], f[1], f[2], f[3]),
                    fmt::format("{}{}", name(m.alpha_mode), m.double_sided ? ", double-sided" : ""),
                    textureText(asset, m.base_color)});
  }
  if (asset.materials.size() > kMostRows) rows.push_back({"..."});
  if (contents.without_material > 0) {
    rows.push_back({"-", fmt::format("default (white) for {}",
                                     counted(contents.without_material, "primitive", "primitives"))});
  }
  console.table(rows);

  console.heading(fmt::format("Base-colour textures ({})", contents.textures.size()));
  rows.clear();
  for (const int index : contents.textures) {
    if (rows.size() == kMostRows) {
      rows.push_back({"..."});
      break;
    }
    const Texture& texture = asset.textures[static_cast<std::size_t>(index)];
    const std::string wraps = fmt::format("wrap {} x {}, {}", name(texture.wrap_u), name(texture.wrap_v),
                                          texture.filter == TexelFilter::kNearest ? "nearest" : "bilinear");
    if (texture.image < 0) {
      rows.push_back({std::to_string(index), "(image cannot be used)", "", "", wraps});
      continue;
    }
    const Image& image = *asset.images[static_cast<std::size_t>(texture.image)];
    rows.push_back(
        {std::to_string(index), orUnnamed(image.name), fmt::format("{} x {}", image.width, image.height),
         fmt::format("{} {} {} bit", image.format, channelNames(image.stored_channels), image.stored_bits),
         wraps});
  }
  console.table(rows);
}

void showMesh(Console& console, const LoadedAsset& subject) {
  const Surface& surface = *subject.surface;
  const SurfaceReport& report = surface.report();
  const Box box = assetBox(surface);
  const double length_scale = surface.assetFromSurface().scale;
  console.heading("Mesh, equal positions welded");
  console.table({
      {"vertices", grouped(report.vertices)},
      {"faces", grouped(report.faces)},
      {"components", grouped(report.components)},
      {"boundary edges", grouped(report.boundary_edges)},
      {"non-manifold edges", grouped(report.nonmanifold_edges)},
      {"bounding box", fmt::format("{} to {}", vectorText(box.low), vectorText(box.high))},
      {"surface area", fmt::format("{:.6g} in asset units, {:.6g} normalised",
                                   surface.totalArea() * length_scale * length_scale, surface.totalArea())},
      {"mean edge length", fmt::format("{:.6g} in asset units, {:.6g} normalised",
                                       surface.meanEdgeLength() * length_scale, surface.meanEdgeLength())},
  });

  console.heading("Surface after repair");
  console.table({
      {"vertices", grouped(surface.vertexCount())},
      {"faces", grouped(surface.faceCount())},
      {"components", grouped(surface.componentCount())},
      {"boundary loops", grouped(surface.boundaryLoops().size())},
  });

  console.heading("Problems and what is done about them");
  std::vector<std::vector<std::string>> rows;
  for (const bool warnings : {true, false}) {
    for (const Notice& notice : subject.notices) {
      if (notice.warning == warnings)
        rows.push_back({warnings ? "warning" : "note", oneLine(notice.message)});
    }
  }
  if (rows.empty()) rows.push_back({"none"});
  console.table(rows);

  console.heading("Something to fit");
  const Appearance& appearance = subject.appearance;
  const double visible = visibleShare(*subject.surface, appearance);
  console.table(
      {{!appearance.hasColor() ? "no: every material has a single colour, without textures or vertex colours"
        : visible > 0          ? "yes"
                               : "no: nothing is visible"}});
  if (appearance.hasColor() && appearance.constantFaces() > 0) {
    console.table({{fmt::format("{} of {} faces have one colour each and need no kernels",
                                grouped(appearance.constantFaces()), grouped(appearance.faceCount()))}});
  }
  if (appearance.hasAlpha()) {
    console.table({{fmt::format("{:.3g} % of the surface is visible; what is transparent is not fitted",
                                100 * visible)}});
  }
}

void showKernels(Console& console, const Product& product) {
  console.heading("Kernels");
  const ProductInfo& info = product.info;
  console.table({
      {"number", grouped(product.kernels.size())},
      {"method", std::string(methodName(product.options))},
      {"size", fmt::format("{}, {} bytes per kernel", humanBytes(static_cast<double>(product.model_bytes)),
                           fixed(product.bytesPerKernel(), 1))},
      {"made by", fmt::format("{}, preset {}, {}, seed {}", orUnnamed(info.generator), orUnnamed(info.preset),
                              counted(static_cast<std::size_t>(info.steps), "step", "steps"), info.seed)},
  });
}

/// The keys of `fit --json` and `eval --json`.
Json kernelsJson(const Product& product) {
  return {{"kernels", product.kernels.size()},
          {"method", methodName(product.options)},
          {"model_bytes", product.model_bytes},
          {"chart_bytes", product.chart_bytes},
          {"variant_bytes", product.variant_bytes},
          {"fitted_variants", product.variants},
          {"bytes_per_kernel", jsonNumber(product.bytesPerKernel())},
          {"generator", product.info.generator},
          {"preset", product.info.preset},
          {"seed", product.info.seed},
          {"steps", product.info.steps}};
}

Json problemsJson(const SurfaceReport& report) {
  return {{"degenerate_faces", report.degenerate_faces},
          {"duplicate_faces", report.duplicate_faces},
          {"nonmanifold_edges", report.nonmanifold_edges},
          {"nonmanifold_vertices", report.nonmanifold_vertices},
          {"cut_edges", report.cut_edges},
          {"duplicated_vertices", report.duplicated_vertices},
          {"flipped_faces", report.flipped_faces},
          {"nonorientable_components", report.nonorientable_components},
          {"sliver_faces", report.sliver_faces},
          {"unused_vertices", report.unused_vertices}};
}

Json vectorJson(const Vec3& v) {
  return Json::array({jsonNumber(v.x()), jsonNumber(v.y()), jsonNumber(v.z())});
}

Json assetJson(const LoadedAsset& subject, const Contents& contents) {
  const Asset& asset = subject.asset;
  const Surface& surface = *subject.surface;
  const SurfaceReport& report = surface.report();
  const double length_scale = surface.assetFromSurface().scale;
  const Box box = assetBox(surface);
  Json json;
  json["file"] = displayPath(asset.path);
  json["format"] = asset.format;
  json["vertices"] = report.vertices;
  json["faces"] = report.faces;
  json["components"] = report.components;
  json["boundary_edges"] = report.boundary_edges;
  json["nonmanifold_edges"] = report.nonmanifold_edges;
  json["materials"] = asset.materials.size();
  json["textures"] = contents.textures.size();
  json["warnings"] = messages(subject.notices, true);
  json["notes"] = messages(subject.notices, false);
  json["stored_vertices"] = asset.stored_vertices;
  json["meshes"] = asset.meshes.size();
  json["instances"] = asset.instances.size();
  json["primitives"] = contents.primitives;
  json["uv_sets"] = contents.uv_sets;
  json["vertex_colors"] = contents.colored > 0;
  json["extensions"] = asset.extensions;
  json["variants"] = asset.variants;
  json["bounding_box"] = {{"min", vectorJson(box.low)}, {"max", vectorJson(box.high)}};
  json["area"] = jsonNumber(surface.totalArea() * length_scale * length_scale);
  json["mean_edge_length"] = jsonNumber(surface.meanEdgeLength() * length_scale);
  json["textured_faces"] = subject.appearance.texturedFaces();
  const double visible = visibleShare(surface, subject.appearance);
  json["constant_faces"] = subject.appearance.constantFaces();
  json["something_to_fit"] = subject.appearance.hasColor() && visible > 0;
  json["visible_share"] = jsonNumber(visible);
  json["transparent"] = subject.appearance.hasAlpha();
  json["problems"] = problemsJson(report);
  json["surface"] = {{"vertices", surface.vertexCount()},
                     {"faces", surface.faceCount()},
                     {"components", surface.componentCount()},
                     {"boundary_loops", surface.boundaryLoops().size()},
                     {"area", jsonNumber(surface.totalArea())},
                     {"mean_edge_length", jsonNumber(surface.meanEdgeLength())},
                     {"scale_from_asset", jsonNumber(surface.surfaceFromAsset().scale)},
                     {"translation_from_asset", vectorJson(surface.surfaceFromAsset().translation)}};
  return json;
}

Json listsJson(const Asset& asset) {
  Json lists;
  lists["material_list"] = Json::array();
  for (const Material& m : asset.materials) {
    const Vec4f& f = m.base_color_factor;
    Json entry = {{"name", m.name},
                  {"factor", {jsonNumber(f[0]), jsonNumber(f[1]), jsonNumber(f[2]), jsonNumber(f[3])}},
                  {"alpha_mode", name(m.alpha_mode)},
                  {"double_sided", m.double_sided}};
    if (m.alpha_mode == AlphaMode::kMask) entry["alpha_cutoff"] = jsonNumber(m.alpha_cutoff);
    if (m.base_color.texture >= 0) {
      entry["texture"] = m.base_color.texture;
      entry["uv_set"] = m.base_color.uv_set;
    }
    lists["material_list"].push_back(std::move(entry));
  }
  lists["texture_list"] = Json::array();
  for (const Texture& texture : asset.textures) {
    lists["texture_list"].push_back(
        {{"image", texture.image},
         {"wrap_u", name(texture.wrap_u)},
         {"wrap_v", name(texture.wrap_v)},
         {"filter", texture.filter == TexelFilter::kNearest ? "nearest" : "bilinear"}});
  }
  lists["images"] = Json::array();
  for (const auto& image : asset.images) {
    lists["images"].push_back({{"name", image->name},
                               {"format", image->format},
                               {"width", image->width},
                               {"height", image->height},
                               {"channels", image->stored_channels},
                               {"bits", image->stored_bits}});
  }
  return lists;
}

class Inspect : public Verb {
 public:
  void describe(CLI::App& app) override {
    app.add_option("FILE", file_, "A .glb, .gltf, .obj or .ply file, or a product of 'heatskin fit'")
        ->required();
    app.footer("Example:\n  heatskin inspect spot.obj --json spot.json");
  }

  bool random() const override { return false; }

  Result<void> prepare(Session& session) override {
    session.files.reads(file_, "FILE");
    return {};
  }

  Result<void> run(Session& session) override {
    SurfaceOptions options;
    options.principal_axes = false;  // nothing here looks at the frames
    auto subject = openAsset(session, file_, options);
    if (!subject) return subject.error();
    // On one terminal the table below already says it.
    if (visibleShare(*subject->surface, subject->appearance) <= 0) {
      subject->notices.push_back({"invisible",
                                  "the asset is fully transparent (alpha is 0 or below the cutoff "
                                  "everywhere): there is nothing to see or to fit"});
    }
    if (!session.console.bothTerminals()) warnAbout(session, *subject);

    const Contents contents = contentsOf(subject->asset);
    showContents(session.console, *subject, contents);
    showMesh(session.console, *subject);
    Json json = assetJson(*subject, contents);
    json.update(listsJson(subject->asset));
    if (isProduct(subject->asset)) {
      const auto product = decodeProduct(subject->asset);
      if (!product) return product.error();
      showKernels(session.console, *product);
      json.update(kernelsJson(*product));
    }
    return saveJson(session.console, session.common.json, json);
  }

 private:
  std::string file_;
};

}  // namespace

std::unique_ptr<Verb> makeInspect() {
  return std::make_unique<Inspect>();
}

}  // namespace heatskin::cli
