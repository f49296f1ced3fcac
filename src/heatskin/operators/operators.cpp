#include "heatskin/operators/operators.h"

#include <numeric>

#include "heatskin/base/parallel.h"

namespace heatskin {
namespace {

/// A face with less area than this times its longest edge squared has no direction left in double coordinates
/// of size 1: about a hundred roundings.
constexpr double kLeastRelativeArea = 1e-14;

/// Edge vectors of a face in its own frame; edges[c] is opposite to corner c.
struct Element {
  std::array<Vec2, 3> edges;
  double area = 0;  ///< 0: skip the face
};

Element makeElement(const std::array<Vec2, 3>& corners) {
  Element element;
  double longest = 0;
  for (std::size_t c = 0; c < 3; ++c) {
    element.edges[c] = corners[(c + 2) % 3] - corners[(c + 1) % 3];
    longest = std::max(longest, element.edges[c].squaredNorm());
  }
  const double area = 0.5 * cross2(corners[1] - corners[0], corners[2] - corners[0]);
  if (std::isfinite(area) && area > kLeastRelativeArea * longest) element.area = area;
  return element;
}

std::uint32_t rootOf(std::vector<std::uint32_t>& parents, std::uint32_t v) {
  while (parents[v] != v)
    v = parents[v] = parents[parents[v]];
  return v;
}

/// Entry (row, column) of the pattern, which has it.
std::uint32_t entryOf(const Operators& operators, std::uint32_t row, std::uint32_t column) {
  const auto first = operators.columns.begin() + operators.begin[row];
  const auto last = operators.columns.begin() + operators.begin[row + 1];
  return static_cast<std::uint32_t>(std::lower_bound(first, last, column) - operators.columns.begin());
}

void buildPattern(Operators& operators, const Surface& surface, const std::vector<Element>& elements) {
  const std::uint32_t vertices = operators.vertex_count;
  std::vector<std::uint64_t> entries;
  for (std::uint32_t v = 0; v < vertices; ++v)
    entries.push_back((std::uint64_t{v} << 32) | v);
  std::vector<std::uint32_t> parents(vertices);
  std::iota(parents.begin(), parents.end(), 0u);
  for (std::size_t f = 0; f < elements.size(); ++f) {
    if (elements[f].area == 0) continue;
    const auto& face = surface.faces()[f];
    for (std::size_t c = 0; c < 3; ++c) {
      const std::uint32_t a = face[c], b = face[(c + 1) % 3];
      entries.push_back((std::uint64_t{a} << 32) | b);
      entries.push_back((std::uint64_t{b} << 32) | a);
      const std::uint32_t root_a = rootOf(parents, a), root_b = rootOf(parents, b);
      parents[std::max(root_a, root_b)] = std::min(root_a, root_b);
    }
  }
  std::sort(entries.begin(), entries.end());
  entries.erase(std::unique(entries.begin(), entries.end()), entries.end());
  operators.begin.assign(vertices + std::size_t{1}, 0);
  operators.diagonal.resize(vertices);
  operators.columns.reserve(entries.size());
  for (const std::uint64_t entry : entries) {
    const auto row = static_cast<std::uint32_t>(entry >> 32), column = static_cast<std::uint32_t>(entry);
    if (row == column) operators.diagonal[row] = static_cast<std::uint32_t>(operators.columns.size());
    operators.columns.push_back(column);
    ++operators.begin[row + 1];
  }
  std::partial_sum(operators.begin.begin(), operators.begin.end(), operators.begin.begin());

  operators.components.assign(vertices, kNone);
  for (std::uint32_t v = 0; v < vertices; ++v) {
    // The root is the smallest vertex of its component: it has its number already.
    const std::uint32_t root = rootOf(parents, v);
    operators.components[v] = root == v ? operators.component_count++ : operators.components[root];
  }
}

void buildMass(Operators& operators, const Surface& surface, const std::vector<Element>& elements) {
  operators.mass.assign(operators.vertex_count, 0);
  double sum = 0;
  for (std::size_t f = 0; f < elements.size(); ++f) {
    sum += elements[f].area;
    for (const std::uint32_t v : surface.faces()[f])
      operators.mass[v] += elements[f].area / 3;
  }
  const auto with_area =
      std::count_if(operators.mass.begin(), operators.mass.end(), [](double m) { return m > 0; });
  const double mean = with_area > 0 ? sum / static_cast<double>(with_area) : 1.0;
  for (double& m : operators.mass)
    m = m > 0 ? m : mean;
}

/// Everything but the stiffness matrices, and what it takes to fill these.
struct Assembly {
  Operators operators;
  std::vector<Element> elements;                      // [F]
  std::vector<std::array<std::uint32_t, 6>> targets;  // [F] entries of edge c (opposite to corner c), twice

