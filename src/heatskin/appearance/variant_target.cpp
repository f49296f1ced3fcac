#include "heatskin/appearance/variant_target.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "heatskin/base/fingerprint.h"
#include "heatskin/surface/sampling.h"

namespace heatskin {
namespace {

/// Points at which looks are compared.
constexpr std::size_t kComparedAt = std::size_t{1} << 13;

/// What a group may have left over, root mean square, as part of its range: two levels of eight bits.
constexpr float kHardlySeen = 2.0f / 255;

using Columns = Eigen::MatrixXf;  // [points, channels]

/// Values about their means; 0 where the target does not count.
Columns centredValues(const FitTarget& target, std::span<const SurfacePoint> points) {
  const std::size_t channels = target.layout().size();
  std::vector<float> values(points.size() * channels), seen(points.size());
  unitValues(target, points, values);
  target.visibilities(points, seen);
  Columns columns(static_cast<Eigen::Index>(points.size()), static_cast<Eigen::Index>(channels));
  for (std::size_t c = 0; c < channels; ++c) {
    const auto column = static_cast<Eigen::Index>(c);
    const auto counts = [&](std::size_t i) {
      return seen[i] > 0 && (constantChannels(target, points[i].face) >> c & 1) == 0;
    };
    double sum = 0, count = 0;
    for (std::size_t i = 0; i < points.size(); ++i) {
      if (!counts(i)) continue;
      sum += static_cast<double>(values[i * channels + c]);
      ++count;
    }
    const auto mean = static_cast<float>(count > 0 ? sum / count : 0.0);
    for (std::size_t i = 0; i < points.size(); ++i)
      columns(static_cast<Eigen::Index>(i), column) = counts(i) ? values[i * channels + c] - mean : 0.0f;
  }
  return columns;
}

/// A group of a look, and what is left of it once those already there are taken away.
struct Candidate {
  std::size_t look = 0, group = 0;
  Columns left;

