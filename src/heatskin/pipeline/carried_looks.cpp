#include "heatskin/pipeline/carried_looks.h"

#include <algorithm>
#include <set>
#include <utility>

#include "heatskin/io/gltf_document.h"
#include "heatskin/io/gltf_reader.h"
#include "heatskin/transfer/refit_kernels.h"

namespace heatskin {
namespace {

constexpr const char* kVariants = "KHR_materials_variants";

bool contains(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

}  // namespace

std::span<const std::string> variantNames(const Asset& asset, std::span<const ProductLook> looks) {
  return looks.empty() ? std::span<const std::string>() : std::span<const std::string>(asset.variants);
}

Result<Asset> withVariantNames(Asset mesh, std::span<const std::string> names) {
  std::vector<std::string> missing;
  for (const std::string& name : names) {
    if (!contains(mesh.variants, name)) missing.push_back(name);
  }
  if (missing.empty()) return mesh;
  auto document = GltfDocument::open(*mesh.file, mesh.path);
  if (!document) return document.error();
  GltfJson& list = document->root()["extensions"][kVariants]["variants"];
  if (!list.is_array()) list = GltfJson::array();
  for (const std::string& name : missing)
    list.push_back({{"name", name}});
  document->useExtension(kVariants);
  const auto glb = document->finish();
  if (!glb) return glb.error();
  auto read = readGltfBytes(*glb, mesh.path);
  if (!read) return read.error();
  read->notices = std::move(mesh.notices);
  read->format = mesh.format;
  return read;
}

std::vector<CarriedLook> looksOnMesh(const Asset& mesh, std::span<const ProductLook> looks) {
  std::vector<CarriedLook> result;
  const std::vector<VariantLook> by_material = variantLooks(mesh);
  for (const std::string& name : mesh.variants) {
    CarriedLook own;
    for (const ProductLook& look : looks) {
      if (contains(look.look.names, name)) own.source = &look;
    }
    for (const VariantLook& look : by_material) {
      if (contains(look.names, name)) own.look.changes = look.changes;
    }
    if (own.source == nullptr && own.look.changes.empty()) continue;
    const auto known = std::find_if(result.begin(), result.end(), [&](const CarriedLook& other) {
      return other.source == own.source && other.look.changes == own.look.changes;
    });
    if (known != result.end()) {
      known->look.names.push_back(name);
    } else {
      own.look.names.push_back(name);
      result.push_back(std::move(own));
    }
  }
  return result;
}

KernelSet withChannelsOf(const KernelSet& kernels, const KernelSet& values) {
  KernelSet out = kernels;
  out.mean = values.mean;
  for (std::size_t i = 0; i < std::min(kernels.size(), values.size()); ++i) {
    const bool moved = kernels.positions[i].face != values.positions[i].face;
    for (const ChannelGroup& group : kernels.layout.groups()) {
      if (moved && group.isTangent()) continue;
      std::copy_n(values.channels.row(i) + group.first, group.count, out.channels.row(i) + group.first);
    }
  }
  return out;
}

bool solveLook(const Surface& surface, const FitTarget& target, Evaluator& evaluator,
               std::span<const std::uint8_t> free, const FitConfig& config, KernelSet& kernels) {
  RefitOptions values;
  values.steps = 0;
  const RefitReport report = refitKernels(surface, target, evaluator, free, config, values, kernels);
  return report.psnr_after > report.psnr_before;
}

Result<KernelTexture> textureOfVariant(const LoadedProduct& product, const std::string& name) {
  auto looks = productLooks(product.product);
  if (!looks) return looks.error();
  for (ProductLook& look : *looks) {
    if (contains(look.look.names, name))
      return product.texture.withValues(std::move(look.kernels), std::move(look.constants));
  }
  return product.texture;
}

}  // namespace heatskin
