#include "heatskin/product/product.h"

#include <algorithm>
#include <cmath>
#include <exception>
#include <map>
#include <new>
#include <numbers>
#include <optional>
#include <set>
#include <span>
#include <utility>

#include <fmt/format.h>

#include "heatskin/appearance/appearance.h"
#include "heatskin/base/files.h"
#include "heatskin/base/plural.h"
#include "heatskin/evaluators/local/local_evaluator.h"
#include "heatskin/evaluators/local/supports.h"
#include "heatskin/io/asset_surface.h"
#include "heatskin/io/glb_builder.h"
#include "heatskin/io/gltf_reader.h"
#include "heatskin/io/image.h"
#include "heatskin/io/load.h"
#include "heatskin/product/asset_constants.h"
#include "heatskin/product/fallback_colors.h"
#include "heatskin/product/product_extension.h"
#include "heatskin/product/quantize.h"
#include "heatskin/product/source_triangles.h"
#include "heatskin/surface/closest_point.h"
#include "heatskin/texture/kernel_texture.h"

namespace heatskin {
namespace {

/// Kernels are stored relative to triangles, so first axes need no curvature, unless the method's operators
/// follow the principal directions.
SurfaceOptions surfaceOptions(const EvaluatorOptions& evaluator) {
  SurfaceOptions options;
  options.principal_axes = traits(methodOf(evaluator)).principal_axes;
  return options;
}

/// Whether kernels are needed at all: some primitive has more than one colour.
bool hasVaryingColor(const Asset& asset) {
  for (const Mesh& mesh : asset.meshes) {
    for (const Primitive& primitive : mesh.primitives) {
      if (!primitive.triangles.empty() && !hasOneColor(asset, primitive)) return true;
    }
  }
  return false;
}

/// Primitives of one colour get materials of their own, which keep it; all others get vertex colours, to be
/// filled in. A primitive without vertex colours is one whose material decides: that can be told in a file.
/// Without `keep_constants` no material decides.
void separateConstants(const Asset& asset, bool keep_constants, Asset& out) {
  std::map<int, int> constant_of;
  for (std::size_t m = 0; m < asset.meshes.size(); ++m) {
    for (std::size_t p = 0; p < asset.meshes[m].primitives.size(); ++p) {
      Primitive& primitive = out.meshes[m].primitives[p];
      if (!keep_constants || !hasOneColor(asset, asset.meshes[m].primitives[p])) {
        primitive.colors.resize(primitive.positions.size(), Vec4f::Ones());
        continue;
      }
      const auto [entry, is_new] =
          constant_of.try_emplace(primitive.material, static_cast<int>(out.materials.size()));
      if (is_new) {
        Material material = primitive.material < 0
                                ? Material()
                                : asset.materials[static_cast<std::size_t>(primitive.material)];
        material.base_color = {};
        out.materials.push_back(std::move(material));
      }
      primitive.material = entry->second;
    }
  }
}

/// The asset without its colours: kernels take their place, except where materials keep theirs. Cut-outs
/// stay: a texture that makes its material transparent is kept in white.
Asset withoutColors(const Asset& asset, const ChannelLayout& layout) {
  Asset out;
  out.path = asset.path;
  out.instances = asset.instances;
  out.meshes = asset.meshes;
  std::map<int, int> textures;
  for (Material material : asset.materials) {
    material.base_color_factor.head<3>().setOnes();
    TextureUse& use = material.base_color;
    const Texture* texture =
        use.texture < 0 ? nullptr : &asset.textures[static_cast<std::size_t>(use.texture)];
    const Image* image = texture == nullptr || texture->image < 0
                             ? nullptr
                             : asset.images[static_cast<std::size_t>(texture->image)].get();
    if (material.alpha_mode == AlphaMode::kOpaque || image == nullptr || smallestAlpha(*image) == 255) {
      use = {};
    } else if (const auto known = textures.find(use.texture); known != textures.end()) {
      use.texture = known->second;
    } else {
      Image white = *image;
      for (std::size_t i = 0; i < white.rgba.size(); i += 4)
        std::fill_n(white.rgba.begin() + static_cast<std::ptrdiff_t>(i), 3, std::uint8_t{255});
      Texture kept = *texture;
      kept.image = static_cast<int>(out.images.size());
      out.images.push_back(std::make_shared<const Image>(std::move(white)));
      textures.emplace(use.texture, static_cast<int>(out.textures.size()));
      use.texture = static_cast<int>(out.textures.size());
      out.textures.push_back(kept);
    }
    out.materials.push_back(std::move(material));
  }
  separateConstants(asset, hasVaryingColor(asset) && Appearance::knows(layout), out);
  return out;
}

/// Materials of primitives without vertex colours: see separateConstants().
std::vector<std::size_t> constantMaterials(const Asset& stored) {
  std::set<std::size_t> found;
  for (const Mesh& mesh : stored.meshes) {
    for (const Primitive& primitive : mesh.primitives) {
      if (primitive.colors.empty() && primitive.material >= 0)
        found.insert(static_cast<std::size_t>(primitive.material));
    }
  }
  return {found.begin(), found.end()};
}

bool isFinite(const KernelSet& kernels, std::size_t i) {
  return kernels.positions[i].barycentric.allFinite() && kernels.positions[i].barycentric.maxCoeff() > 0 &&
         std::isfinite(kernels.angles[i]) && std::isfinite(kernels.anisotropies[i]) &&
         std::isfinite(kernels.thresholds[i]) && std::isfinite(kernels.sharpnesses[i]) &&
         kernels.channels[i].allFinite();
}

/// Carries kernels from the surface they were fitted on to the file's triangles. A triangle that rounding to
/// float32 has made degenerate cannot carry one; its kernels go to the nearest place that can.
class KernelWriter {
 public:
  /// `period`: whether angles 0 and pi mean the same.
  KernelWriter(const Asset& asset, const Surface& surface, const Asset& stored, const Surface& stored_surface,
               bool period)
      : surface_(surface),
        stored_surface_(stored_surface),
        period_(period),
        triangles_(asset, surface),
        stored_triangles_(stored, stored_surface) {}