  float size() const { return std::sqrt(left.squaredNorm() / static_cast<float>(left.size())); }
};

/// Takes the direction of a column out of others.
void takeOut(const Eigen::VectorXf& column, std::vector<Candidate>& from) {
  const float squared = column.squaredNorm();
  constexpr float kNothing = 1e-6f;  // of the points: a hundredth of a level
  if (!(squared > kNothing * static_cast<float>(column.size()))) return;
  for (Candidate& candidate : from)
    candidate.left -= column * ((column.transpose() * candidate.left) / squared);
}

ChannelLayout layoutOf(std::vector<ChannelGroup> groups) {
  const auto layout = ChannelLayout::make(std::move(groups));
  return layout ? *layout : ChannelLayout();  // parts of layouts are layouts
}

}  // namespace

VariantTarget::VariantTarget(const Asset& asset, const Surface& surface, const Appearance& base,
                             std::span<const VariantLook> looks, Filter filter, const ChannelLayout& layout)
    : base_(base, filter, layout), layout_(layout), varies_(surface.faceCount(), false) {
  const auto note = [&](const AppearanceTarget& target) {
    for (std::uint32_t f = 0; f < surface.faceCount(); ++f)
      varies_[f] = varies_[f] || !target.faceConstant(f);
    has_color_ = has_color_ || target.hasColor();
  };
  note(base_);
  const std::vector<SurfacePoint> points = sampleSurface(surface, kComparedAt, 0);
  std::vector<Candidate> candidates;
  Asset other = asset;
  for (std::size_t l = 0; l < looks.size(); ++l) {
    setLook(other, looks[l]);
    const Appearance appearance(other, surface, {base.images().begin(), base.images().end()});
    const AppearanceTarget target(appearance, filter, layout);
    note(target);
    const Columns columns = centredValues(target, points);
    for (std::size_t g = 0; g < layout.groups().size(); ++g) {
      const ChannelGroup& group = layout.groups()[g];
      candidates.push_back({l, g,
                            columns.middleCols(static_cast<Eigen::Index>(group.first),
                                               static_cast<Eigen::Index>(group.count))});
    }
    unsetLook(other, asset, looks[l]);
  }
  // Gram and Schmidt, with the default's own columns first.
  std::vector<Candidate> own(1);
  own[0].left = centredValues(base_, points);
  for (Eigen::Index c = 0; c < own[0].left.cols(); ++c) {
    const Eigen::VectorXf column = own[0].left.col(c);
    takeOut(column, candidates);
    takeOut(column, own);
  }
  std::vector<std::pair<std::size_t, std::size_t>> chosen;
  std::size_t room = std::min(kMaxVariantChannels, kMaxChannels - layout.size());
  while (true) {
    const Candidate* most = nullptr;
    for (const Candidate& candidate : candidates) {
      if (layout.groups()[candidate.group].count > room || candidate.size() <= kHardlySeen) continue;
      if (most == nullptr || candidate.size() > most->size()) most = &candidate;
    }
    if (most == nullptr) break;
    chosen.emplace_back(most->look, most->group);
    room -= layout.groups()[most->group].count;
    Columns columns = most->left;
    for (Eigen::Index c = 0; c < columns.cols(); ++c) {
      const Eigen::VectorXf column = columns.col(c);
      takeOut(column, candidates);
      for (Eigen::Index next = c + 1; next < columns.cols() && column.squaredNorm() > 0; ++next)
        columns.col(next) -= column * (column.dot(columns.col(next)) / column.squaredNorm());
    }
  }

  std::sort(chosen.begin(), chosen.end());
  std::vector<ChannelGroup> groups(layout.groups().begin(), layout.groups().end());
  for (std::size_t i = 0; i < chosen.size();) {
    const std::size_t look = chosen[i].first;
    Part part;
    part.first = 0;
    for (const ChannelGroup& group : groups)
      part.first += group.count;
    std::vector<ChannelGroup> of_look;
    for (; i < chosen.size() && chosen[i].first == look; ++i) {
      of_look.push_back(layout.groups()[chosen[i].second]);
      groups.push_back(of_look.back());
      groups.back().name = fmt::format("look_{}_{}", look + 1, chosen[i].second);
    }
    setLook(other, looks[look]);
    part.appearance = std::make_shared<const Appearance>(
        other, surface,
        std::vector<std::shared_ptr<const Image>>(base.images().begin(), base.images().end()));
    unsetLook(other, asset, looks[look]);
    part.target = std::make_shared<const AppearanceTarget>(*part.appearance, filter, layoutOf(of_look));
    parts_.push_back(std::move(part));
  }
  layout_ = layoutOf(std::move(groups));
}

void VariantTarget::values(std::span<const SurfacePoint> points, std::span<float> out) const {
  const std::size_t channels = layout_.size();
  std::vector<float> rows;
  const auto put = [&](const FitTarget& target, std::size_t first) {
    const std::size_t count = target.layout().size();
    rows.resize(points.size() * count);
    target.values(points, rows);
    for (std::size_t i = 0; i < points.size(); ++i)
      std::copy_n(rows.data() + i * count, count, out.data() + i * channels + first);
  };
  put(base_, 0);
  for (const Part& part : parts_)
    put(*part.target, part.first);
}

void VariantTarget::visibilities(std::span<const SurfacePoint> points, std::span<float> out) const {
  base_.visibilities(points, out);
  if (!hasAlpha()) return;
  // What some look shows has to be right.
  std::vector<float> seen(points.size());
  for (const Part& part : parts_) {
    part.target->visibilities(points, seen);
    for (std::size_t i = 0; i < points.size(); ++i)
      out[i] = std::max(out[i], seen[i]);
  }
}

std::uint32_t VariantTarget::constantGroups(std::uint32_t face) const {
  std::uint32_t constant = base_.constantGroups(face);
  auto bit = static_cast<std::uint32_t>(base_.layout().groups().size());
  for (const Part& part : parts_) {
    constant |= part.target->constantGroups(face) << bit;
    bit += static_cast<std::uint32_t>(part.target->layout().groups().size());
  }
  return constant;
}

void VariantTarget::identify(const Surface& surface, Fingerprint& fingerprint) const {
  base_.identify(surface, fingerprint);
  for (const Part& part : parts_)
    part.target->identify(surface, fingerprint);
  std::vector<std::uint8_t> varies(varies_.begin(), varies_.end());
  fingerprint.add(std::span<const std::uint8_t>(varies));
}

}  // namespace heatskin
