#include "heatskin/evaluators/local/support_table.h"

#include <numeric>

#include "heatskin/base/parallel.h"

namespace heatskin::local {
namespace {

/// Sorts what is almost sorted already: kernels that stay where they are change places with few others.
void sortAlmostSorted(std::vector<std::uint64_t>& keys) {
  std::size_t moves = 8 * keys.size();
  for (std::size_t i = 1; i < keys.size(); ++i) {
    const std::uint64_t key = keys[i];
    std::size_t at = i;
    for (; at > 0 && keys[at - 1] > key; --at)
      keys[at] = keys[at - 1];
    keys[at] = key;
    if (i - at > moves) return std::sort(keys.begin(), keys.end());
    moves -= i - at;
  }
}

}  // namespace

std::size_t SupportTable::pairCount() const {
  std::size_t count = 0;
  for (const Range& range : ranges_)
    count += range.count;
  return count;
}

std::size_t SupportTable::bytes() const {
  std::size_t bytes = ranges_.capacity() * sizeof(Range) + sources_.capacity() * sizeof(SupportSource);
  for (const Page& page : pages_) {
    bytes += sizeof(Page) + page.kernels.capacity() * sizeof(std::uint32_t) +
             page.developments.capacity() * sizeof(Development) + page.charts.capacity() * sizeof(Chart);
  }
  return bytes;
}

void SupportTable::keepOnly(std::uint32_t face, std::span<const std::uint32_t> pairs) {
  Page& page = pages_[face / kPageFaces];
  Range& range = ranges_[face];
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    const std::size_t to = range.begin + i, from = range.begin + pairs[i];
    page.kernels[to] = page.kernels[from];
    if (joined_) {
      page.charts[to] = page.charts[from];
    } else {
      page.developments[to] = page.developments[from];
    }
  }
  range.count = static_cast<std::uint32_t>(pairs.size());
  reusable_ = false;
}

void SupportTable::Reached::clear() {
  faces.clear();
  kernels.clear();
  developments.clear();
  charts.clear();
}

void SupportTable::Reached::sortByFace(std::size_t face_count) {
  begin.assign(face_count + 1, 0);
  for (const std::uint32_t face : faces)
    ++begin[face + 1];
  std::partial_sum(begin.begin(), begin.end(), begin.begin());
  sorted.resize(faces.size());
  // Afterwards begin[f] is where face f ends: where f + 1 begins.
  for (std::uint32_t i = 0; i < faces.size(); ++i)
    sorted[begin[faces[i]]++] = i;
  std::move_backward(begin.begin(), begin.end() - 1, begin.end());
  begin[0] = 0;
}

void SupportTable::reset(std::size_t faces, bool joined, std::uint64_t maker) {
  ranges_.assign(faces, {});
  pages_.clear();
  pages_.resize(blockCount(faces, kPageFaces));
  sources_.clear();
  joined_ = joined;
  maker_ = maker;
}

void SupportTable::update(const Change& change) {
  parallelFor(pages_.size(), 1, [&](std::size_t begin, std::size_t end) {
    std::vector<std::uint64_t> keys;
    for (std::size_t page = begin; page < end; ++page)
      updatePage(page, change, keys);
  });
}

bool SupportTable::inOrder(std::size_t first, std::size_t last, std::span<const std::uint32_t> rank) const {
  for (std::size_t f = first; f < last; ++f) {
    const FacePairs pairs = of(static_cast<std::uint32_t>(f));
    for (std::uint32_t i = 1; i < pairs.count; ++i) {
      if (rank[pairs.kernels[i - 1]] > rank[pairs.kernels[i]]) return false;
    }
  }
  return true;
}

void SupportTable::updatePage(std::size_t index, const Change& change, std::vector<std::uint64_t>& keys) {
  const std::size_t first = index * kPageFaces, last = std::min(first + kPageFaces, ranges_.size());
  Page& old = pages_[index];
  const auto nameOf = [&](std::uint32_t kernel) {
    return change.renamed.empty() ? kernel : change.renamed[kernel];
  };
  std::size_t pairs = 0;
  for (const Reached& added : change.added)
    pairs += added.begin[last] - added.begin[first];
  if (pairs == 0 && change.renamed.empty() && inOrder(first, last, change.rank)) return;
  for (std::size_t f = first; f < last; ++f) {
    const std::uint32_t* kernels = old.kernels.data() + ranges_[f].begin;
    if (change.renamed.empty()) {
      pairs += ranges_[f].count;
    } else {
      for (std::uint32_t i = 0; i < ranges_[f].count; ++i)
        pairs += change.renamed[kernels[i]] != kNone ? 1 : 0;
    }
  }
  Page page;
  page.kernels.reserve(pairs + kPadding);
  if (joined_) {
    page.charts.reserve(pairs + kPadding);
  } else {
    page.developments.reserve(pairs + kPadding);
  }
  const auto put = [&](std::uint32_t kernel, const auto& from, std::size_t at) {
    page.kernels.push_back(kernel);
    if (joined_) {
      page.charts.push_back(from.charts[at]);
    } else {
      page.developments.push_back(from.developments[at]);
    }
  };
  const auto putAll = [&](auto& to, const auto& from, const Range& range) {
    to.insert(to.end(), from.begin() + range.begin, from.begin() + range.begin + range.count);
  };
  for (std::size_t f = first; f < last; ++f) {
    Range& range = ranges_[f];
    keys.clear();
    bool same = std::none_of(change.added.begin(), change.added.end(),
                             [&](const Reached& added) { return added.begin[f] != added.begin[f + 1]; });
    for (std::uint32_t i = range.begin; i < range.begin + range.count; ++i) {
      const std::uint32_t kernel = nameOf(old.kernels[i]);
      same = same && kernel == old.kernels[i];
      if (kernel == kNone) continue;
      const std::uint64_t key = std::uint64_t{change.rank[kernel]} << 32 | i;
      same = same && (keys.empty() || keys.back() < key);
      keys.push_back(key);
    }
    const auto begin = static_cast<std::uint32_t>(page.kernels.size());
    if (same) {
      putAll(page.kernels, old.kernels, range);
      if (joined_) {
        putAll(page.charts, old.charts, range);
      } else {
        putAll(page.developments, old.developments, range);
      }
      range.begin = begin;
      continue;
    }
    sortAlmostSorted(keys);
    std::size_t next = 0;  // of the keys
    for (const Reached& added : change.added) {
      for (std::uint32_t n = added.begin[f]; n < added.begin[f + 1]; ++n) {
        const std::uint32_t at = added.sorted[n], kernel = added.kernels[at];
        for (; next < keys.size() && keys[next] >> 32 < change.rank[kernel]; ++next) {
          const std::uint32_t i = keys[next] & 0xFFFFFFFFu;
          put(nameOf(old.kernels[i]), old, i);
        }
        put(kernel, added, at);
      }
    }
    for (; next < keys.size(); ++next) {
      const std::uint32_t i = keys[next] & 0xFFFFFFFFu;
      put(nameOf(old.kernels[i]), old, i);
    }
    range = {begin, static_cast<std::uint32_t>(page.kernels.size()) - begin};
  }
  // Padding lanes read kernel 0.
  page.kernels.resize(pairs + kPadding, 0);
  if (joined_) {
    page.charts.resize(pairs + kPadding, Chart{});
  } else {
    page.developments.resize(pairs + kPadding, Development{});
  }
  old = std::move(page);
}

}  // namespace heatskin::local
