#include "heatskin/product/product.h"

#include <algorithm>
#include <cmath>
#include <exception>
#include <new>
#include <optional>
#include <span>
#include <utility>

#include <fmt/format.h>

#include "heatskin/base/files.h"
#include "heatskin/base/result.h"
#include "heatskin/evaluators/method_traits.h"
#include "heatskin/io/asset.h"
#include "heatskin/io/asset_surface.h"
#include "heatskin/io/glb_writer.h"
#include "heatskin/io/gltf_reader.h"
#include "heatskin/product/asset_constants.h"
#include "heatskin/product/charts.h"
#include "heatskin/product/fallback_colors.h"
#include "heatskin/product/geometry_fingerprint.h"
#include "heatskin/product/product_document.h"
#include "heatskin/product/product_extension.h"
#include "heatskin/product/product_writer.h"
#include "heatskin/product/source_triangles.h"
#include "heatskin/product/stored_kernels.h"
#include "heatskin/texture/kernel_texture.h"

namespace heatskin {
namespace {

bool isFinite(const KernelSet& kernels, std::size_t i) {
  return kernels.positions[i].barycentric.allFinite() && kernels.positions[i].barycentric.maxCoeff() > 0 &&
         std::isfinite(kernels.angles[i]) && std::isfinite(kernels.anisotropies[i]) &&
         std::isfinite(kernels.thresholds[i]) && std::isfinite(kernels.sharpnesses[i]) &&
         std::isfinite(kernels.lengths[i]) && kernels.channels[i].allFinite();
}

const RawExtension* findExtension(const Asset& asset) {
  for (const RawExtension& raw : asset.raw_extensions) {
    if (raw.name == kExtensionName) return &raw;
  }
  return nullptr;
}

/// What a reader of a glTF file of the asset will see: positions as float32, around the origin of their mesh.
Result<Asset> storedGeometry(Asset asset) {
  for (Material& material : asset.materials)
    material.base_color = {};
  asset.textures.clear();
  asset.images.clear();
  GlbOptions bare;
  bare.normals = false;
  const auto geometry = encodeGlb(asset, bare);
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

/// Whether both have the same triangles to the bit.
bool sameGeometry(const Asset& a, const Asset& b) {
  if (!sameShape(a, b)) return false;
  for (std::size_t i = 0; i < a.instances.size(); ++i) {
    if (a.instances[i].asset_from_mesh.matrix() != b.instances[i].asset_from_mesh.matrix()) return false;
  }
  for (std::size_t m = 0; m < a.meshes.size(); ++m) {
    for (std::size_t p = 0; p < a.meshes[m].primitives.size(); ++p) {
      if (a.meshes[m].primitives[p].positions != b.meshes[m].primitives[p].positions) return false;
    }
  }
  return true;
}

bool sameKernels(const KernelSet& a, const KernelSet& b) {
  const auto same_point = [](const SurfacePoint& p, const SurfacePoint& q) {
    return p.face == q.face && p.barycentric == q.barycentric;
  };
  return a.layout.sameChannels(b.layout) &&
         std::equal(a.positions.begin(), a.positions.end(), b.positions.begin(), b.positions.end(),
                    same_point) &&
         a.mean == b.mean && a.angles == b.angles && a.anisotropies == b.anisotropies &&
         a.thresholds == b.thresholds && a.sharpnesses == b.sharpnesses && a.lengths == b.lengths &&
         a.channels.values == b.channels.values;
}

Error unwritten(const Error& cause) {
  return {ErrorKind::kFailed, "the product cannot be written: " + cause.message, cause.code};
}

/// make() with its errors and exceptions as errors of writing.
template <class T, class Make>
Result<T> writing(const Make& make) {
  try {
    Result<T> made = make();
    if (!made) return unwritten(made.error());
    return made;
  } catch (const std::bad_alloc&) {
    return unwritten(failure("not enough memory"));
  } catch (const std::exception& problem) {
    return unwritten(failure(problem.what()));
  }
}

}  // namespace

struct ProductWriter::Impl {
  Impl(ProductDocument made, Fallback chosen) : document(std::move(made)), fallback(chosen) {}

  ProductDocument document;
  Fallback fallback;
  std::shared_ptr<const Surface> surface;
  ProductExtension extension;
  std::vector<std::uint8_t> bytes;                       // of the kernels
  std::vector<std::vector<std::uint8_t>> variant_bytes;  // [extension.variants]
  bool charts = true;
  KernelSet kernels;
  ConstantFaces constants;
  std::vector<ProductWriter::Variant> variants;