  explicit Assembly(const Surface& surface) : elements(surface.faceCount()), targets(surface.faceCount()) {
    operators.vertex_count = surface.vertexCount();
    for (std::size_t f = 0; f < elements.size(); ++f)
      elements[f] = makeElement(surface.corners()[f]);
    buildPattern(operators, surface, elements);
    buildMass(operators, surface, elements);
    for (std::size_t f = 0; f < elements.size(); ++f) {
      if (elements[f].area == 0) continue;
      const auto& face = surface.faces()[f];
      for (std::size_t c = 0; c < 3; ++c) {
        const std::uint32_t a = face[(c + 1) % 3], b = face[(c + 2) % 3];
        targets[f][2 * c] = entryOf(operators, a, b);
        targets[f][2 * c + 1] = entryOf(operators, b, a);
      }
    }
    operators.stiffness.resize(kOperatorCount);
  }

  void fill(std::vector<double>& values, double angle, double anisotropy) const {
    const double slowed = 1 / (1 + anisotropy);
    const Vec2 along(std::cos(angle), std::sin(angle)), across = perp(along);
    values.assign(operators.entryCount(), 0);
    for (std::size_t f = 0; f < elements.size(); ++f) {
      const Element& element = elements[f];
      if (element.area == 0) continue;
      for (std::size_t c = 0; c < 3; ++c) {
        // The gradient of a corner's hat function is the edge opposite to it, turned by 90 degrees, over
        // twice the area: the component of the gradient along the long axis is that of the edge across it.
        const Vec2 &a = element.edges[(c + 1) % 3], &b = element.edges[(c + 2) % 3];
        const double product = a.dot(across) * b.dot(across) + slowed * a.dot(along) * b.dot(along);
        const double value = product / (4 * element.area);
        values[targets[f][2 * c]] += value;
        values[targets[f][2 * c + 1]] += value;
      }
    }
    // The diagonal last, from the row: constants are in the null space up to one rounding.
    for (std::uint32_t v = 0; v < operators.vertex_count; ++v) {
      double sum = 0;
      for (std::uint32_t k = operators.begin[v]; k < operators.begin[v + 1]; ++k)
        sum += values[k];
      values[operators.diagonal[v]] = -sum;
    }
  }
};

}  // namespace

Operators assembleOperators(const Surface& surface) {
  Assembly assembly(surface);
  parallelFor(kOperatorCount, 1, [&](std::size_t first, std::size_t last) {
    for (std::size_t j = first; j < last; ++j) {
      const auto index = static_cast<std::uint32_t>(j);
      assembly.fill(assembly.operators.stiffness[j], operatorAngle(index), operatorAnisotropy(index));
    }
  });
  return std::move(assembly.operators);
}

SingleOperator assembleOperator(const Surface& surface, double angle, double anisotropy) {
  Assembly assembly(surface);
  SingleOperator result;
  if (anisotropy > 0) {
    std::size_t nearest = 0;
    const auto apart = [&](std::size_t e) {
      return std::abs(std::log1p(kGridAnisotropies[e]) - std::log1p(anisotropy));
    };
    for (std::size_t e = 1; e < kGridAnisotropies.size(); ++e)
      nearest = apart(e) < apart(nearest) ? e : nearest;
    result.index = operatorIndex(0, nearest);
  }
  assembly.fill(assembly.operators.stiffness[result.index], angle, anisotropy);
  result.operators = std::move(assembly.operators);
  return result;
}

}  // namespace heatskin
