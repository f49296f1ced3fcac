#include "heatskin/rendering/vertex_colors.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include <Eigen/IterativeLinearSolvers>
#include <Eigen/SparseCore>

#include "heatskin/base/parallel.h"
#include "heatskin/io/color_space.h"
#include "heatskin/io/image_f.h"

namespace heatskin {
namespace {

constexpr std::size_t kPointsPerBlock = 4096;
constexpr int kFewestCuts = 2, kMostCuts = 64;  // of a subdivided face's edges, for samples

/// What a sample that nobody sees counts: vertices around it get a colour, and it takes none from others.
constexpr float kUnseen = 1e-4f;

/// Where the solver stops, relative to the right side: far below a 256th of a colour.
constexpr double kSolverTolerance = 1e-6;
constexpr int kSolverSteps = 500;

/// Rounds of reweighted least squares after the first one; the best round is kept.
constexpr int kReweightings = 3;

/// What the error between two values in linear light counts in sRGB: the squared slope of the line between
/// them on the transfer function, so that weight times squared error is the squared error in sRGB.
double srgbWeight(float linear, float other) {
  constexpr float kSame = 1e-4f;  // nearer ones have the slope of the tangent
  if (std::abs(linear - other) < kSame) {
    const double middle = 0.5 * (static_cast<double>(linear) + static_cast<double>(other));
    const double slope = middle <= 0.0031308 ? 12.92 : 1.055 / 2.4 * std::pow(middle, 1 / 2.4 - 1);
    return slope * slope;
  }
  const double slope =
      static_cast<double>((srgbFromLinear(linear) - srgbFromLinear(other)) / (linear - other));
  return slope * slope;
}

/// Numbers of edges, one for both half-edges.
std::uint32_t numberEdges(const Surface& surface, std::vector<std::uint32_t>& edge) {
  edge.resize(3 * std::size_t{surface.faceCount()});
  std::uint32_t count = 0;
  for (std::uint32_t h = 0; h < edge.size(); ++h) {
    const std::uint32_t twin = surface.twins()[h / 3][h % 3];
    edge[h] = twin != kNone && twin < h ? edge[twin] : count++;
  }
  return count;
}

/// Centres of the small triangles that a grid of m x m cuts a triangle into, m^2 of them.
std::vector<Vec3> triangleGrid(int m) {
  std::vector<Vec3> result;
  const auto add = [&](double a, double b) { result.emplace_back(a / m, b / m, (m - a - b) / m); };
  for (int i = 0; i < m; ++i) {
    for (int j = 0; i + j < m; ++j) {
      add(i + 1.0 / 3, j + 1.0 / 3);
      if (i + j < m - 1) add(i + 2.0 / 3, j + 2.0 / 3);
    }
  }
  return result;
}

/// A small triangle of a face whose edges are cut into n parts: its corners in lattice coordinates, which sum
/// to n.
using Cell = std::array<std::array<int, 3>, 3>;

/// Where a point of a face is: its cell and the weights of the cell's corners.
struct CellPoint {
  Cell cell;
  std::array<float, 3> weights;
};

CellPoint cellPoint(const Vec3& barycentric, int n) {
  const double x = std::clamp(barycentric[0], 0.0, 1.0) * n, y = std::clamp(barycentric[1], 0.0, 1.0) * n;
  const int i = std::min(static_cast<int>(x), n - 1), j = std::min(static_cast<int>(y), n - 1 - i);
  const int k = n - 1 - i - j;
  const double a = x - i, b = std::min(y - j, 1.0);
  const auto weights = [](double u, double v, double w) {
    return std::array<float, 3>{static_cast<float>(u), static_cast<float>(v), static_cast<float>(w)};
  };
  if (a + b <= 1 || k == 0)
    return {{{{i + 1, j, k}, {i, j + 1, k}, {i, j, k + 1}}}, weights(a, b, std::max(0.0, 1 - a - b))};
  // The triangle that stands on its head.
  return {{{{i, j + 1, k}, {i + 1, j, k}, {i + 1, j + 1, k - 1}}}, weights(1 - a, 1 - b, a + b - 1)};
}

}  // namespace

std::size_t subdividedVertices(const Surface& surface, int level) {
  std::vector<std::uint32_t> unused;
  const std::size_t edges = numberEdges(surface, unused), n = std::size_t{1} << level;
  return surface.vertexCount() + edges * (n - 1) +
         std::size_t{surface.faceCount()} * ((n - 1) * (n > 1 ? n - 2 : 0) / 2);
}

VertexColors::VertexColors(const Surface& surface, int level)
    : surface_(&surface), level_(level), parts_(1 << level) {
  edges_ = numberEdges(surface, edge_);
  colors_.resize(subdividedVertices(surface, level));
}

/// Lattice coordinates sum to parts_.
std::uint32_t VertexColors::vertex(std::uint32_t face, const std::array<int, 3>& lattice) const {
  const int n = parts_;
  for (std::size_t c = 0; c < 3; ++c) {
    if (lattice[c] == n) return surface_->faces()[face][c];
  }
  const auto inner = static_cast<std::uint32_t>(n - 1);
  for (std::uint32_t e = 0; e < 3; ++e) {
    if (lattice[(e + 2) % 3] != 0) continue;
    // A vertex on an edge is counted from the start of the half-edge that was numbered first.
    const std::uint32_t h = 3 * face + e, twin = surface_->twins()[face][e];
    const int along = lattice[(e + 1) % 3];
    const int from_start = twin != kNone && twin < h ? n - along : along;
    return surface_->vertexCount() + edge_[h] * inner + static_cast<std::uint32_t>(from_start - 1);
  }
  const int i = lattice[0], j = lattice[1];
  const int row = (i - 1) * (n - 1) - i * (i - 1) / 2;  // vertices in the rows before row i
  return surface_->vertexCount() + edges_ * inner + face * (inner * (inner - 1) / 2) +
         static_cast<std::uint32_t>(row + j - 1);
}

void VertexColors::at(std::span<const SurfacePoint> points, std::span<Vec3f> out) const {
  parallelFor(points.size(), kPointsPerBlock, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      const CellPoint where = cellPoint(points[i].barycentric, parts_);
      Vec3f linear = Vec3f::Zero();
      for (std::size_t v = 0; v < 3; ++v) {
        const auto& color = colors_[vertex(points[i].face, where.cell[v])];
        linear += where.weights[v] *
                  Vec3f(linearFromSrgb8[color[0]], linearFromSrgb8[color[1]], linearFromSrgb8[color[2]]);
      }
      for (int c = 0; c < 3; ++c)
        out[i][c] = srgbFromLinear(std::clamp(linear[c], 0.0f, 1.0f));
    }
  });
}