  StoredKernel operator()(const KernelSet& kernels, std::size_t i) {
    StoredKernel out;
    out.anisotropy = kernels.anisotropies[i];
    out.threshold = kernels.thresholds[i];
    out.sharpness = kernels.sharpnesses[i];
    out.channels = kernels.channels[i];
    const SurfacePoint& p = kernels.positions[i];
    const double angle = kernels.angles[i];
    out.position = triangles_.toTriangle(p);
    out.angle = triangles_.axisInTriangle(p.face, angle);
    if (const std::uint32_t face = stored_triangles_.faceOf(out.position.triangle); face != kNone) {
      if (!period_) out.angle = insideRange(face, angle, out.angle);
      return out;
    }

    if (!closest_) closest_.emplace(stored_surface_);
    const Vec3 place = surface_.assetFromSurface()(surface_.position(p));
    const SurfacePoint near = (*closest_)(stored_surface_.surfaceFromAsset()(place)).point;
    const Vec3 axis = surface_.frames()[p.face].directionFromFace(Vec2(std::cos(angle), std::sin(angle)));
    const Vec2 turned = stored_surface_.frames()[near.face].directionToFace(axis);
    out.position = stored_triangles_.toTriangle(near);
    out.angle = stored_triangles_.axisInTriangle(near.face, std::atan2(turned.y(), turned.x()));
    return out;
  }

 private:
  /// `stored` for an angle that must not come back from the other end of [0, pi]: at least a code's step away
  /// from both ends, on its own side.
  double insideRange(std::uint32_t face, double angle, double stored) const {
    double there = stored_triangles_.axisInFace(face, stored);
    if (std::abs(there - angle) > std::numbers::pi / 2)
      there = angle < std::numbers::pi / 2 ? 0 : std::numbers::pi;
    return stored_triangles_.axisInTriangle(face,
                                            std::clamp(there, kAngleStep, std::numbers::pi - kAngleStep));
  }

