#include "heatskin/evaluators/fields/near_lists.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "heatskin/base/parallel.h"
#include "heatskin/operators/dense_kernels.h"

namespace heatskin::fields {
namespace {

/// Vertices in a block at least; more on large surfaces, so that tables over pairs of blocks stay small.
constexpr std::size_t kBlockVertices = 16;
constexpr std::size_t kMostBlocks = 4096;

/// Float rounding of distances from products instead of differences, relative to the size of the embedding.
constexpr float kRounding = 2e-3f;

/// Vector loads may read this far past the last pair.
constexpr std::size_t kPadding = 64;

/// Halves a range of vertices at the median of its widest coordinate until blocks are small.
void splitBlocks(const Embedding::Rows& rows, std::size_t size, std::vector<std::uint32_t>& order,
                 std::size_t begin, std::size_t end, std::vector<std::uint32_t>& borders) {
  if (end - begin <= size) {
    borders.push_back(static_cast<std::uint32_t>(end));
    return;
  }
  Eigen::RowVectorXf low = rows.row(order[begin]), high = low;
  for (std::size_t i = begin + 1; i < end; ++i) {
    low = low.cwiseMin(rows.row(order[i]));
    high = high.cwiseMax(rows.row(order[i]));
  }
  Eigen::Index axis = 0;
  (high - low).maxCoeff(&axis);
  const std::size_t middle = (begin + end) / 2;
  const auto at = [&](std::size_t i) { return order.begin() + static_cast<std::ptrdiff_t>(i); };
  std::nth_element(at(begin), at(middle), at(end), [&](std::uint32_t a, std::uint32_t b) {
    const float x = rows(a, axis), y = rows(b, axis);
    return x != y ? x < y : a < b;
  });
  splitBlocks(rows, size, order, begin, middle, borders);
  splitBlocks(rows, size, order, middle, end, borders);
}

}  // namespace

Embedding::Embedding(const Surface& surface, std::span<const float> coordinates, std::size_t dimensions)
    : rows_(Eigen::Map<const Rows>(coordinates.data(), surface.vertexCount(),
                                   static_cast<Eigen::Index>(dimensions))) {
  const std::size_t vertices = surface.vertexCount(), faces = surface.faceCount();
  squared_edges_.resize(faces * 3);
  longest_edges_.assign(vertices, 0);
  for (std::size_t f = 0; f < faces; ++f) {
    const auto& corners = surface.faces()[f];
    float longest = 0;
    for (std::size_t e = 0; e < 3; ++e) {
      squared_edges_[3 * f + e] = squaredDistance(corners[e], corners[(e + 1) % 3]);
      longest = std::max(longest, squared_edges_[3 * f + e]);
    }
    for (const std::uint32_t v : corners)
      longest_edges_[v] = std::max(longest_edges_[v], std::sqrt(longest));
  }

  corner_begin_.assign(vertices + 1, 0);
  for (const auto& corners : surface.faces()) {
    for (const std::uint32_t v : corners)
      ++corner_begin_[v + 1];
  }
  std::partial_sum(corner_begin_.begin(), corner_begin_.end(), corner_begin_.begin());
  corners_.resize(3 * faces);
  std::vector<std::uint32_t> next(corner_begin_.begin(), corner_begin_.end() - 1);
  for (std::uint32_t f = 0; f < faces; ++f) {
    for (std::uint32_t c = 0; c < 3; ++c)
      corners_[next[surface.faces()[f][c]]++] = 3 * f + c;
  }

  // Every component around its own mean: numbers stay small, and between components no distance is asked for.
  std::vector<std::uint32_t> component(vertices, 0);
  for (std::size_t f = 0; f < faces; ++f) {
    for (const std::uint32_t v : surface.faces()[f])
      component[v] = surface.components()[f];
  }
  order_.resize(vertices);
  std::iota(order_.begin(), order_.end(), 0u);
  std::stable_sort(order_.begin(), order_.end(),
                   [&](std::uint32_t a, std::uint32_t b) { return component[a] < component[b]; });
  block_begin_.push_back(0);
  std::vector<std::uint32_t> block_component;
  const std::size_t block_size = std::max(kBlockVertices, vertices / kMostBlocks * 2);
  for (std::size_t begin = 0, end = 0; begin < vertices; begin = end) {
    Eigen::RowVectorXd mean = Eigen::RowVectorXd::Zero(rows_.cols());
    for (end = begin; end < vertices && component[order_[end]] == component[order_[begin]]; ++end)
      mean += rows_.row(order_[end]).cast<double>();
    mean /= static_cast<double>(end - begin);
    for (std::size_t i = begin; i < end; ++i)
      rows_.row(order_[i]) -= mean.cast<float>();
    splitBlocks(rows_, block_size, order_, begin, end, block_begin_);
    block_component.resize(block_begin_.size() - 1, component[order_[begin]]);
  }
  const std::size_t blocks = block_begin_.size() - 1;
  block_of_.resize(vertices);
  centers_.resize(static_cast<Eigen::Index>(blocks), rows_.cols());
  radii_.resize(blocks);
  for (std::size_t b = 0; b < blocks; ++b) {
    const auto row = static_cast<Eigen::Index>(b);
    centers_.row(row).setZero();
    for (std::uint32_t i = block_begin_[b]; i < block_begin_[b + 1]; ++i) {
      block_of_[order_[i]] = static_cast<std::uint32_t>(b);
      centers_.row(row) += rows_.row(order_[i]);
    }
    centers_.row(row) /= static_cast<float>(block_begin_[b + 1] - block_begin_[b]);
    radii_[b] = 0;
    for (std::uint32_t i = block_begin_[b]; i < block_begin_[b + 1]; ++i)
      radii_[b] = std::max(radii_[b], (rows_.row(order_[i]) - centers_.row(row)).norm());
  }
  first_block_.resize(blocks);
  last_block_.resize(blocks);
  distance_begin_.resize(blocks);
  std::size_t distances = 0;
  for (std::size_t first = 0, last = 0; first < blocks; first = last) {
    for (last = first; last < blocks && block_component[last] == block_component[first];)
      ++last;
    for (std::size_t b = first; b < last; ++b) {
      first_block_[b] = static_cast<std::uint32_t>(first);
      last_block_[b] = static_cast<std::uint32_t>(last);
      distance_begin_[b] = distances;
      distances += last - first;
    }
  }
  center_distances_.resize(distances);
  parallelFor(blocks, 16, [&](std::size_t begin, std::size_t end) {
    for (std::size_t a = begin; a < end; ++a) {
      const auto row = static_cast<Eigen::Index>(a), first = static_cast<Eigen::Index>(first_block_[a]),
                 count = static_cast<Eigen::Index>(last_block_[a]) - first;
      Eigen::Map<Eigen::VectorXf>(center_distances_.data() + distance_begin_[a], count) =
          (centers_.middleRows(first, count).rowwise() - centers_.row(row)).rowwise().norm();
    }
  });
}

void NearListBuilder::build(const KernelSet& kernels, const Embedding::Rows& places, const Nearness& nearness,
                            NearLists& lists) {
  collect(kernels, places, nearness);
  joinFaces(nearness, lists);
  keepUsed(kernels.size(), lists);
}

/// Puts kernels into the block of their face's first corner.
void NearListBuilder::groupKernels(const KernelSet& kernels, const Embedding::Rows& places) {
  const Embedding& e = *embedding_;
  const std::size_t blocks = e.radii_.size(), count = kernels.size();
  group_begin_.assign(blocks + 1, 0);
  const auto groupOf = [&](std::size_t i) {
    return e.block_of_[surface_->faces()[kernels.positions[i].face][0]];
  };
  for (std::size_t i = 0; i < count; ++i)
    ++group_begin_[groupOf(i) + 1];
  std::partial_sum(group_begin_.begin(), group_begin_.end(), group_begin_.begin());
  group_kernels_.resize(count);
  group_radii_.assign(blocks, 0);
  std::vector<std::uint32_t> next(group_begin_.begin(), group_begin_.end() - 1);
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint32_t group = groupOf(i);
    group_kernels_[next[group]++] = static_cast<std::uint32_t>(i);
    const float distance = (places.row(static_cast<Eigen::Index>(i)) - e.centers_.row(group)).squaredNorm();
    group_radii_[group] = std::max(group_radii_[group], distance);
  }
  for (float& radius : group_radii_)
    radius = std::sqrt(radius);
  group_places_.resize(places.rows(), places.cols());
  group_norms_.resize(count);
  for (std::size_t i = 0; i < count; ++i) {
    const auto row = static_cast<Eigen::Index>(i);
    group_places_.row(row) = places.row(group_kernels_[i]);
    group_norms_[i] = group_places_.row(row).squaredNorm();
  }
}

