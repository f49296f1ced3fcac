#include "heatskin/appearance/variant_target.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <utility>

#include <fmt/format.h>

#include "heatskin/base/fingerprint.h"
#include "heatskin/surface/sampling.h"

namespace heatskin {
namespace {

/// Points at which looks are compared.
constexpr std::size_t kComparedAt = std::size_t{1} << 13;

/// What a group may have left over, root mean square, as part of its range: two levels of eight bits.
constexpr double kHardlySeen = 2.0 / 255;

/// Values of a look at the compared points, and where its groups count: seen, not constant, and on a
/// primitive that looks different from the default.
struct LookValues {
  Eigen::MatrixXd values;                       // [points, channels]
  std::vector<std::vector<Eigen::Index>> rows;  // [groups] of values that count
};

LookValues lookValues(const FitTarget& target, std::span<const SurfacePoint> points,
                      const std::function<bool(std::uint32_t face)>& changed) {
  const ChannelLayout& layout = target.layout();
  std::vector<float> values(points.size() * layout.size()), seen(points.size());
  unitValues(target, points, values);
  target.visibilities(points, seen);
  LookValues look;
  using RowMajor = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
  look.values = Eigen::Map<const RowMajor>(values.data(), static_cast<Eigen::Index>(points.size()),
                                           static_cast<Eigen::Index>(layout.size()))
                    .cast<double>();
  look.rows.resize(layout.groups().size());
  for (std::size_t i = 0; i < points.size(); ++i) {
    if (!(seen[i] > 0) || !changed(points[i].face)) continue;
    const std::uint32_t constant = target.constantGroups(points[i].face);
    for (std::size_t g = 0; g < look.rows.size(); ++g) {
      if ((constant >> g & 1) == 0) look.rows[g].push_back(static_cast<Eigen::Index>(i));
    }
  }
  return look;
}

/// What linear regression on `known` columns leaves of a group's columns, root mean square over all points.
double leftOver(const LookValues& look, std::size_t g, const ChannelGroup& group,
                const std::vector<Eigen::VectorXd>& known) {
  const std::vector<Eigen::Index>& rows = look.rows[g];
  if (rows.empty()) return 0;
  const auto count = static_cast<Eigen::Index>(rows.size());
  const auto columns = static_cast<Eigen::Index>(known.size());
  Eigen::MatrixXd from(count, columns + 1);
  from.col(columns).setOnes();
  for (Eigen::Index c = 0; c < columns; ++c)
    from.col(c) = known[static_cast<std::size_t>(c)](rows);
  const Eigen::MatrixXd to = look.values(
      rows, Eigen::seqN(static_cast<Eigen::Index>(group.first), static_cast<Eigen::Index>(group.count)));
  // Columns may depend on each other: a little of the identity, far below a level of eight bits.
  constexpr double kRidge = 1e-6;
  Eigen::MatrixXd squares = from.transpose() * from;
  squares.diagonal().array() += kRidge * static_cast<double>(count);
  const Eigen::MatrixXd left = to - from * squares.ldlt().solve(from.transpose() * to);
  return std::sqrt(left.squaredNorm() /
                   static_cast<double>(static_cast<std::size_t>(look.values.rows()) * group.count));
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
  const auto groups_of_layout = layout.groups();
  std::vector<LookValues> values;
  Asset other = asset;
  for (const VariantLook& look : looks) {
    setLook(other, look);
    const Appearance appearance(other, surface, {base.images().begin(), base.images().end()});
    const AppearanceTarget target(appearance, filter, layout);
    note(target);
    values.push_back(lookValues(target, points, [&](std::uint32_t face) {
      return appearance.faceMaterial(face) != base.faceMaterial(face);
    }));
    unsetLook(other, asset, look);
  }
  std::vector<Eigen::VectorXd> known;
  const auto learn = [&](const Eigen::MatrixXd& columns, std::size_t first, std::size_t count) {
    for (std::size_t c = first; c < first + count; ++c)
      known.emplace_back(columns.col(static_cast<Eigen::Index>(c)));
  };
  learn(lookValues(base_, points, [](std::uint32_t) { return true; }).values, 0, layout.size());
  std::vector<std::pair<std::size_t, std::size_t>> chosen;  // look and group
  std::size_t room = std::min(kMaxVariantChannels, kMaxChannels - layout.size());
  while (true) {
    double most = kHardlySeen;
    std::pair<std::size_t, std::size_t> best;
    for (std::size_t l = 0; l < looks.size(); ++l) {
      for (std::size_t g = 0; g < groups_of_layout.size(); ++g) {
        if (groups_of_layout[g].count > room) continue;
        const double left = leftOver(values[l], g, groups_of_layout[g], known);
        if (left <= most) continue;
        most = left;
        best = {l, g};
      }
    }
    if (most == kHardlySeen) break;
    chosen.push_back(best);
    const ChannelGroup& group = groups_of_layout[best.second];
    learn(values[best.first].values, group.first, group.count);
    room -= group.count;
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