  const Surface& surface_;
  const Surface& stored_surface_;
  bool period_;
  SourceTriangles triangles_, stored_triangles_;
  std::optional<ClosestPointQuery> closest_;
};

/// The kernels of a product's buffer on its surface.
Result<KernelSet> unpackKernels(const ProductExtension& extension, std::span<const std::uint8_t> bytes,
                                const Asset& asset, const Surface& surface) {
  const SourceTriangles triangles(asset, surface);
  if (extension.triangles != triangles.size()) {
    return inputError(fmt::format("was made for {}, the scene has {}: the geometry was changed",
                                  plural(extension.triangles, "triangle", "triangles"), triangles.size()));
  }
  const std::size_t stride = kernelBytes(extension.layout.size());
  if (bytes.size() % stride != 0 || bytes.size() / stride != extension.kernels) {
    return inputError(fmt::format("{} bytes are expected for {}, the buffer view has {}",
                                  extension.kernels * stride, plural(extension.kernels, "kernel", "kernels"),
                                  bytes.size()));
  }
  KernelSet kernels(extension.layout);
  kernels.mean = extension.mean;
  kernels.resize(extension.kernels);
  for (std::size_t i = 0; i < extension.kernels; ++i) {
    StoredKernel kernel;
    if (const auto problem = unpackKernel(bytes.subspan(i * stride, stride), extension.ranges, kernel)) {
      return inputError(fmt::format("kernel {}: {}", i, *problem));
    }
    const std::uint32_t triangle = kernel.position.triangle;
    if (triangle >= triangles.size()) {
      return inputError(fmt::format("kernel {}: triangle {} does not exist, the scene has {}", i, triangle,
                                    triangles.size()));
    }
    const std::uint32_t face = triangles.faceOf(triangle);
    if (face == kNone) {
      return inputError(fmt::format(
          "kernel {}: triangle {} has no area or repeats another, it cannot carry a kernel", i, triangle));
    }
    kernels.positions[i] = triangles.toSurface(kernel.position);
    kernels.angles[i] = static_cast<float>(triangles.axisInFace(face, kernel.angle));
    kernels.anisotropies[i] = kernel.anisotropy;
    kernels.thresholds[i] = kernel.threshold;
    kernels.sharpnesses[i] = kernel.sharpness;
    kernels.channels[i] = kernel.channels;
  }
  return kernels;
}

const RawExtension* findExtension(const Asset& asset) {
  for (const RawExtension& raw : asset.raw_extensions) {
    if (raw.name == kExtensionName) return &raw;
  }
  return nullptr;
}

/// What a reader will see: positions as float32, around the origin of their mesh. Writing and reading the
/// geometry once makes its surface the one every reader of the product builds.
Result<Asset> storedGeometry(const Asset& asset, const ChannelLayout& layout) {
  GlbOptions bare;
  bare.normals = false;
  const auto geometry = encodeGlb(withoutColors(asset, layout), bare);
  if (!geometry) return geometry.error();
  auto stored = readGltfBytes(*geometry, "product.glb");
  if (!stored) return failure(stored.error().message);
  return stored;
}

/// Whether both have the same meshes, primitives, vertices and instances, whatever their positions.
bool sameShape(const Asset& a, const Asset& b) {
  if (a.meshes.size() != b.meshes.size() || a.instances.size() != b.instances.size()) return false;
  for (std::size_t i = 0; i < a.instances.size(); ++i) {
    if (a.instances[i].mesh != b.instances[i].mesh) return false;
  }
  for (std::size_t m = 0; m < a.meshes.size(); ++m) {
    const auto &p = a.meshes[m].primitives, &q = b.meshes[m].primitives;
    if (p.size() != q.size()) return false;
    for (std::size_t i = 0; i < p.size(); ++i) {
      if (p[i].positions.size() != q[i].positions.size() || p[i].triangles != q[i].triangles) return false;
    }
  }
  return true;
}

Result<std::vector<std::uint8_t>> encode(const Asset& asset, const Surface& surface, const KernelSet& kernels,
                                         const EvaluatorOptions& options, const ProductInfo& info,
                                         const Preparation& preparation) {
  if (kernels.size() == 0) return failure("a product needs at least one kernel");
  if (kernels.layout.groups()[0].name != "base_color") {
    return failure(fmt::format("a product begins with the channels of base_color, the kernels with {}",
                               kernels.layout.groups()[0].name));
  }
  if (!kernels.mean.allFinite()) return failure("the mean is not a number");
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    if (kernels.positions[i].face >= surface.faceCount() || !isFinite(kernels, i)) {
      return failure(fmt::format("kernel {} has no place on the surface or a value that is not a number", i));
    }
  }