/// The search for one block of vertices, in the order in which its functions are called. Groups of kernels
/// are looked at by rising lower bound of their distance, all vertices of the block at once.
class NearListBuilder::BlockSearch {
 public:
  BlockSearch(NearListBuilder& builder, std::size_t block, const Nearness& nearness)
      : builder_(builder),
        embedding_(*builder.embedding_),
        scratch_(builder.scratch_.mine()),
        nearness_(nearness),
        block_(block),
        begin_(embedding_.block_begin_[block]),
        count_(embedding_.block_begin_[block + 1] - begin_),
        stride_((count_ + kBlockVertices - 1) / kBlockVertices * kBlockVertices),
        dimensions_(static_cast<std::size_t>(embedding_.rows_.cols())) {}

  void run() {
    gatherVertices();
    rankGroups();
    // A few groups bound the distance of a vertex's last wanted kernel, and with it the groups that matter.
    const std::size_t first_groups = groupsWith(2 * nearness_.wanted);
    measure(0, first_groups);
    const float limit = boundVertices();
    std::size_t last = first_groups;
    while (last < scratch_.groups.size() && scratch_.groups[last].first <= limit)
      ++last;
    measure(first_groups, last);
    distribute();
    trim();
  }

 private:
  std::uint32_t vertex(std::size_t r) const { return embedding_.order_[begin_ + r]; }

