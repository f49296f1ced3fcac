#include "heatskin/surface/face_matching.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <set>
#include <vector>

#include <gtest/gtest.h>

#include "heatskin/base/rng.h"

#include "support/tiny_surfaces.h"

namespace heatskin::testing {
namespace {

struct Triangles {
  std::vector<Vec3> positions;
  std::vector<std::array<std::uint32_t, 3>> faces;
};

Surface built(const Triangles& mesh) {
  SurfaceOptions options;
  options.principal_axes = false;
  auto surface = Surface::build(mesh.positions, mesh.faces, options);
  EXPECT_TRUE(surface) << surface.error().message;
  return std::move(*surface);
}

/// A number in [0, below) for each index.
std::uint32_t draw(std::uint64_t seed, std::uint64_t index, std::uint32_t below) {
  return static_cast<std::uint32_t>(RandomStream(seed, 5).uniform(index) * below);
}

/// The mesh with its triangles in another order, their corners rotated, every corner a vertex of its own, and
/// positions on a grid of `bits` (0: as they are). `order[i]` is where triangle i comes from.
Triangles packed(const Triangles& mesh, std::uint64_t seed, int bits, std::vector<std::uint32_t>& order) {
  order.resize(mesh.faces.size());
  std::iota(order.begin(), order.end(), 0u);
  for (std::uint32_t i = static_cast<std::uint32_t>(order.size()); i-- > 1;)
    std::swap(order[i], order[draw(seed, i, i + 1)]);
  Eigen::AlignedBox3d box;
  for (const Vec3& p : mesh.positions)
    box.extend(p);
  const double step = bits == 0 ? 0 : box.sizes().maxCoeff() / std::ldexp(1.0, bits);
  Triangles out;
  for (const std::uint32_t from : order) {
    const std::uint32_t turn = draw(seed + 1, from, 3);
    std::array<std::uint32_t, 3> face{};
    for (std::uint32_t c = 0; c < 3; ++c) {
      Vec3 p = mesh.positions[mesh.faces[from][(c + turn) % 3]];
      if (bits > 0) p = box.min() + step * ((p - box.min()) / step).array().round().matrix();
      face[c] = static_cast<std::uint32_t>(out.positions.size());
      out.positions.push_back(p);
    }
    out.faces.push_back(face);
  }
  return out;
}

Triangles bumpy() {
  const Soup soup = bumpySphere(4, 0.2, 3);
  return {soup.positions, soup.faces};
}

TEST(FaceMatching, FindsEveryTriangleInAnotherOrderAndPrecision) {
  const Triangles mesh = bumpy();
  const Surface from = built(mesh);
  for (const int bits : {0, 16, 14, 12}) {
    std::vector<std::uint32_t> order;
    const Surface to = built(packed(mesh, 7, bits, order));
    const auto matching = matchFaces(from, to);
    ASSERT_TRUE(matching) << bits << ": " << matching.error().message;
    EXPECT_EQ(matching->lost, 0u);
    EXPECT_EQ(matching->added, 0u);
    // A grid moves a corner by half a step along every axis at most; both are centred by themselves, too.
    EXPECT_LE(matching->largest_move, bits == 0 ? 1e-6 : 3 * std::ldexp(1.0, -bits));
    for (std::uint32_t f = 0; f < from.faceCount(); ++f) {
      const std::uint32_t g = matching->face[f];
      ASSERT_NE(g, kNone);
      EXPECT_EQ(order[to.sources()[g].triangle], from.sources()[f].triangle);
      for (std::size_t c = 0; c < 3; ++c) {
        const Vec3& a = from.positions()[from.faces()[f][c]];
        const Vec3& b = to.positions()[to.faces()[g][matching->corners[f][c]]];
        EXPECT_LE((a - b).norm(), matching->largest_move + 1e-12);
      }
    }
  }
}

TEST(FaceMatching, AnEvenlyScaledAndMovedMeshIsTheSame) {
  const Triangles mesh = bumpy();
  std::vector<std::uint32_t> order;
  Triangles moved = packed(mesh, 9, 0, order);
  for (Vec3& p : moved.positions)
    p = 40 * p + Vec3(3, -800, 12);
  const Surface from = built(mesh), to = built(moved);
  const auto matching = matchFaces(from, to);
  ASSERT_TRUE(matching) << matching.error().message;
  for (std::uint32_t f = 0; f < from.faceCount(); ++f)
    EXPECT_EQ(order[to.sources()[matching->face[f]].triangle], from.sources()[f].triangle);
}

TEST(FaceMatching, RefusesAnotherShape) {
  const Triangles mesh = bumpy();
  const Surface from = built(mesh);
  std::vector<std::uint32_t> order;

  Triangles dent = mesh;  // one vertex of thousands
  dent.positions[5] *= 0.99;
  const auto dented = matchFaces(from, built(dent));
  ASSERT_FALSE(dented);
  EXPECT_EQ(dented.error().code, error_code::kOtherShape);

  Triangles coarse = packed(mesh, 1, 5, order);
  EXPECT_FALSE(matchFaces(from, built(coarse)));

  Triangles hole = mesh;
  hole.faces.pop_back();
  EXPECT_FALSE(matchFaces(from, built(hole)));
  EXPECT_FALSE(matchFaces(built(hole), from));

  Triangles mirrored = mesh;
  for (Vec3& p : mirrored.positions)
    p.x() = -p.x();
  EXPECT_FALSE(matchFaces(from, built(mirrored)));

  const Soup other = icosphere(4);
  EXPECT_FALSE(matchFaces(from, built({other.positions, other.faces})));
}

TEST(FaceMatching, SheetsThatNearlyTouchAreToldApart) {
  // Two sheets a tenth of a grid step apart, the second one turned over: which is which is decided by the
  // nearest corners, and a grid that joins them loses one.
  const Soup soup = flatGrid(12, 12);
  Triangles mesh{soup.positions, soup.faces};
  const auto count = static_cast<std::uint32_t>(mesh.positions.size());
  for (std::uint32_t v = 0; v < count; ++v)
    mesh.positions.push_back(mesh.positions[v] + Vec3(0, 0, 1e-3));
  for (const auto& face : soup.faces)
    mesh.faces.push_back({face[0] + count, face[2] + count, face[1] + count});
  const Surface from = built(mesh);
  std::vector<std::uint32_t> order;
  const Surface to = built(packed(mesh, 3, 14, order));
  const auto matching = matchFaces(from, to);
  ASSERT_TRUE(matching) << matching.error().message;
  for (std::uint32_t f = 0; f < from.faceCount(); ++f)
    EXPECT_EQ(order[to.sources()[matching->face[f]].triangle], from.sources()[f].triangle);
}

TEST(FaceMatching, ManyTrianglesAtOnePlaceEndInAnError) {
  // Tiny triangles beside one that sets the size of the whole, all within the reach of each other.
  Triangles mesh;
  mesh.positions = {Vec3(0, 0, 0), Vec3(1, 0, 0), Vec3(0, 1, 0)};
  mesh.faces = {{0, 1, 2}};
  Triangles other = mesh;
  for (std::uint32_t i = 0; i < 20000; ++i) {
    for (Triangles* m : {&mesh, &other}) {
      const double shift = m == &mesh ? 0.0 : 3e-4;  // not within the first distances that are tried
      const auto at = static_cast<std::uint32_t>(m->positions.size());
      const Vec3 p(0.5 + shift + 1e-5 * RandomStream(1, 1).uniform(i),
                   0.2 + 1e-5 * RandomStream(1, 2).uniform(i), 0.1 + 1e-5 * RandomStream(1, 3).uniform(i));
      m->positions.insert(m->positions.end(), {p, p + Vec3(1e-6, 0, 0), p + Vec3(0, 1e-6, 1e-7)});
      m->faces.push_back({at, at + 1, at + 2});
    }
  }
  const Surface from = built(mesh), to = built(other);
  ASSERT_GT(from.faceCount(), 19000u);
  EXPECT_FALSE(matchFaces(from, to));
}

}  // namespace
}  // namespace heatskin::testing