  ProductExtension extension;
  extension.options = options;
  extension.layout = kernels.layout;
  extension.mean = kernels.mean.cwiseMax(0.0f).cwiseMin(1.0f);
  extension.kernels = kernels.size();
  extension.triangles = countTriangles(asset);
  extension.info = info;
  // Options a reader would refuse are refused here, before the work.
  if (const auto readable = readExtension(writeExtension(extension)); !readable) {
    return failure(readable.error().message);
  }

  auto stored = storedGeometry(asset, kernels.layout);
  if (!stored) return stored.error();
  auto built = buildSurface(*stored, surfaceOptions(options));
  if (!built) return failure(built.error().message);
  const auto stored_surface = std::make_shared<const Surface>(std::move(*built));

  if (countTriangles(*stored) != extension.triangles) return failure("triangles were lost in writing");
  extension.constant_materials = constantMaterials(*stored);
  const std::size_t stride = kernelBytes(kernels.layout.size());
  std::vector<std::uint8_t> bytes(kernels.size() * stride);
  // HKTex's aligned bases at 0 and 180 degrees differ.
  KernelWriter writer(asset, surface, *stored, *stored_surface, traits(methodOf(options)).periodic_angle);
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    packKernel(writer(kernels, i), extension.ranges, std::span(bytes).subspan(i * stride, stride));
  }

  // The fallback shows the kernels as stored, so that reading and writing again gives the same file.
  auto rounded = unpackKernels(extension, bytes, *stored, *stored_surface);
  if (!rounded) return failure(rounded.error().message);
  const auto texture = KernelTexture::create(
      stored_surface, std::move(*rounded), options, preparation,
      constantFaces(*stored, *stored_surface, extension.constant_materials, kernels.layout));
  if (!texture) return texture.error();
  setFallbackColors(*texture, *stored);

  GlbBuilder builder;
  if (!info.generator.empty()) builder.root()["asset"]["generator"] = info.generator;
  if (auto added = addAsset(builder, *stored, {}); !added) return added.error();
  // Materials are numbered by their first use, so those of a file that was read keep their numbers.
  const std::size_t written = builder.root().contains("materials") ? builder.root()["materials"].size() : 0;
  if (!extension.constant_materials.empty() && written != stored->materials.size())
    return failure("materials were lost in writing");
  extension.buffer_view = static_cast<std::size_t>(builder.addBufferView(bytes));
  builder.useExtension(kExtensionName);
  builder.root()["extensions"][kExtensionName] = GltfJson::parse(writeExtension(extension));
  return builder.finish();
}