  /// The wanted kernels of a vertex lie within its reach plus an edge of every other corner of a face, so
  /// that bounds what the face wants; back at the vertex, another edge comes on top.
  float radius(std::uint32_t v, float reach) const {
    return (reach + 2 * embedding_.longest_edges_[v] + 2 * nearness_.margin) * (1 + kRounding);
  }

  /// |a - b|^2 = |a|^2 - 2 a b + |b|^2; columns of `here` are -2 times the block's vertices.
  void gatherVertices() {
    scratch_.here.assign(dimensions_ * stride_, 0);
    scratch_.here_squared.assign(stride_, 0);
    for (std::size_t r = 0; r < count_; ++r) {
      const auto row = embedding_.rows_.row(vertex(r));
      scratch_.here_squared[r] = row.squaredNorm();
      for (std::size_t d = 0; d < dimensions_; ++d)
        scratch_.here[d * stride_ + r] = -2 * row.data()[d];
    }
  }

  /// The groups of this component that may hold a kernel within the farthest distance that counts, nearest
  /// first.
  void rankGroups() {
    float farthest = 0;
    for (std::size_t r = 0; r < count_; ++r)
      farthest = std::max(farthest, radius(vertex(r), nearness_.farthest));
    const std::uint32_t first = embedding_.first_block_[block_];
    const float* distances = embedding_.center_distances_.data() + embedding_.distance_begin_[block_];
    scratch_.groups.clear();
    for (std::uint32_t g = first; g < embedding_.last_block_[block_]; ++g) {
      if (builder_.groupSize(g) == 0) continue;
      const float bound = distances[g - first] - embedding_.radii_[block_] - builder_.group_radii_[g];
      if (bound <= farthest) scratch_.groups.emplace_back(bound, g);
    }
    std::sort(scratch_.groups.begin(), scratch_.groups.end());
    scratch_.seen.clear();
  }