VertexColors VertexColors::fit(const Surface& surface, int level, const ColorSource& truth,
                               const AlphaSource& alpha, std::size_t samples) {
  VertexColors result(surface, std::clamp(level, 0, kMaxSubdivisions));
  const std::size_t small = static_cast<std::size_t>(result.parts_) * static_cast<std::size_t>(result.parts_);
  const double wanted = std::sqrt(static_cast<double>(samples) /
                                  (static_cast<double>(surface.faceCount()) * static_cast<double>(small)));
  const int cuts = std::clamp(static_cast<int>(wanted), kFewestCuts, kMostCuts);
  // Samples lie inside of subdivided faces, never on their borders.
  const std::vector<Vec3> grid = triangleGrid(cuts * result.parts_);

  // All faces have the same cells and samples.
  std::map<Cell, std::size_t> cell_numbers;
  std::vector<CellPoint> places;
  std::vector<std::size_t> cell_of;
  for (const Vec3& barycentric : grid) {
    places.push_back(cellPoint(barycentric, result.parts_));
    cell_of.push_back(cell_numbers.try_emplace(places.back().cell, cell_numbers.size()).first->second);
  }
  using Products = std::array<std::array<double, 9>, 3>;  // of weights, for each channel
  std::vector<Products> products(cell_numbers.size());
  std::vector<std::array<std::uint32_t, 3>> corners(cell_numbers.size());

  // The normal equations, one system for each channel because errors count by the colour.
  const auto count = static_cast<Eigen::Index>(result.colors_.size());
  using Matrix = Eigen::SparseMatrix<double>;
  std::array<std::vector<Eigen::Triplet<double>>, 3> entries;
  std::array<Eigen::VectorXd, 3> right;

  // What is sought, in linear light; first there is nothing, and sRGB values are interpolated instead.
  using Values = std::array<std::vector<float>, 3>;  // [3][V]
  Values values, best;
  double least = std::numeric_limits<double>::infinity();

  std::vector<SurfacePoint> points(grid.size());
  std::vector<Vec3f> colors(grid.size());
  std::vector<float> visible(grid.size(), 1.0f);
  // Equations for the next values; returns the squared error of the present ones, in sRGB.
  const auto equations = [&](bool first) {
    double squared = 0;
    right.fill(Eigen::VectorXd::Zero(count));
    for (std::uint32_t f = 0; f < surface.faceCount(); ++f) {
      for (std::size_t i = 0; i < grid.size(); ++i)
        points[i] = {f, grid[i]};
      for (std::size_t begin = 0; begin < grid.size(); begin += kColorBatch) {
        const std::size_t batch = std::min(kColorBatch, grid.size() - begin);
        truth(std::span(points).subspan(begin, batch), std::span(colors).subspan(begin, batch));
        if (alpha) alpha(std::span(points).subspan(begin, batch), std::span(visible).subspan(begin, batch));
      }
      for (const auto& [cell, number] : cell_numbers) {
        for (std::size_t v = 0; v < 3; ++v)
          corners[number][v] = result.vertex(f, cell[v]);
      }
      products.assign(products.size(), {});
      const double area = surface.areas()[f] / static_cast<double>(grid.size());
      for (std::size_t i = 0; i < grid.size(); ++i) {
        const auto& weights = places[i].weights;
        const auto& around = corners[cell_of[i]];
        const double seen = static_cast<double>(std::max(visible[i], kUnseen)) * area;
        for (std::size_t c = 0; c < 3; ++c) {
          const float srgb = colors[i][static_cast<int>(c)];
          float wanted_value = srgb;
          double weight = seen;
          if (!first) {
            wanted_value = linearFromSrgb(srgb);
            const float now = weights[0] * values[c][around[0]] + weights[1] * values[c][around[1]] +
                              weights[2] * values[c][around[2]];
            weight *= srgbWeight(wanted_value, now);
            const auto error = static_cast<double>(now - wanted_value);
            squared += weight * error * error;
          }
          for (std::size_t a = 0; a < 3; ++a) {
            const double wa = weight * static_cast<double>(weights[a]);
            right[c][around[a]] += wa * static_cast<double>(wanted_value);
            for (std::size_t b = 0; b < 3; ++b)
              products[cell_of[i]][c][3 * a + b] += wa * static_cast<double>(weights[b]);
          }
        }
      }
      for (std::size_t n = 0; n < products.size(); ++n) {
        for (std::size_t c = 0; c < 3; ++c) {
          for (std::size_t a = 0; a < 3; ++a) {
            for (std::size_t b = 0; b < 3; ++b)
              entries[c].emplace_back(corners[n][a], corners[n][b], products[n][c][3 * a + b]);
          }
        }
      }
    }
    return squared;
  };
  const auto solve = [&](bool first) {
    for (std::size_t c = 0; c < 3; ++c) {
      Matrix matrix(count, count);
      matrix.setFromTriplets(entries[c].begin(), entries[c].end());
      // Vertices that no face uses have no equation.
      for (Eigen::Index v = 0; v < count; ++v) {
        if (!(matrix.coeff(v, v) > 0)) matrix.coeffRef(v, v) = 1;
      }
      Eigen::ConjugateGradient<Matrix, Eigen::Lower | Eigen::Upper> solver;
      solver.setTolerance(kSolverTolerance);
      solver.setMaxIterations(kSolverSteps);
      solver.compute(matrix);
      const Eigen::VectorXd solution = solver.solve(right[c]);
      values[c].resize(static_cast<std::size_t>(count));
      for (Eigen::Index v = 0; v < count; ++v) {
        const float value = std::clamp(static_cast<float>(solution[v]), 0.0f, 1.0f);
        values[c][static_cast<std::size_t>(v)] = first ? linearFromSrgb(value) : value;
      }
    }
  };

  for (int round = 0; round <= kReweightings + 1; ++round) {
    for (auto& list : entries)
      list.clear();
    const double squared = equations(round == 0);
    if (round > 0 && squared < least) {
      least = squared;
      best = values;
    }
    if (round <= kReweightings) solve(round == 0);
  }
  for (std::size_t c = 0; c < 3; ++c) {
    for (std::size_t v = 0; v < result.colors_.size(); ++v)
      result.colors_[v][c] = toByte(srgbFromLinear(best[c][v]));
  }
  return result;
}

}  // namespace heatskin