  std::optional<PackedCharts> chartsOf(const KernelTexture& texture) const {
    if (!charts) return {};
    return packCharts(texture.evaluator(), document.stored(), texture.surface(), kernels);
  }

  Result<std::vector<std::uint8_t>> file(const Asset& colored, std::span<const FallbackImage> images,
                                         std::optional<PackedCharts> packed) const {
    const Vec3f mean(kernels.mean.data() + kernels.layout.find("base_color")->first);
    std::vector<std::vector<std::uint8_t>> buffers = {bytes};
    if (packed) buffers.push_back(std::move(packed->bytes));
    buffers.insert(buffers.end(), variant_bytes.begin(), variant_bytes.end());
    return document.finish(
        colored, buffers,
        [&](std::size_t view) {
          ProductExtension numbered = extension;
          numbered.buffer_view = view;
          if (packed) {
            numbered.charts = packed->header;
            numbered.charts->buffer_view = view + 1;
          }
          for (std::size_t v = 0; v < numbered.variants.size(); ++v)
            numbered.variants[v].buffer_view = view + (packed ? 2 : 1) + v;
          return writeExtension(numbered);
        },
        mean, extension.info.generator, images);
  }
};

namespace {

/// On `known`, if it is the surface of the asset; otherwise on one that also suits `evaluated_with`.
Result<Product> decode(Asset asset, std::optional<Method> evaluated_with,
                       std::shared_ptr<const Surface> known) {
  const RawExtension* raw = findExtension(asset);
  if (raw == nullptr) {
    return inputError("has no kernels (HSK_kernel_texture)", error_code::kNoKernels);
  }
  const auto refuse = [](const Error& error) { return error.prefixed(fmt::format("{}: ", kExtensionName)); };
  if (raw->from_extras && raw->geometry != geometryFingerprint(asset)) {
    return inputError(
        "its kernels are in its extras only, and its triangles are no longer those they were stored for: "
        "reordered, rounded or edited",
        error_code::kOtherGeometry);
  }
  if (!raw->listed) return refuse(inputError("is not listed in extensionsUsed"));
  auto extension = readExtension(raw->json);
  if (!extension) return refuse(extension.error());
  const auto viewAt = [&](std::size_t index) {
    return std::find_if(raw->views.begin(), raw->views.end(),
                        [&](const RawExtension::View& v) { return v.index == index; });
  };
  const auto view = viewAt(extension->buffer_view);
  if (view == raw->views.end()) return refuse(inputError("its buffer view does not exist"));

  std::shared_ptr<const Surface> surface = std::move(known);
  if (surface == nullptr) {
    SurfaceOptions options = productSurfaceOptions(methodOf(extension->options));
    if (evaluated_with) options.principal_axes |= productSurfaceOptions(*evaluated_with).principal_axes;
    auto built = buildSurface(asset, options);
    if (!built) {
      const std::string path = asset.path.empty() ? "" : asset.path.string() + ": ";
      Error error = built.error();
      if (error.message.starts_with(path)) error.message.erase(0, path.size());
      return error;
    }
    surface = std::make_shared<const Surface>(std::move(*built));
  }
  const StoredValues* variant = nullptr;
  std::span<const std::uint8_t> variant_bytes;
  if (!asset.variant.empty()) {
    for (const StoredValues& values : extension->variants) {
      if (std::find(values.names.begin(), values.names.end(), asset.variant) == values.names.end()) continue;
      const auto found = viewAt(values.buffer_view);
      if (found == raw->views.end()) return refuse(inputError("the buffer view of a variant does not exist"));
      variant = &values;
      variant_bytes = found->bytes;
    }
  }
  auto kernels = unpackKernels(*extension, view->bytes, asset, *surface, variant, variant_bytes);
  if (!kernels) return refuse(kernels.error());

  std::vector<std::vector<std::size_t>> lists = extension->constant_materials.of_group;
  lists.push_back(extension->constant_materials.all);
  for (const std::vector<std::size_t>& list : lists) {
    if (list.empty() || list.back() < asset.materials.size()) continue;
    return refuse(inputError(fmt::format("constantMaterials: material {} does not exist, the file has {}",
                                         list.back(), asset.materials.size())));
  }

  Product product;
  for (const StoredValues& values : extension->variants) {
    product.variants.insert(product.variants.end(), values.names.begin(), values.names.end());
    if (const auto found = viewAt(values.buffer_view); found != raw->views.end())
      product.variant_bytes += found->bytes.size();
  }
  product.constants = constantFaces(asset, *surface, extension->constant_materials, extension->layout);
  if (extension->charts) {
    const auto charts = viewAt(extension->charts->buffer_view);
    if (charts == raw->views.end()) return refuse(inputError("the buffer view of its charts does not exist"));
    auto supports = unpackCharts(*extension->charts, charts->bytes, asset, surface, *kernels);
    if (!supports) return refuse(supports.error());
    product.supports = std::move(*supports);
    product.chart_bytes = charts->bytes.size();
  }
  product.kernels = std::move(*kernels);
  product.options = extension->options;
  product.info = extension->info;
  product.model_bytes = view->bytes.size();
  if (!asset.variants.empty()) product.stored = std::make_shared<const RawExtension>(*raw);
  product.notices = asset.notices;
  for (Notice& notice : surface->notices())
    product.notices.push_back(std::move(notice));
  product.surface = std::move(surface);
  product.asset = std::move(asset);
  product.asset.raw_extensions.clear();
  return product;
}

}  // namespace

SurfaceOptions productSurfaceOptions(Method method) {
  SurfaceOptions options;
  options.principal_axes = traits(method).principal_axes;
  return options;
}

Filter fitFilter(const ProductInfo& info) {
  for (std::size_t i = 0; i < std::size(kFilterNames); ++i) {
    if (info.filter == kFilterNames[i]) return static_cast<Filter>(i);
  }
  return info.preset == "paper" ? Filter::kPaper : Filter::kAuto;
}

Result<bool> useStoredGeometry(Asset& asset) {
  try {
    if (asset.file != nullptr) return false;  // products of a glTF file have its geometry
    auto stored = storedGeometry(asset);
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
    return failure("not enough memory for a copy of the geometry");
  }
}

ProductWriter::ProductWriter(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
ProductWriter::~ProductWriter() = default;
ProductWriter::ProductWriter(ProductWriter&&) noexcept = default;
ProductWriter& ProductWriter::operator=(ProductWriter&&) noexcept = default;

const std::shared_ptr<const Surface>& ProductWriter::surface() const {
  return impl_->surface;
}
const KernelSet& ProductWriter::kernels() const {
  return impl_->kernels;
}
const ConstantFaces& ProductWriter::constants() const {
  return impl_->constants;
}
const std::vector<ProductWriter::Variant>& ProductWriter::variants() const {
  return impl_->variants;
}
const std::vector<std::string>& ProductWriter::kept() const {
  return impl_->document.kept();
}
const std::vector<std::string>& ProductWriter::dropped() const {
  return impl_->document.dropped();
}

const std::vector<Notice>& ProductWriter::notices() const {
  return impl_->document.notices();
}

Result<ProductWriter> ProductWriter::create(const Asset& asset, std::shared_ptr<const Surface> surface,
                                            bool as_readers_build, const KernelSet& kernels,
                                            const EvaluatorOptions& options, const ProductInfo& info,
                                            const ProductFile& file, int barycentric_bits) {
  return writing<ProductWriter>([&]() -> Result<ProductWriter> {
    if (kernels.size() == 0) return failure("a product needs at least one kernel");
    if (kernels.layout.groups()[0].name != "base_color") {
      return failure(fmt::format(
          "the channels of a product must begin with base_color; those of the kernels begin with {}",
          kernels.layout.groups()[0].name));
    }
    if (!kernels.mean.allFinite()) return failure("the mean is not a number");
    for (std::size_t i = 0; i < kernels.size(); ++i) {
      if (kernels.positions[i].face >= surface->faceCount() || !isFinite(kernels, i)) {
        return failure(fmt::format("kernel {} is not on the surface or has a value that is not a number", i));
      }
    }

    ProductExtension extension;
    extension.options = options;
    extension.layout = kernels.layout;
    extension.scales.channel_bits = defaultChannelBits(kernels.layout);
    extension.mean = kernels.mean.cwiseMax(0.0f).cwiseMin(1.0f);
    extension.kernels = kernels.size();
    extension.triangles = countTriangles(asset);
    extension.info = info;
    // Options a reader would refuse are refused here, before the work.
    if (const auto readable = readExtension(writeExtension(extension)); !readable) {
      return failure(readable.error().message);
    }

    auto document = ProductDocument::create(asset, *surface, kernels.layout, file);
    if (!document) return document.error();
    if (asset.file != nullptr && !sameGeometry(asset, document->stored())) {
      // The asset is no longer what was in the file.
      Asset changed = asset;
      changed.file = nullptr;
      document = ProductDocument::create(changed, *surface, kernels.layout, file);
      if (!document) return document.error();
    }
    auto impl = std::make_unique<Impl>(std::move(*document), file.fallback);
    impl->charts = file.charts;
    const Asset& stored = impl->document.stored();
    std::shared_ptr<const Surface> stored_surface = surface;
    if (!as_readers_build || !sameGeometry(asset, stored)) {
      auto built = buildSurface(stored, productSurfaceOptions(methodOf(options)));
      if (!built) return failure(built.error().message, built.error().code);
      stored_surface = std::make_shared<const Surface>(std::move(*built));
    }

    if (countTriangles(stored) != extension.triangles) return failure("triangles were lost in writing");
    extension.constant_materials = impl->document.constantMaterials();
    // A file that had to be made anew has no variants.
    const std::vector<VariantKernels> none;
    const std::vector<VariantKernels>& variants = stored.variants.empty() ? none : file.variants;
    PackedKernels packed =
        packKernels(kernels, asset, *surface, stored, *stored_surface, options, variants, barycentric_bits);
    extension.scales = std::move(packed.scales);
    impl->bytes = std::move(packed.bytes);

    // What is shown from here on is what the file holds, so that reading and writing again gives the same
    // file.
    auto rounded = unpackKernels(extension, impl->bytes, stored, *stored_surface);
    if (!rounded) return failure(rounded.error().message);
    impl->kernels = std::move(*rounded);
    impl->constants = constantFaces(stored, *stored_surface, extension.constant_materials, kernels.layout);
    Asset other = stored;
    for (std::size_t v = 0; v < variants.size(); ++v) {
      // Materials have other numbers in the file, which the names of variants lead to.
      const std::string& name = variants[v].look.names.front();
      if (auto selected = selectVariant(other, name); !selected) return failure(selected.error().message);
      ProductWriter::Variant& variant = impl->variants.emplace_back();
      variant.bytes = packed.variants[v].bytes.size();
      variant.kernels = impl->kernels;
      if (variant.bytes > 0) {
        StoredValues& values = extension.variants.emplace_back(std::move(packed.variants[v].header));
        values.names = variants[v].look.names;
        impl->variant_bytes.push_back(std::move(packed.variants[v].bytes));
        auto own = unpackKernels(extension, impl->bytes, stored, *stored_surface, &values,
                                 impl->variant_bytes.back());
        if (!own) return failure(own.error().message);
        variant.kernels = std::move(*own);
      }
      variant.constants = constantFaces(other, *stored_surface, extension.constant_materials, kernels.layout);
      for (std::size_t m = 0; m < other.meshes.size(); ++m) {
        for (std::size_t p = 0; p < other.meshes[m].primitives.size(); ++p)
          other.meshes[m].primitives[p].material = stored.meshes[m].primitives[p].material;
      }
    }
    if (const auto readable = readExtension(writeExtension(extension)); !readable)
      return failure(readable.error().message);
    impl->extension = std::move(extension);
    impl->surface = std::move(stored_surface);
    return ProductWriter(std::move(impl));
  });
}

const std::vector<FallbackRequest>& ProductWriter::fallbackRequests() const {
  return impl_->document.fallbackRequests();
}

Result<std::vector<std::uint8_t>> ProductWriter::finish(const KernelTexture& texture,
                                                        std::span<const FallbackImage> images) const {
  return writing<std::vector<std::uint8_t>>([&]() -> Result<std::vector<std::uint8_t>> {
    if (images.size() != fallbackRequests().size()) return failure("images for the fallback are missing");
    if (impl_->fallback != Fallback::kVertex && impl_->fallback != Fallback::kTexture)
      return impl_->file(impl_->document.stored(), {}, impl_->chartsOf(texture));
    Asset colored = impl_->document.stored();
    setFallbackColors(texture, colored);
    return impl_->file(colored, images, impl_->chartsOf(texture));
  });
}

Result<std::vector<std::uint8_t>> ProductWriter::finishPlain() const {
  return writing<std::vector<std::uint8_t>>([&] { return impl_->file(impl_->document.stored(), {}, {}); });
}

Result<Product> ProductWriter::readBack(Asset file) const {
  const std::string name = file.path.empty() ? std::string() : displayPath(file.path) + ": ";
  const auto differs = [&](std::string_view what) {
    return failure(fmt::format("{}{} differ from what was written; check the disk", name, what));
  };
  try {
    if (!sameGeometry(file, impl_->document.stored())) return differs("the triangles");
    auto product = decode(std::move(file), {}, impl_->surface);
    if (!product) return product.error().prefixed(name);
    if (!sameKernels(product->kernels, impl_->kernels)) return differs("the kernels");
    return product;
  } catch (const std::bad_alloc&) {
    return failure(name + "not enough memory");
  } catch (const std::exception& problem) {
    return failure(name + problem.what());
  }
}

Result<std::vector<std::uint8_t>> encodeProduct(const Asset& asset, const Surface& surface,
                                                const KernelSet& kernels, const EvaluatorOptions& options,
                                                const ProductInfo& info, const Preparation& preparation,
                                                const ProductFile& file) {
  // The surface outlives this call, and with it everything that is made here.
  const std::shared_ptr<const Surface> shared(std::shared_ptr<void>(), &surface);
  const auto writer = ProductWriter::create(asset, shared, false, kernels, options, info, file);
  if (!writer) return writer.error();
  const auto texture =
      KernelTexture::create(writer->surface(), writer->kernels(), options, preparation, writer->constants());
  if (!texture) return unwritten(texture.error());
  return writer->finish(*texture);
}

bool isProduct(const Asset& asset) {
  return findExtension(asset) != nullptr;
}

Result<Product> decodeProduct(Asset asset, std::optional<Method> evaluated_with) {
  const std::string name = asset.path.empty() ? std::string() : displayPath(asset.path) + ": ";
  try {
    auto product = decode(std::move(asset), evaluated_with, nullptr);
    if (!product) return product.error().prefixed(name);
    return product;
  } catch (const std::bad_alloc&) {
    return failure(name + "not enough memory");
  } catch (const std::exception& problem) {
    return inputError(name + problem.what());
  }
}

Result<std::vector<ProductLook>> productLooks(const Product& product) {
  std::vector<ProductLook> looks;
  if (product.stored == nullptr || !product.asset.variant.empty()) return looks;
  const RawExtension& raw = *product.stored;
  const auto extension = readExtension(raw.json);
  if (!extension) return extension.error();
  const auto bytesAt = [&](std::size_t index) -> std::span<const std::uint8_t> {
    for (const RawExtension::View& view : raw.views) {
      if (view.index == index) return view.bytes;
    }
    return {};
  };
  // Names that have the same materials and the same values are one look.
  struct Key {
    const StoredValues* values = nullptr;
    std::vector<VariantLook::Change> changes;

    bool operator==(const Key&) const = default;
  };
  const std::vector<VariantLook> by_material = variantLooks(product.asset);
  std::vector<Key> keys;
  for (const std::string& name : product.asset.variants) {
    const auto has_name = [&](const std::vector<std::string>& names) {
      return std::find(names.begin(), names.end(), name) != names.end();
    };
    Key key;
    for (const StoredValues& values : extension->variants) {
      if (has_name(values.names)) key.values = &values;
    }
    for (const VariantLook& look : by_material) {
      if (has_name(look.names)) key.changes = look.changes;
    }
    if (key == Key()) continue;
    const auto known = std::find(keys.begin(), keys.end(), key);
    const auto at = static_cast<std::size_t>(known - keys.begin());
    if (known == keys.end()) {
      looks.push_back({{{}, key.changes}, {}, {}});
      keys.push_back(std::move(key));
    }
    looks[at].look.names.push_back(name);
  }
  Asset other = looks.empty() ? Asset() : product.asset;
  for (std::size_t l = 0; l < looks.size(); ++l) {
    ProductLook& look = looks[l];
    look.kernels = product.kernels;
    if (const StoredValues* values = keys[l].values) {
      auto kernels = unpackKernels(*extension, bytesAt(extension->buffer_view), product.asset,
                                   *product.surface, values, bytesAt(values->buffer_view));
      if (!kernels) return kernels.error().prefixed(fmt::format("{}: ", kExtensionName));
      look.kernels = std::move(*kernels);
    }
    setLook(other, look.look);
    look.constants = constantFaces(other, *product.surface, extension->constant_materials, extension->layout);
    unsetLook(other, product.asset, look.look);
  }
  return looks;
}

Result<Product> loadProduct(const std::filesystem::path& path) {
  auto asset = loadAsset(path);
  if (!asset) return asset.error();
  return decodeProduct(std::move(*asset));
}

}  // namespace heatskin