  /// How many of the nearest groups hold so many kernels together.
  std::size_t groupsWith(std::size_t kernels) const {
    std::size_t groups = 0, held = 0;
    while (groups < scratch_.groups.size() && held < kernels)
      held += builder_.groupSize(scratch_.groups[groups++].second);
    return groups;
  }

  /// Squared distances to the kernels of the ranked groups [from, to), as new rows.
  void measure(std::size_t from, std::size_t to) {
    auto& seen = scratch_.seen;
    auto& squared = scratch_.squared;
    for (std::size_t g = from; g < to; ++g) {
      const std::uint32_t group = scratch_.groups[g].second;
      const std::uint32_t first = builder_.group_begin_[group], last = builder_.group_begin_[group + 1];
      const std::size_t before = seen.size();
      squared.resize((before + last - first) * stride_);
      for (std::uint32_t i = first; i < last; ++i) {
        float* out = squared.data() + seen.size() * stride_;
        for (std::size_t r = 0; r < stride_; ++r)
          out[r] = builder_.group_norms_[i] + scratch_.here_squared[r];
        seen.emplace_back(builder_.group_kernels_[i], static_cast<std::uint32_t>(seen.size()));
      }
      LeftFactor<float> left;
      left.data = builder_.group_places_.row(first).data();
      left.row_stride = left.segment_length = dimensions_;
      multiplyAdd(last - first, stride_, 1.0f, left, scratch_.here.data(), stride_,
                  squared.data() + before * stride_, stride_);
    }
  }

  /// Distance of the last wanted kernel, given the squared distances in `sorted`, whose order changes.
  float lastWanted() {
    std::vector<float>& sorted = scratch_.sorted;
    if (sorted.size() < nearness_.wanted) return nearness_.farthest;
    const auto last = sorted.begin() + static_cast<std::ptrdiff_t>(nearness_.wanted - 1);
    std::nth_element(sorted.begin(), last, sorted.end());
    return std::min(nearness_.farthest, std::sqrt(std::max(0.0f, *last)));
  }

  /// Sets how far away a kernel may matter to each vertex (`until`, squared); returns the largest distance.
  float boundVertices() {
    scratch_.until.assign(stride_, -1);
    float limit = 0;
    for (std::size_t r = 0; r < count_; ++r) {
      scratch_.sorted.clear();
      for (std::size_t i = 0; i < scratch_.seen.size(); ++i)
        scratch_.sorted.push_back(scratch_.squared[i * stride_ + r]);
      const float until = radius(vertex(r), lastWanted());
      scratch_.until[r] = until * until;
      limit = std::max(limit, until);
    }
    return limit;
  }

  /// Gives every vertex the kernels within its bound, by increasing number.
  void distribute() {
    for (std::size_t r = 0; r < count_; ++r)
      builder_.near_[vertex(r)].clear();
    std::sort(scratch_.seen.begin(), scratch_.seen.end());
    const float* until = scratch_.until.data();
    for (const auto& [kernel, row] : scratch_.seen) {
      const float* distances = scratch_.squared.data() + row * stride_;
      bool any = false;
      for (std::size_t r = 0; r < stride_; ++r)
        any |= distances[r] <= until[r];
      if (!any) continue;
      for (std::size_t r = 0; r < count_; ++r) {
        if (distances[r] <= until[r])
          builder_.near_[vertex(r)].push_back({kernel, std::max(0.0f, distances[r])});
      }
    }
  }

