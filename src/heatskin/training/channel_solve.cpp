#include "heatskin/training/channel_solve.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <span>
#include <vector>

#include "heatskin/base/parallel.h"

namespace heatskin {
namespace {

constexpr std::size_t kBlock = 4096;

using Sums = std::array<double, kMaxChannels>;

/// The matrix A with a row for each probe: a kernel's part of the value there, f / max(sum of f, 1); and the
/// same by columns, so that both products are sums in a fixed order.
class Parts {
 public:
  Parts(const Probes& probes, std::size_t kernels) : probes_(&probes) {
    scale_.resize(probes.size());
    for (std::size_t p = 0; p < probes.size(); ++p)
      scale_[p] = 1 / std::max(probes.weights[p], 1.0f);
    begin_.assign(kernels + 1, 0);
    for (const Influence& influence : probes.influences)
      ++begin_[influence.kernel + 1];
    std::partial_sum(begin_.begin(), begin_.end(), begin_.begin());
    columns_.resize(probes.influences.size());
    std::vector<std::uint32_t> next(begin_.begin(), begin_.end() - 1);
    for (std::size_t p = 0; p < probes.size(); ++p) {
      for (std::uint32_t n = probes.begin[p]; n < probes.begin[p + 1]; ++n) {
        const Influence& influence = probes.influences[n];
        columns_[next[influence.kernel]++] = {static_cast<std::uint32_t>(p), influence.weight * scale_[p]};
      }
    }
  }

  /// out = A x, [P, C] from [kernels, C].
  void apply(const ChannelTable& x, ChannelTable& out) const {
    const std::size_t channels = x.channels;
    parallelFor(scale_.size(), kBlock, [&](std::size_t first, std::size_t last) {
      for (std::size_t p = first; p < last; ++p) {
        float sums[kMaxChannels] = {};
        for (std::uint32_t n = probes_->begin[p]; n < probes_->begin[p + 1]; ++n) {
          const Influence& influence = probes_->influences[n];
          const float* row = x.row(influence.kernel);
          for (std::size_t c = 0; c < channels; ++c)
            sums[c] += influence.weight * row[c];
        }
        for (std::size_t c = 0; c < channels; ++c)
          out.row(p)[c] = scale_[p] * sums[c];
      }
    });
  }

  /// out = A^T x, [kernels, C] from [P, C].
  void applyTransposed(const ChannelTable& x, ChannelTable& out) const {
    forColumns([&](std::size_t k, std::span<const Entry> column) {
      float sums[kMaxChannels] = {};
      for (const Entry& entry : column) {
        const float* row = x.row(entry.probe);
        for (std::size_t c = 0; c < x.channels; ++c)
          sums[c] += entry.part * row[c];
      }
      std::copy_n(sums, x.channels, out.row(k));
    });
  }

  /// out = the diagonal of A^T W A, W [P, C].
  void diagonal(const ChannelTable& w, ChannelTable& out) const {
    forColumns([&](std::size_t k, std::span<const Entry> column) {
      float sums[kMaxChannels] = {};
      for (const Entry& entry : column) {
        for (std::size_t c = 0; c < w.channels; ++c)
          sums[c] += entry.part * entry.part * w.row(entry.probe)[c];
      }
      std::copy_n(sums, w.channels, out.row(k));
    });
  }

 private:
  struct Entry {
    std::uint32_t probe;
    float part;
  };

  template <class Body>
  void forColumns(const Body& body) const {
    parallelFor(begin_.size() - 1, kBlock, [&](std::size_t first, std::size_t last) {
      for (std::size_t k = first; k < last; ++k)
        body(k, std::span(columns_).subspan(begin_[k], begin_[k + 1] - begin_[k]));
    });
  }

