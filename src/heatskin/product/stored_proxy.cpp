#include "heatskin/product/stored_proxy.h"

#include <algorithm>
#include <array>
#include <string>
#include <tuple>
#include <utility>

#include "heatskin/product/words.h"

namespace heatskin {
namespace {

using CopyTriangle = std::array<std::uint32_t, 3>;

/// Lists of faces around faces are quadratic in the faces around a vertex: so much memory is justified.
double justifiedRings(std::size_t faces) {
  constexpr double kFew = 1 << 22, kPerFace = 256;
  return kFew + kPerFace * static_cast<double>(faces);
}

/// Differences are small and have a sign.
std::uint32_t folded(std::uint32_t difference) {
  return difference << 1 ^ ((difference >> 31) != 0 ? kNone : 0);
}
std::uint32_t unfolded(std::uint32_t code) {
  return code >> 1 ^ ((code & 1) != 0 ? kNone : 0);
}

/// A column of numbers as four planes of bytes, the lowest bytes first.
void appendColumn(std::vector<std::uint8_t>& bytes, std::span<const std::uint32_t> numbers) {
  for (std::size_t plane = 0; plane < kWord; ++plane) {
    for (const std::uint32_t number : numbers)
      bytes.push_back(static_cast<std::uint8_t>(number >> (8 * plane)));
  }
}

/// The same of numbers of which neighbours are close to each other.
void appendDifferences(std::vector<std::uint8_t>& bytes, std::vector<std::uint32_t> numbers) {
  for (std::size_t i = numbers.size(); i-- > 1;)
    numbers[i] = folded(numbers[i] - numbers[i - 1]);
  if (!numbers.empty()) numbers[0] = folded(numbers[0]);
  appendColumn(bytes, numbers);
}

/// Takes the parts of a buffer one after the other.
class Parts {
 public:
  explicit Parts(std::span<const std::uint8_t> bytes) : left_(bytes) {}

  std::span<const std::uint8_t> bytes(std::size_t count) {
    const auto taken = left_.first(count);
    left_ = left_.subspan(count);
    return taken;
  }
  std::vector<std::uint32_t> column(std::size_t count) {
    const auto planes = bytes(kWord * count);
    std::vector<std::uint32_t> out(count, 0);
    for (std::size_t plane = 0; plane < kWord; ++plane) {
      for (std::size_t i = 0; i < count; ++i)
        out[i] |= std::uint32_t{planes[plane * count + i]} << (8 * plane);
    }
    return out;
  }
  std::vector<std::uint32_t> differences(std::size_t count) {
    std::vector<std::uint32_t> out = column(count);
    std::uint32_t last = 0;
    for (std::uint32_t& number : out)
      last = number = last + unfolded(number);
    return out;
  }