  /// With all kernels at hand the reach of a vertex is known, and what lies beyond goes.
  void trim() {
    for (std::size_t r = 0; r < count_; ++r) {
      const std::uint32_t v = vertex(r);
      scratch_.sorted.clear();
      for (const Near& near : builder_.near_[v])
        scratch_.sorted.push_back(near.squared);
      const float until = radius(v, lastWanted());
      std::erase_if(builder_.near_[v], [&](const Near& near) { return near.squared > until * until; });
    }
  }

  NearListBuilder& builder_;
  const Embedding& embedding_;
  Scratch& scratch_;
  const Nearness nearness_;
  const std::size_t block_;
  const std::uint32_t begin_;  // of the block's vertices
  const std::size_t count_;    // vertices
  const std::size_t stride_;   // the same, rounded up to whole vectors
  const std::size_t dimensions_;
};

/// For every vertex the kernels that any face around it may need.
void NearListBuilder::collect(const KernelSet& kernels, const Embedding::Rows& places,
                              const Nearness& nearness) {
  groupKernels(kernels, places);
  near_.resize(surface_->vertexCount());
  parallelFor(embedding_->radii_.size(), 1, [&](std::size_t first, std::size_t last) {
    for (std::size_t block = first; block < last; ++block)
      BlockSearch(*this, block, nearness).run();
  });
}

/// Kernels that are near all three corners, and near enough to be wanted somewhere in the face. At a point
/// with barycentric coordinates b the squared distance to kernel k is sum b_a D_ka minus a number that is the
/// same for all kernels. The `wanted`-th smallest of max_a D_ka is therefore not less than that of any point,
/// and a kernel all of whose D_ka are larger is wanted nowhere.
void NearListBuilder::joinFaces(const Nearness& nearness, NearLists& lists) {
  const std::size_t wanted = nearness.wanted;  // not a structured binding: clang 14 cannot capture those
  const float farthest = nearness.farthest, margin = nearness.margin;
  joined_.resize(surface_->faceCount());
  parallelFor(surface_->faceCount(), 64, [&](std::size_t first, std::size_t last) {
    Scratch& scratch = scratch_.mine();
    std::vector<float>&largest = scratch.largest, &smallest = scratch.smallest, &sorted = scratch.sorted;
    for (std::size_t f = first; f < last; ++f) {
      auto& joined = joined_[f];
      joined.clear();
      largest.clear();
      smallest.clear();
      const auto& corners = surface_->faces()[f];
      const std::vector<Near>& a = near_[corners[0]];
      const std::vector<Near>& b = near_[corners[1]];
      const std::vector<Near>& c = near_[corners[2]];
      std::size_t j = 0, k = 0;
      for (std::size_t i = 0; i < a.size(); ++i) {
        const std::uint32_t kernel = a[i].kernel;
        while (j < b.size() && b[j].kernel < kernel)
          ++j;
        while (k < c.size() && c[k].kernel < kernel)
          ++k;
        if (j == b.size() || k == c.size()) break;
        if (b[j].kernel != kernel || c[k].kernel != kernel) continue;
        joined.push_back(
            {kernel,
             {static_cast<std::uint32_t>(i), static_cast<std::uint32_t>(j), static_cast<std::uint32_t>(k)}});
        largest.push_back(std::max({a[i].squared, b[j].squared, c[k].squared}));
        smallest.push_back(std::min({a[i].squared, b[j].squared, c[k].squared}));
      }
      float until = farthest + embedding_->longestEdge(corners[0]);
      if (joined.size() > wanted) {
        sorted = largest;
        std::nth_element(sorted.begin(), sorted.begin() + static_cast<std::ptrdiff_t>(wanted - 1),
                         sorted.end());
        until = std::min(until, std::sqrt(sorted[wanted - 1]) * (1 + kRounding));
      }
      until += 2 * margin;
      std::size_t to = 0;
      for (std::size_t i = 0; i < joined.size(); ++i) {
        if (smallest[i] <= until * until) joined[to++] = joined[i];
      }
      joined.resize(to);
    }
  });
  lists.face_begin.resize(surface_->faceCount() + 1);
  lists.face_begin[0] = 0;
  for (std::size_t f = 0; f < joined_.size(); ++f)
    lists.face_begin[f + 1] = lists.face_begin[f] + static_cast<std::uint32_t>(joined_[f].size());
}

