// libFuzzer entry for charts: where kernels reach, on the triangles of a file or on a proxy. An input is a
// byte that says which, the sizes of the header (seven 16-bit numbers) and what the buffer inflates to: it is
// deflated here, because damage would not get past the checksum of a stream. What is taken must give colours.
// With HEATSKIN_FUZZ_SEEDS=FOLDER valid inputs of both kinds are written there first.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include <zlib.h>

#include "heatskin/base/files.h"
#include "heatskin/base/parallel.h"
#include "heatskin/io/asset_surface.h"
#include "heatskin/product/charts.h"
#include "heatskin/product/deflate.h"
#include "heatskin/surface/sampling.h"
#include "heatskin/texture/kernel_texture.h"

#include "support/products.h"

namespace {

using namespace heatskin;
using namespace heatskin::testing;

constexpr std::size_t kSizes = 7, kHead = 1 + 2 * kSizes;

/// A mesh with kernels on it.
struct Subject {
  Asset asset;
  std::shared_ptr<const Surface> surface;
  KernelSet kernels;
  EvaluatorOptions options;
};

Subject makeSubject(Asset asset, std::size_t proxy_faces) {
  Subject subject;
  subject.asset = std::move(asset);
  auto surface = buildSurface(subject.asset);
  if (!surface) std::abort();
  subject.surface = std::make_shared<const Surface>(std::move(*surface));
  subject.kernels = randomKernels(*subject.surface, 12);
  local::LocalOptions options;
  options.join_corners = true;
  options.proxy_faces = proxy_faces;
  subject.options = options;
  return subject;
}

const Subject& subjectOf(bool proxied) {
  static const Subject plain = makeSubject(assetOf(cube(2)), 0);
  static const Subject fine = makeSubject(assetOf(flatGrid(12, 12)), 60);
  return proxied ? fine : plain;
}

void writeSeeds(const std::filesystem::path& folder) {
  for (const bool proxied : {false, true}) {
    const Subject& s = subjectOf(proxied);
    const auto texture = KernelTexture::create(s.surface, s.kernels, s.options);
    if (!texture) std::abort();
    const auto packed = packCharts(texture->evaluator(), s.asset, *s.surface, s.kernels);
    if (!packed || packed->header.proxy.has_value() != proxied) std::abort();
    const ChartsHeader& h = packed->header;
    const ProxyHeader proxy = h.proxy.value_or(ProxyHeader());
    const std::array<std::size_t, kSizes> sizes = {
        h.steps, h.orders, h.neighbours, proxy.vertices, proxy.faces, proxy.listed, proxy.face_neighbours};
    std::string input(1, proxied ? 1 : 0);
    for (const std::size_t size : sizes) {
      input.push_back(static_cast<char>(size & 0xFF));
      input.push_back(static_cast<char>(size >> 8));
    }
    const std::size_t bytes = h.steps + 4 * (h.orders + 2 * h.neighbours) +
                              (proxied ? proxyBytes(proxy, countTriangles(s.asset), s.kernels.size()) : 0);
    const auto inflated = inflateExactly(packed->bytes, bytes);
    if (!inflated) std::abort();
    input.append(inflated->begin(), inflated->end());
    if (!writeFileAtomically(folder / (proxied ? "proxy_charts" : "charts"), input)) std::abort();
  }
}

}  // namespace

extern "C" int LLVMFuzzerInitialize(int*, char***) {
  setThreadCount(1);
  if (const char* folder = std::getenv("HEATSKIN_FUZZ_SEEDS")) writeSeeds(folder);
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < kHead) return 0;
  const Subject& s = subjectOf((data[0] & 1) != 0);
  std::array<std::size_t, kSizes> sizes;
  for (std::size_t i = 0; i < kSizes; ++i)
    sizes[i] = data[1 + 2 * i] | std::size_t{data[2 + 2 * i]} << 8;
  ChartsHeader header{0, sizes[0], sizes[1], sizes[2]};
  if ((data[0] & 1) != 0) header.proxy = ProxyHeader{sizes[3], sizes[4], sizes[6], sizes[5]};
  const std::vector<std::uint8_t> inflated(data + kHead, data + size);
  if (inflated.empty()) return 0;
  const std::vector<std::uint8_t> bytes = deflateParts(inflated, inflated.size(), Z_DEFAULT_STRATEGY);
  auto supports = unpackCharts(header, bytes, s.asset, s.surface, s.kernels);
  if (!supports) {
    if (supports.error().message.empty() || supports.error().message.find('\n') != std::string::npos)
      std::abort();
    return 0;
  }
  Preparation preparation;
  preparation.supports = std::move(*supports);
  const auto texture = KernelTexture::create(s.surface, s.kernels, s.options, preparation);
  if (!texture) return 0;
  const std::vector<SurfacePoint> points = sampleSurface(*s.surface, 20, 1);
  std::vector<Vec3f> colors(points.size());
  texture->colors(points, colors);
  for (const Vec3f& color : colors) {
    if (!(color.minCoeff() >= 0 && color.maxCoeff() <= 1)) std::abort();
  }
  return 0;
}