Result<Product> decode(Asset asset) {
  const RawExtension* raw = findExtension(asset);
  if (raw == nullptr) {
    return inputError("has no kernels (HSK_kernel_texture); 'heatskin fit' makes a file that has");
  }
  const auto refuse = [](const Error& error) {
    return Error{error.kind, fmt::format("{}: {}", kExtensionName, error.message)};
  };
  if (!raw->listed) return refuse(inputError("is not listed in extensionsUsed"));
  auto extension = readExtension(raw->json);
  if (!extension) return refuse(extension.error());
  const auto view = std::find_if(raw->views.begin(), raw->views.end(), [&](const RawExtension::View& v) {
    return v.index == extension->buffer_view;
  });
  if (view == raw->views.end()) return refuse(inputError("its buffer view does not exist"));

  auto surface = buildSurface(asset, surfaceOptions(extension->options));
  if (!surface) {
    const std::string path = asset.path.empty() ? "" : asset.path.string() + ": ";
    const std::string& message = surface.error().message;
    return Error{surface.error().kind, message.starts_with(path) ? message.substr(path.size()) : message};
  }
  auto kernels = unpackKernels(*extension, view->bytes, asset, *surface);
  if (!kernels) return refuse(kernels.error());
  // Small files may ask for far too much: every kernel on every face.
  if (auto justified = traits(methodOf(extension->options)).check(extension->options, *surface, *kernels, 1);
      !justified)
    return refuse(justified.error());

  if (!extension->constant_materials.empty() &&
      extension->constant_materials.back() >= asset.materials.size()) {
    return refuse(inputError(fmt::format("constantMaterials: material {} does not exist, the file has {}",
                                         extension->constant_materials.back(), asset.materials.size())));
  }

  Product product;
  product.constants = constantFaces(asset, *surface, extension->constant_materials, extension->layout);
  product.kernels = std::move(*kernels);
  product.options = extension->options;
  product.info = extension->info;
  product.model_bytes = view->bytes.size();
  product.notices = asset.notices;
  for (Notice& notice : surface->notices())
    product.notices.push_back(std::move(notice));
  product.surface = std::make_shared<const Surface>(std::move(*surface));
  product.asset = std::move(asset);
  product.asset.raw_extensions.clear();
  return product;
}

}  // namespace

Filter fitFilter(const ProductInfo& info) {
  for (std::size_t i = 0; i < std::size(kFilterNames); ++i) {
    if (info.filter == kFilterNames[i]) return static_cast<Filter>(i);
  }
  return info.preset == "paper" ? Filter::kPaper : Filter::kAuto;
}

Result<bool> useStoredGeometry(Asset& asset) {
  try {
    auto stored = storedGeometry(asset, {});
    if (!stored) return stored.error();
    if (!sameShape(asset, *stored)) return false;
    bool changed = false;
    for (std::size_t i = 0; i < asset.instances.size(); ++i) {
      changed = changed ||
                asset.instances[i].asset_from_mesh.matrix() != stored->instances[i].asset_from_mesh.matrix();
      asset.instances[i].asset_from_mesh = stored->instances[i].asset_from_mesh;
    }
    for (std::size_t m = 0; m < asset.meshes.size(); ++m) {
      for (std::size_t p = 0; p < asset.meshes[m].primitives.size(); ++p) {
        auto& positions = asset.meshes[m].primitives[p].positions;
        auto& rounded = stored->meshes[m].primitives[p].positions;
        changed = changed || positions != rounded;
        positions = std::move(rounded);
      }
    }
    return changed;
  } catch (const std::bad_alloc&) {
    return failure("the geometry does not fit into memory twice");
  }
}

Result<std::vector<std::uint8_t>> encodeProduct(const Asset& asset, const Surface& surface,
                                                const KernelSet& kernels, const EvaluatorOptions& options,
                                                const ProductInfo& info, const Preparation& preparation) {
  const auto failed = [](const std::string& cause) {
    return failure("the product cannot be written: " + cause);
  };
  try {
    auto glb = encode(asset, surface, kernels, options, info, preparation);
    if (!glb) return failed(glb.error().message);
    return glb;
  } catch (const std::bad_alloc&) {
    return failed("not enough memory");
  } catch (const std::exception& problem) {
    return failed(problem.what());
  }
}

bool isProduct(const Asset& asset) {
  return findExtension(asset) != nullptr;
}

Result<Product> decodeProduct(Asset asset) {
  const std::string name = asset.path.empty() ? std::string() : displayPath(asset.path) + ": ";
  try {
    auto product = decode(std::move(asset));
    if (!product) return Error{product.error().kind, name + product.error().message};
    return product;
  } catch (const std::bad_alloc&) {
    return failure(name + "not enough memory");
  } catch (const std::exception& problem) {
    return inputError(name + problem.what());
  }
}

Result<Product> loadProduct(const std::filesystem::path& path) {
  auto asset = loadAsset(path);
  if (!asset) return asset.error();
  return decodeProduct(std::move(*asset));
}

}  // namespace heatskin