 private:
  std::span<const std::uint8_t> left_;
};

/// The half-edge behind each half-edge of the copy by the rule: two that alone share their vertices.
std::vector<std::uint32_t> copyNeighbours(std::span<const CopyTriangle> triangles) {
  std::vector<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>> edges;
  edges.reserve(3 * triangles.size());
  for (std::uint32_t t = 0; t < triangles.size(); ++t) {
    for (std::uint32_t e = 0; e < 3; ++e) {
      const auto [low, high] = std::minmax(triangles[t][e], triangles[t][(e + 1) % 3]);
      edges.emplace_back(low, high, 3 * t + e);
    }
  }
  std::sort(edges.begin(), edges.end());
  std::vector<std::uint32_t> neighbours(3 * triangles.size(), kNone);
  for (std::size_t i = 0; i < edges.size();) {
    std::size_t end = i + 1;
    while (end < edges.size() && std::get<0>(edges[end]) == std::get<0>(edges[i]) &&
           std::get<1>(edges[end]) == std::get<1>(edges[i]))
      ++end;
    if (end - i == 2) {
      neighbours[std::get<2>(edges[i])] = std::get<2>(edges[i + 1]);
      neighbours[std::get<2>(edges[i + 1])] = std::get<2>(edges[i]);
    }
    i = end;
  }
  return neighbours;
}

/// The surface of triangles as a reader builds it: face f is triangle f, with its corners. Nothing where the
/// triangles would have to be repaired for that.
std::optional<Surface> buildCopy(std::span<const Vec3> positions, std::span<const CopyTriangle> triangles) {
  SurfaceOptions options;
  options.principal_axes = false;
  options.normalise = false;
  options.weld = false;
  auto copy = Surface::build(positions, triangles, options);
  if (!copy || copy->faceCount() != triangles.size() || copy->vertexCount() != positions.size())
    return std::nullopt;
  for (std::uint32_t f = 0; f < copy->faceCount(); ++f) {
    const FaceSource& source = copy->sources()[f];
    if (source.triangle != f || source.corners != std::array<std::uint8_t, 3>{0, 1, 2}) return std::nullopt;
  }
  return std::move(*copy);
}

std::vector<std::uint32_t> twinsOf(const Surface& copy) {
  std::vector<std::uint32_t> twins;
  twins.reserve(3 * std::size_t{copy.faceCount()});
  for (const auto& face : copy.twins())
    twins.insert(twins.end(), face.begin(), face.end());
  return twins;
}

/// Whether a face has the corners of its triangle in the other direction.
bool isTurnedOver(const FaceSource& source) {
  return source.corners[1] != (source.corners[0] + 1) % 3;
}

/// A corner of the file for each vertex of the surface.
std::vector<std::uint32_t> cornersOfVertices(const SourceTriangles& triangles, const Surface& surface) {
  std::vector<std::uint32_t> corners(surface.vertexCount(), kNone);
  for (std::uint32_t f = 0; f < surface.faceCount(); ++f) {
    for (std::size_t c = 0; c < 3; ++c) {
      std::uint32_t& corner = corners[surface.faces()[f][c]];
      corner = std::min(corner, 3 * triangles.triangleOf(f) + surface.sources()[f].corners[c]);
    }
  }
  return corners;
}

}  // namespace

std::size_t proxyBytes(const ProxyHeader& header, std::size_t triangles, std::size_t kernels) {
  return kWord * (header.vertices + 3 * header.faces + 2 * header.face_neighbours + header.listed + kernels) +
         triangles;
}

std::optional<PackedProxy> packProxy(const local::LocalEvaluator& evaluator, const SourceTriangles& triangles,
                                     const Surface& surface) {
  const local::SupportProxy& proxy = *evaluator.proxy();
  const Surface& copy = proxy.surface();
  if (local::SupportProxy::ringEntries(copy) > justifiedRings(copy.faceCount())) return std::nullopt;
  // Vertices in the order in which faces meet them; a corner's code says how long ago.
  std::vector<std::uint32_t> number(copy.vertexCount(), kNone), vertices, codes;
  std::vector<Vec3> positions;
  std::vector<CopyTriangle> faces(copy.faceCount());
  const std::vector<std::uint32_t> corner_of_vertex = cornersOfVertices(triangles, surface);
  for (std::size_t f = 0; f < faces.size(); ++f) {
    for (std::size_t c = 0; c < 3; ++c) {
      const std::uint32_t v = copy.faces()[f][c];
      const auto met = static_cast<std::uint32_t>(vertices.size());
      if (number[v] == kNone) {
        number[v] = met;
        vertices.push_back(corner_of_vertex[proxy.vertices()[v]]);
        positions.push_back(surface.positions()[proxy.vertices()[v]]);
      }
      codes.push_back(met - number[v]);
      faces[f][c] = number[v];
    }
  }
  const auto rebuilt = buildCopy(positions, faces);
  const std::vector<std::uint32_t> twins = twinsOf(copy);
  if (!rebuilt || twinsOf(*rebuilt) != twins) return std::nullopt;
  PackedProxy packed;
  packed.header.vertices = vertices.size();
  packed.header.faces = faces.size();
  appendDifferences(packed.bytes, std::move(vertices));
  appendColumn(packed.bytes, codes);
  const std::vector<std::uint32_t> by_rule = copyNeighbours(faces);
  for (std::uint32_t h = 0; h < twins.size(); ++h) {
    if (by_rule[h] == twins[h]) continue;
    ++packed.header.face_neighbours;
    appendWord(packed.bytes, h);
    appendWord(packed.bytes, twins[h]);
  }
  std::vector<std::uint32_t> listed;
  for (std::uint32_t t = 0; t < triangles.size(); ++t) {
    const std::uint32_t f = triangles.faceOf(t);
    if (f == kNone) {
      packed.bytes.push_back(0);
      continue;
    }
    const auto list = proxy.facesOf(f);
    packed.bytes.push_back(
        static_cast<std::uint8_t>(2 * list.size() + (isTurnedOver(surface.sources()[f]) ? 1 : 0)));
    listed.insert(listed.end(), list.begin(), list.end());
  }
  packed.header.listed = listed.size();
  appendDifferences(packed.bytes, std::move(listed));
  std::vector<std::uint32_t> kernel_faces;
  for (const local::SupportSource& source : evaluator.sources())
    kernel_faces.push_back(source.face);
  appendDifferences(packed.bytes, std::move(kernel_faces));
  return packed;
}

Result<StoredProxy> unpackProxy(const ProxyHeader& header, std::span<const std::uint8_t> bytes,
                                const SourceTriangles& triangles, const Surface& surface,
                                std::size_t kernels) {
  Parts parts(bytes);
  std::vector<std::uint32_t> vertices = parts.differences(header.vertices);
  std::vector<Vec3> positions;
  positions.reserve(vertices.size());
  for (std::uint32_t& vertex : vertices) {
    const std::uint32_t triangle = vertex / 3;
    const std::uint32_t f = triangle < triangles.size() ? triangles.faceOf(triangle) : kNone;
    if (f == kNone) return inputError("a vertex of the proxy is no corner of a triangle with area");
    const auto& corners = surface.sources()[f].corners;
    const auto at = std::find(corners.begin(), corners.end(), vertex % 3) - corners.begin();
    vertex = surface.faces()[f][static_cast<std::size_t>(at)];
    positions.push_back(surface.positions()[vertex]);
  }
  const std::vector<std::uint32_t> codes = parts.column(3 * header.faces);
  std::vector<CopyTriangle> faces(header.faces);
  std::uint32_t met = 0;
  for (std::size_t i = 0; i < codes.size(); ++i) {
    if (codes[i] > met || (codes[i] == 0 && met == vertices.size()))
      return inputError("a face of the proxy has a corner that does not exist");
    faces[i / 3][i % 3] = met - codes[i];
    if (codes[i] == 0) ++met;
  }
  auto copy = buildCopy(positions, faces);
  if (!copy) return inputError("the faces of the proxy are no surface as they are");
  if (local::SupportProxy::ringEntries(*copy) > justifiedRings(faces.size()))
    return inputError("too many faces of the proxy meet at one vertex");
  std::vector<std::uint32_t> of_copy(copy->vertexCount());
  for (std::size_t f = 0; f < faces.size(); ++f) {
    for (std::size_t c = 0; c < 3; ++c)
      of_copy[copy->faces()[f][c]] = vertices[faces[f][c]];
  }

  std::vector<std::uint32_t> neighbours = copyNeighbours(faces);
  const auto changes = parts.bytes(2 * kWord * header.face_neighbours);
  for (std::size_t i = 0; i < header.face_neighbours; ++i) {
    const std::uint32_t edge = wordAt(changes, 2 * i), other = wordAt(changes, 2 * i + 1);
    if (i > 0 && edge <= wordAt(changes, 2 * i - 2))
      return inputError("neighbours on the proxy are not in increasing order");
    if (edge >= neighbours.size()) return inputError("neighbours on the proxy are not its edges");
    neighbours[edge] = other;
  }
  if (neighbours != twinsOf(*copy)) return inputError("neighbours on the proxy are not those of its faces");

  const auto counts = parts.bytes(triangles.size());
  const std::vector<std::uint32_t> listed = parts.differences(header.listed);
  std::vector<std::uint32_t> begin(surface.faceCount() + std::size_t{1}, 0), lists;
  std::vector<std::uint32_t> first_of_face(surface.faceCount(), 0);
  std::size_t next = 0;
  for (std::uint32_t t = 0; t < triangles.size(); ++t) {
    const std::uint32_t f = triangles.faceOf(t);
    const std::size_t count = counts[t] / 2;
    if ((f == kNone) != (counts[t] == 0) || (f != kNone && count == 0) || count > kMostServing)
      return inputError("a triangle is not served by faces of the proxy");
    if (f == kNone) continue;
    if (((counts[t] & 1) != 0) != isTurnedOver(surface.sources()[f]))
      return inputError("a triangle is oriented otherwise");
    if (listed.size() - next < count) return inputError("lists of faces of the proxy do not end");
    first_of_face[f] = static_cast<std::uint32_t>(next);
    begin[f + std::size_t{1}] = static_cast<std::uint32_t>(count);
    for (std::size_t i = next; i < next + count; ++i) {
      if (listed[i] >= faces.size() || (i > next && listed[i] <= listed[i - 1]))
        return inputError("lists of faces of the proxy are not increasing faces of it");
    }
    next += count;
  }
  if (next != listed.size()) return inputError("entries of lists of faces of the proxy are left over");
  lists.reserve(listed.size());
  for (std::size_t f = 0; f < first_of_face.size(); ++f) {
    const auto first = listed.begin() + first_of_face[f];
    lists.insert(lists.end(), first, first + begin[f + 1]);
    begin[f + 1] += begin[f];
  }
  StoredProxy stored;
  stored.kernel_faces = parts.differences(kernels);
  for (const std::uint32_t face : stored.kernel_faces) {
    if (face >= faces.size()) return inputError("a kernel is on a face of the proxy that does not exist");
  }
  stored.proxy = local::SupportProxy::fromStored(std::move(*copy), std::move(of_copy), begin, lists);
  return stored;
}

}  // namespace heatskin