  const Probes* probes_;
  std::vector<float> scale_;          // [P]
  std::vector<std::uint32_t> begin_;  // [kernels + 1]
  std::vector<Entry> columns_;
};

/// Sums of f(row, channel) over rows, channel by channel.
template <class Term>
Sums sumRows(std::size_t rows, std::size_t channels, const Term& f) {
  std::vector<Sums> blocks(blockCount(rows, kBlock), Sums{});
  parallelBlocks(rows, kBlock, [&](std::size_t b, std::size_t first, std::size_t last) {
    for (std::size_t r = first; r < last; ++r) {
      for (std::size_t c = 0; c < channels; ++c)
        blocks[b][c] += static_cast<double>(f(r, c));
    }
  });
  Sums sums{};
  for (const Sums& block : blocks) {
    for (std::size_t c = 0; c < channels; ++c)
      sums[c] += block[c];
  }
  return sums;
}

}  // namespace

void solveChannels(const Probes& probes, const ChannelSolveOptions& options, KernelSet& kernels) {
  const std::size_t channels = kernels.layout.size(), count = kernels.size(), points = probes.size();
  if (count == 0 || points == 0) return;
  const auto table = [&](std::size_t rows) {
    ChannelTable t{channels, {}};
    t.resize(rows);
    return t;
  };
  const Parts parts(probes, count);

  // How much a probe counts; errors in `probes` have that in them already.
  ChannelTable counts = table(points), at_probes = table(points);
  for (const ChannelGroup& group : kernels.layout.groups()) {
    for (std::size_t p = 0; p < points; ++p) {
      for (std::size_t c = group.first; c < group.first + group.count; ++c) {
        counts.row(p)[c] = probes.countOf(p, c, group);
        at_probes.row(p)[c] = -probes.errors.row(p)[c];
      }
    }
  }

  ChannelTable residual = table(count), change = table(count), direction = table(count),
               product = table(count), diagonal = table(count), z = table(count);
  parts.applyTransposed(at_probes, residual);
  parts.diagonal(counts, diagonal);
  Sums damping = sumRows(count, channels, [&](std::size_t k, std::size_t c) { return diagonal.row(k)[c]; });
  for (double& d : damping)
    d *= options.damping / static_cast<double>(count);

  const auto precondition = [&] {
    for (std::size_t k = 0; k < count; ++k) {
      for (std::size_t c = 0; c < channels; ++c) {
        const float curvature = diagonal.row(k)[c] + static_cast<float>(damping[c]);
        z.row(k)[c] = curvature > 0 ? residual.row(k)[c] / curvature : 0.0f;
      }
    }
  };
  const auto dot = [&](const ChannelTable& a, const ChannelTable& b) {
    return sumRows(count, channels, [&](std::size_t k, std::size_t c) { return a.row(k)[c] * b.row(k)[c]; });
  };
  precondition();
  direction = z;
  Sums energy = dot(residual, z);
  for (int i = 0; i < options.iterations; ++i) {
    parts.apply(direction, at_probes);
    for (std::size_t p = 0; p < points; ++p) {
      for (std::size_t c = 0; c < channels; ++c)
        at_probes.row(p)[c] *= counts.row(p)[c];
    }
    parts.applyTransposed(at_probes, product);
    for (std::size_t k = 0; k < count; ++k) {
      for (std::size_t c = 0; c < channels; ++c)
        product.row(k)[c] += static_cast<float>(damping[c]) * direction.row(k)[c];
    }
    const Sums curvature = dot(direction, product);
    for (std::size_t c = 0; c < channels; ++c) {
      if (!(curvature[c] > 0)) continue;  // done: there is nothing left to gain in this channel
      const auto length = static_cast<float>(energy[c] / curvature[c]);
      for (std::size_t k = 0; k < count; ++k) {
        change.row(k)[c] += length * direction.row(k)[c];
        residual.row(k)[c] -= length * product.row(k)[c];
      }
    }
    precondition();
    const Sums next = dot(residual, z);
    for (std::size_t c = 0; c < channels; ++c) {
      const float keep = energy[c] > 0 ? static_cast<float>(next[c] / energy[c]) : 0.0f;
      for (std::size_t k = 0; k < count; ++k)
        direction.row(k)[c] = z.row(k)[c] + keep * direction.row(k)[c];
    }
    energy = next;
  }
  for (std::size_t i = 0; i < kernels.channels.values.size(); ++i) {
    float& value = kernels.channels.values[i];
    value = std::clamp(value + change.values[i], -KernelRanges::kMaxResidual, KernelRanges::kMaxResidual);
  }
}

}  // namespace heatskin
