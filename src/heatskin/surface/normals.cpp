#include "heatskin/surface/normals.h"

#include <numeric>

namespace heatskin {

CornersOfVertices::CornersOfVertices(std::size_t vertices, std::span<const std::uint32_t> vertex_of_corner)
    : begin_(vertices + 1, 0), corners_(vertex_of_corner.size()) {
  // A counting sort.
  for (const std::uint32_t v : vertex_of_corner)
    ++begin_[v + 1];
  std::partial_sum(begin_.begin(), begin_.end(), begin_.begin());
  std::vector<std::size_t> next(begin_.begin(), begin_.end() - 1);
  for (std::size_t corner = 0; corner < vertex_of_corner.size(); ++corner)
    corners_[next[vertex_of_corner[corner]]++] = corner;
}

}  // namespace heatskin
