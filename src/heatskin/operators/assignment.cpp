#include "heatskin/operators/assignment.h"

#include <limits>

namespace heatskin {

std::vector<std::uint32_t> bestAssignment(std::size_t n, std::span<const double> gains) {
  constexpr std::uint32_t kFree = std::numeric_limits<std::uint32_t>::max();
  std::vector<double> row_price(n, 0.0), column_price(n, 0.0), distance(n);
  std::vector<std::uint32_t> row_of(n, kFree), came_from(n), result(n);
  std::vector<std::uint8_t> done(n);
  for (std::uint32_t start = 0; start < n; ++start) {
    // Dijkstra from the new row over reduced costs (price differences minus gains, never negative) to the
    // nearest free column; every matched column leads on to its row.
    std::fill(distance.begin(), distance.end(), std::numeric_limits<double>::infinity());
    std::fill(done.begin(), done.end(), std::uint8_t{0});
    std::uint32_t row = start, column = kFree;
    double reached = 0;
    std::vector<std::uint32_t> visited;
    do {
      std::uint32_t nearest = kFree;
      for (std::uint32_t c = 0; c < n; ++c) {
        if (done[c] != 0) continue;
        const double through = reached - gains[row * n + c] - row_price[row] - column_price[c];
        if (through < distance[c]) {
          distance[c] = through;
          came_from[c] = row;
        }
        if (nearest == kFree || distance[c] < distance[nearest]) nearest = c;
      }
      column = nearest;
      done[column] = 1;
      visited.push_back(column);
      reached = distance[column];
      row = row_of[column];
    } while (row != kFree);
    row_price[start] += reached;
    for (const std::uint32_t c : visited) {
      const double slack = reached - distance[c];
      column_price[c] -= slack;
      if (row_of[c] != kFree) row_price[row_of[c]] += slack;
    }
    // Shift the matches along the path.
    while (true) {
      const std::uint32_t r = came_from[column];
      const std::uint32_t next = result[r];
      row_of[column] = r;
      result[r] = column;
      if (r == start) break;
      column = next;
    }
  }
  return result;
}

}  // namespace heatskin