/// Numbers the pairs of vertices that faces refer to.
void NearListBuilder::keepUsed(std::size_t kernel_count, NearLists& lists) {
  const std::size_t vertices = surface_->vertexCount();
  place_.resize(vertices);
  lists.vertex_begin.resize(vertices + 1);
  lists.vertex_begin[0] = 0;
  parallelFor(vertices, 128, [&](std::size_t first, std::size_t last) {
    for (std::size_t v = first; v < last; ++v) {
      auto& place = place_[v];
      place.assign(near_[v].size(), kNone);
      for (std::uint32_t i = embedding_->corner_begin_[v]; i < embedding_->corner_begin_[v + 1]; ++i) {
        const std::uint32_t corner = embedding_->corners_[i];
        for (const Joined& pair : joined_[corner / 3])
          place[pair.at[corner % 3]] = 0;
      }
      std::uint32_t used = 0;
      for (std::uint32_t& at : place) {
        if (at != kNone) at = used++;
      }
      lists.vertex_begin[v + 1] = used;
    }
  });
  std::partial_sum(lists.vertex_begin.begin(), lists.vertex_begin.end(), lists.vertex_begin.begin());
  lists.vertex_kernels.resize(lists.vertex_begin.back());
  parallelFor(vertices, 128, [&](std::size_t first, std::size_t last) {
    for (std::size_t v = first; v < last; ++v) {
      for (std::size_t i = 0; i < near_[v].size(); ++i) {
        if (place_[v][i] == kNone) continue;
        place_[v][i] += lists.vertex_begin[v];
        lists.vertex_kernels[place_[v][i]] = near_[v][i].kernel;
      }
    }
  });

  const std::size_t pairs = lists.face_begin.back();
  lists.face_kernels.resize(pairs + kPadding);
  std::fill(lists.face_kernels.begin() + static_cast<std::ptrdiff_t>(pairs), lists.face_kernels.end(), 0u);
  for (auto& corner : lists.corners) {
    corner.resize(pairs + kPadding);
    std::fill(corner.begin() + static_cast<std::ptrdiff_t>(pairs), corner.end(), 0u);
  }
  parallelFor(joined_.size(), 256, [&](std::size_t first, std::size_t last) {
    for (std::size_t f = first; f < last; ++f) {
      std::size_t at = lists.face_begin[f];
      const auto& corners = surface_->faces()[f];
      for (const Joined& pair : joined_[f]) {
        lists.face_kernels[at] = pair.kernel;
        for (std::size_t c = 0; c < 3; ++c)
          lists.corners[c][at] = place_[corners[c]][pair.at[c]];
        ++at;
      }
    }
  });

  lists.order = group_kernels_;
  lists.kernel_begin.resize(kernel_count);
  lists.kernel_end.assign(kernel_count, 0);
  for (const std::uint32_t kernel : lists.vertex_kernels)
    ++lists.kernel_end[kernel];
  std::uint32_t before = 0;
  for (const std::uint32_t kernel : lists.order) {
    lists.kernel_begin[kernel] = before;
    before += lists.kernel_end[kernel];
    lists.kernel_end[kernel] = before;
  }
  lists.vertices.resize(lists.vertex_kernels.size());
  lists.places.resize(lists.vertex_kernels.size());
  std::vector<std::uint32_t> next = lists.kernel_begin;
  for (std::uint32_t v = 0; v < vertices; ++v) {
    for (std::uint32_t place_of_pair = lists.vertex_begin[v]; place_of_pair < lists.vertex_begin[v + 1];
         ++place_of_pair) {
      const std::uint32_t at = next[lists.vertex_kernels[place_of_pair]]++;
      lists.vertices[at] = v;
      lists.places[at] = place_of_pair;
    }
  }
}

}  // namespace heatskin::fields
