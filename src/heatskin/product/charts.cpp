#include "heatskin/product/charts.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <string>
#include <utility>

#include <fmt/format.h>
#include <zlib.h>

#include "heatskin/base/parallel.h"
#include "heatskin/base/plural.h"
#include "heatskin/evaluators/local/local_evaluator.h"
#include "heatskin/product/deflate.h"
#include "heatskin/product/neighbours.h"
#include "heatskin/product/source_triangles.h"
#include "heatskin/product/words.h"

namespace heatskin {
namespace {

using local::SupportBuilder;
using local::UnfoldStep;

// A step's byte. The first one of a kernel has a bit for each edge of its triangle that leads on; the others
// have one for the edge after the one they came through, one for the edge after that, and this:
constexpr std::uint8_t kOnlyLeadsOn = 4;
constexpr std::uint8_t kLargestStep = 7;

/// Corners that are joined in the order of distances lie where they do otherwise up to rounding: this part of
/// a support radius, or this much in surface units.
constexpr double kSameJoint = 1e-4, kJointRounding = 2e-6;

constexpr std::size_t kKernelsPerBlock = 64;

/// A place in a walk over the triangles of the file.
struct Arrival {
  std::uint32_t face = 0;
  std::uint8_t through = 0;  ///< the edge of its triangle it came through
};

/// The surface that trees are on, with edges as the file counts them: those of its triangles, or those of the
/// faces of a proxy, which are in the file as they are.
class TreeSurface {
 public:
  TreeSurface(const Surface& surface, bool is_proxy) : surface_(&surface), is_proxy_(is_proxy) {}

  std::uint8_t stored(std::uint32_t face, std::size_t edge) const {
    return is_proxy_ ? static_cast<std::uint8_t>(edge) : edgeInTriangle(surface_->sources()[face], edge);
  }
  std::uint8_t ofFace(std::uint32_t face, std::uint8_t stored_edge) const {
    return is_proxy_ ? stored_edge : edgeInFace(surface_->sources()[face], stored_edge);
  }
  /// Across a stored edge; the face is kNone where there is no neighbour.
  Arrival across(std::uint32_t face, std::uint8_t stored_edge) const {
    const std::uint32_t twin = surface_->twins()[face][ofFace(face, stored_edge)];
    if (twin == kNone) return {kNone, 0};
    return {twin / 3, stored(twin / 3, twin % 3)};
  }
  const Surface& surface() const { return *surface_; }

 private:
  const Surface* surface_;
  bool is_proxy_;
};

/// Calls visit(edge of the file's triangle) for the edges that a step's byte says lead on, in their order.
template <class Visit>
void forEachLeading(std::uint8_t byte, bool first, std::uint8_t through, const Visit& visit) {
  for (std::uint8_t bit = 0; bit < (first ? 3 : 2); ++bit) {
    if ((byte >> bit & 1) != 0) visit(static_cast<std::uint8_t>(first ? bit : (through + 1 + bit) % 3));
  }
}

/// The unfolding of one kernel as bytes.
class TreeWriter {
 public:
  explicit TreeWriter(const local::LocalEvaluator& evaluator)
      : evaluator_(evaluator), surface_(evaluator.supportSurface(), evaluator.proxy() != nullptr) {}

  /// Appends the tree of a kernel; `order` becomes its order, or empty where distances say it.
  void write(std::size_t kernel, std::vector<std::uint8_t>& bytes, std::vector<std::uint32_t>& order) {
    const local::SupportSource& source = evaluator_.sources()[kernel];
    visits_ = evaluator_.builder().trace(source);
    findNodes();
    layOut(bytes);
    order.clear();
    if (!evaluator_.options().join_corners || evaluator_.options().euclidean) return;
    if (!distancesSuffice(source)) writeOrder(order);
  }

 private:
  /// A triangle in the plane of the kernel.
  struct Node {
    std::uint32_t face = 0;
    std::uint32_t parent = kNone;
    std::uint8_t through = 0;    ///< the edge it was entered through; this and the next two are the file's
    std::uint8_t from_edge = 0;  ///< and that of the parent's triangle
    std::array<std::uint32_t, 3> children = {kNone, kNone, kNone};
    bool counts = false, needed = false;
    std::uint32_t step = kNone;
  };

  /// Visits that unfold a triangle to the same place are one node: a second visit may go back over the edge
  /// it came through, or follow the first. Nodes that lead to none that counts are not needed.
  void findNodes() {
    nodes_.clear();
    node_of_visit_.resize(visits_.size());
    for (std::size_t v = 0; v < visits_.size(); ++v) {
      const SupportBuilder::Visit& visit = visits_[v];
      node_of_visit_[v] = visit.parent == kNone ? addNode({visit.face}) : nodeAcross(visit);
      nodes_[node_of_visit_[v]].counts |= visit.first;
    }
    for (std::size_t n = nodes_.size(); n-- > 0;) {
      Node& node = nodes_[n];
      node.needed = node.needed || node.counts;
      if (node.needed && node.parent != kNone) nodes_[node.parent].needed = true;
    }
  }

  std::uint32_t addNode(Node node) {
    nodes_.push_back(node);
    return static_cast<std::uint32_t>(nodes_.size() - 1);
  }

  std::uint32_t nodeAcross(const SupportBuilder::Visit& visit) {
    const std::uint32_t parent = node_of_visit_[visit.parent];
    const Node from = nodes_[parent];
    const std::uint8_t edge = surface_.stored(from.face, visit.edge);
    if (from.parent != kNone && edge == from.through) return from.parent;
    if (from.children[edge] != kNone) return from.children[edge];
    const std::uint32_t child =
        addNode({visit.face, parent, surface_.across(from.face, edge).through, edge, {kNone, kNone, kNone}});
    nodes_[parent].children[edge] = child;
    return child;
  }

  /// Depth first, a step before those it leads to.
  void layOut(std::vector<std::uint8_t>& bytes) {
    steps_.clear();
    std::vector<std::uint32_t> pending = {0};
    while (!pending.empty()) {
      Node& node = nodes_[pending.back()];
      pending.pop_back();
      const bool first = steps_.empty();
      node.step = static_cast<std::uint32_t>(steps_.size());
      UnfoldStep step{0, 0, node.counts};
      if (!first) {
        const Node& parent = nodes_[node.parent];
        step.parent = parent.step;
        step.edge = surface_.ofFace(parent.face, node.from_edge);
      }
      steps_.push_back(step);
      std::uint8_t byte = node.counts ? 0 : kOnlyLeadsOn;
      for (int bit = first ? 2 : 1; bit >= 0; --bit) {
        const std::uint32_t child =
            node.children[static_cast<std::size_t>(first ? bit : (node.through + 1 + bit) % 3)];
        if (child == kNone || !nodes_[child].needed) continue;
        byte = static_cast<std::uint8_t>(byte | 1 << bit);
        pending.push_back(child);
      }
      bytes.push_back(byte);
    }
  }

  /// Whether a reader that goes by distances joins the corners as the evaluator does.
  bool distancesSuffice(const local::SupportSource& source) const {
    const SupportBuilder& builder = evaluator_.builder();
    std::vector<SupportBuilder::Reached> as_found;
    for (const SupportBuilder::Visit& visit : visits_) {
      if (visit.first) as_found.push_back({visit.face, visit.development});
    }
    const std::vector<SupportBuilder::Reached> by_distance = builder.follow(source, steps_, {});
    const std::vector<local::Chart> wanted = builder.joinCorners(source, as_found);
    const std::vector<local::Chart> given = builder.joinCorners(source, by_distance);
    std::vector<std::pair<std::uint32_t, std::uint32_t>> index;
    for (std::uint32_t i = 0; i < as_found.size(); ++i)
      index.emplace_back(as_found[i].face, i);
    std::sort(index.begin(), index.end());
    const double tolerance = std::max(kSameJoint * static_cast<double>(source.radius), kJointRounding);
    for (std::size_t i = 0; i < by_distance.size(); ++i) {
      const std::uint32_t face = by_distance[i].face;
      const auto at = std::lower_bound(index.begin(), index.end(), std::pair(face, 0u));
      const local::Chart &a = wanted[at->second], &b = given[i];
      for (const Vec2& corner : surface_.surface().corners()[face]) {
        const Vec2 off((a.xx - b.xx) * corner.x() + (a.xy - b.xy) * corner.y() + (a.x - b.x),
                       (a.yx - b.yx) * corner.x() + (a.yy - b.yy) * corner.y() + (a.y - b.y));
        if (!(off.norm() <= tolerance)) return false;
      }
    }
    return true;
  }

  /// The order in which the evaluator found the faces, as numbers of steps that count.
  void writeOrder(std::vector<std::uint32_t>& order) const {
    std::vector<std::uint32_t> number(steps_.size(), kNone);
    std::uint32_t count = 0;
    for (std::size_t s = 0; s < steps_.size(); ++s) {
      if (steps_[s].counts) number[s] = count++;
    }
    for (std::size_t v = 0; v < visits_.size(); ++v) {
      if (visits_[v].first) order.push_back(number[nodes_[node_of_visit_[v]].step]);
    }
  }

  const local::LocalEvaluator& evaluator_;
  TreeSurface surface_;
  std::vector<SupportBuilder::Visit> visits_;
  std::vector<Node> nodes_;
  std::vector<std::uint32_t> node_of_visit_;
  std::vector<UnfoldStep> steps_;
};

/// Trees of a file, checked.
class ChartTable final : public local::StoredSupports {
 public:
  /// `faces` are those the kernels are on: of the proxy, if there is one.
  ChartTable(const Surface& surface, std::shared_ptr<const local::SupportProxy> proxy,
             std::vector<std::uint32_t> faces)
      : proxy_(std::move(proxy)), faces_(std::move(faces)) {
    const TreeSurface trees(proxy_ != nullptr ? proxy_->surface() : surface, proxy_ != nullptr);
    face_count_ = trees.surface().faceCount();
    crossings_.resize(3 * std::size_t{face_count_});
    for (std::uint32_t f = 0; f < face_count_; ++f) {
      for (std::uint8_t e = 0; e < 3; ++e)
        crossings_[3 * std::size_t{f} + e] = {trees.across(f, e), trees.ofFace(f, e)};
    }
  }

  std::shared_ptr<const local::SupportProxy> proxy() const override { return proxy_; }
  std::uint32_t proxyFaceOf(std::size_t kernel) const override { return faces_[kernel]; }

  /// Nothing, or what is wrong.
  std::optional<std::string> take(std::span<const std::uint8_t> steps, std::span<const std::uint8_t> orders) {
    steps_.assign(steps.begin(), steps.end());
    if (auto problem = findTrees()) return problem;
    if (auto problem = checkTrees()) return problem;
    return takeOrders(orders);
  }

  std::size_t kernelCount() const override { return faces_.size(); }
  std::size_t pairCount() const override { return pairs_; }

  void stepsOf(std::size_t kernel, std::vector<UnfoldStep>& steps,
               std::vector<std::uint32_t>& order) const override {
    steps.clear();
    walk(kernel, [&](const UnfoldStep& step, std::uint32_t) {
      steps.push_back(step);
      return true;
    });
    order.clear();
    const auto at = std::lower_bound(orders_.begin(), orders_.end(), std::pair(kernel, std::size_t{0}));
    if (at == orders_.end() || at->first != kernel) return;
    const auto first = order_words_.begin() + static_cast<std::ptrdiff_t>(at->second);
    const auto count =
        std::count_if(steps.begin(), steps.end(), [](const UnfoldStep& s) { return s.counts; });
    order.assign(first, first + count);
  }

 private:
  /// Where trees begin: each ends with its last open edge.
  std::optional<std::string> findTrees() {
    begin_.assign(1, 0);
    std::size_t at = 0;
    for (std::size_t k = 0; k < faces_.size(); ++k) {
      for (std::size_t open = 1; open > 0; ++at) {
        if (at == steps_.size()) return fmt::format("the steps of kernel {} do not end", k);
        if (at - begin_.back() == 2 * std::size_t{face_count_})
          return fmt::format("kernel {} has more steps than the triangles can need", k);
        const std::uint8_t byte = steps_[at];
        if (byte > kLargestStep) return fmt::format("kernel {}: {} is no step", k, byte);
        const bool first = at == begin_.back();
        const auto leading = static_cast<std::size_t>(std::popcount(first ? byte : byte & 3u));
        if (!first && byte == kOnlyLeadsOn) return fmt::format("kernel {}: a step leads nowhere", k);
        open += leading;
        --open;
      }
      begin_.push_back(at);
    }
    if (at != steps_.size()) return fmt::format("{} steps are left over", steps_.size() - at);
    return std::nullopt;
  }

  /// Calls visit(step, face) for the steps of a kernel while it returns true; the face is kNone where an edge
  /// that leads on has no neighbour.
  template <class Visit>
  void walk(std::size_t kernel, const Visit& visit) const {
    struct Open {
      std::uint32_t parent;
      std::uint8_t edge;  ///< of the file's triangle
    };
    std::vector<Arrival> arrivals;
    std::vector<Open> open = {{0, 0}};
    for (std::size_t at = begin_[kernel]; at < begin_[kernel + 1]; ++at) {
      const auto [parent, edge] = open.back();
      open.pop_back();
      const bool first = arrivals.empty();
      const std::uint8_t byte = steps_[at];
      const auto number = static_cast<std::uint32_t>(arrivals.size());
      Arrival here{faces_[kernel], 0};
      UnfoldStep step{parent, 0, first || (byte & kOnlyLeadsOn) == 0};
      if (!first) {
        const Crossing& crossing = crossings_[3 * std::size_t{arrivals[parent].face} + edge];
        here = crossing.to;
        step.edge = crossing.edge;
      }
      if (!visit(step, here.face)) return;
      arrivals.push_back(here);
      const std::size_t before = open.size();
      forEachLeading(byte, first, here.through, [&](std::uint8_t leading) {
        open.push_back({number, leading});
      });
      std::reverse(open.begin() + static_cast<std::ptrdiff_t>(before), open.end());
    }
  }

  /// Edges that lead on have neighbours, and no face counts twice.
  std::optional<std::string> checkTrees() {
    std::vector<std::uint32_t> stamps(face_count_, kNone);
    std::optional<std::string> problem;
    for (std::size_t k = 0; k < faces_.size() && !problem; ++k) {
      walk(k, [&](const UnfoldStep& step, std::uint32_t face) {
        if (face == kNone) {
          problem = fmt::format("kernel {} crosses an edge without a neighbour", k);
          return false;
        }
        if (!step.counts) return true;
        ++pairs_;
        if (stamps[face] == k) problem = fmt::format("kernel {} counts a triangle twice", k);
        stamps[face] = static_cast<std::uint32_t>(k);
        return !problem;
      });
    }
    return problem;
  }

  std::optional<std::string> takeOrders(std::span<const std::uint8_t> bytes) {
    const std::size_t words = bytes.size() / kWord;
    order_words_.resize(words);
    for (std::size_t i = 0; i < words; ++i)
      order_words_[i] = wordAt(bytes, i);
    std::vector<UnfoldStep> steps;
    std::vector<std::uint32_t> none, sorted;
    for (std::size_t at = 0; at < words;) {
      const std::size_t kernel = order_words_[at++];
      if (kernel >= faces_.size() || (!orders_.empty() && kernel <= orders_.back().first))
        return "its orders are not those of increasing kernels";
      stepsOf(kernel, steps, none);
      const auto count = static_cast<std::size_t>(
          std::count_if(steps.begin(), steps.end(), [](const UnfoldStep& s) { return s.counts; }));
      if (words - at < count) return fmt::format("the order of kernel {} does not end", kernel);
      sorted.assign(order_words_.begin() + static_cast<std::ptrdiff_t>(at),
                    order_words_.begin() + static_cast<std::ptrdiff_t>(at + count));
      std::sort(sorted.begin(), sorted.end());
      for (std::size_t i = 0; i < count; ++i) {
        if (sorted[i] != i) return fmt::format("the order of kernel {} is no permutation", kernel);
      }
      orders_.emplace_back(kernel, at);
      at += count;
    }
    return std::nullopt;
  }

  struct Crossing {
    Arrival to;
    std::uint8_t edge;  ///< of the face that is left
  };

  std::shared_ptr<const local::SupportProxy> proxy_;  // or null
  std::uint32_t face_count_ = 0;                      // of the surface that trees are on
  std::vector<std::uint32_t> faces_;                  // [N] of the kernels
  std::vector<Crossing> crossings_;                   // [F, edge of the file's triangle]
  std::vector<std::uint8_t> steps_;
  std::vector<std::size_t> begin_;                           // [N + 1] into steps_
  std::vector<std::pair<std::size_t, std::size_t>> orders_;  // kernel, where its order begins
  std::vector<std::uint32_t> order_words_;
  std::size_t pairs_ = 0;
};

/// Whether the rule with the changes of a file gives the neighbours of the surface; otherwise what is wrong.
std::optional<std::string> checkNeighbours(std::span<const std::uint8_t> bytes, const Asset& asset,
                                           const Surface& surface) {
  const SourceTriangles triangles(asset, surface);
  Neighbours neighbours = neighboursByRule(asset);
  const std::size_t pairs = bytes.size() / (2 * kWord);
  for (std::size_t i = 0; i < pairs; ++i) {
    const std::uint32_t edge = wordAt(bytes, 2 * i), other = wordAt(bytes, 2 * i + 1);
    if (i > 0 && edge <= wordAt(bytes, 2 * i - 2)) return "its neighbours are not in increasing order";
    if (edge >= neighbours.size() || (other != kNone && other >= neighbours.size()))
      return "its neighbours are not edges of the file";
    neighbours[edge] = other;
  }
  if (neighbours != neighboursOnSurface(triangles, surface))
    return "its neighbours are not those of the geometry, which was edited";
  return std::nullopt;
}

}  // namespace

std::optional<PackedCharts> packCharts(const Evaluator& evaluator, const Asset& stored,
                                       const Surface& surface, const KernelSet& kernels) {
  const auto* local = dynamic_cast<const local::LocalEvaluator*>(&evaluator);
  if (local == nullptr) return std::nullopt;
  const SourceTriangles triangles(stored, surface);
  if (triangles.size() >= kNone / 3 || local->supports().pairCount() > kMostSteps / 2) return std::nullopt;

  std::optional<PackedProxy> proxy;
  if (local->proxy() != nullptr) {
    proxy = packProxy(*local, triangles, surface);
    if (!proxy) return std::nullopt;
  }

  struct Block {
    std::vector<std::uint8_t> steps;
    std::vector<std::uint32_t> orders;
  };
  std::vector<Block> blocks(blockCount(kernels.size(), kKernelsPerBlock));
  parallelBlocks(kernels.size(), kKernelsPerBlock, [&](std::size_t b, std::size_t begin, std::size_t end) {
    TreeWriter writer(*local);
    std::vector<std::uint32_t> order;
    for (std::size_t k = begin; k < end; ++k) {
      writer.write(k, blocks[b].steps, order);
      if (order.empty()) continue;
      blocks[b].orders.push_back(static_cast<std::uint32_t>(k));
      blocks[b].orders.insert(blocks[b].orders.end(), order.begin(), order.end());
    }
  });
  PackedCharts packed;
  std::vector<std::uint8_t> bytes;
  for (const Block& block : blocks)
    bytes.insert(bytes.end(), block.steps.begin(), block.steps.end());
  packed.header.steps = bytes.size();
  for (const Block& block : blocks) {
    packed.header.orders += block.orders.size();
    for (const std::uint32_t word : block.orders)
      appendWord(bytes, word);
  }
  const NeighbourChanges changes =
      differences(neighboursByRule(stored), neighboursOnSurface(triangles, surface));
  packed.header.neighbours = changes.size();
  for (const auto& [edge, other] : changes) {
    appendWord(bytes, edge);
    appendWord(bytes, other);
  }
  if (!proxy) {
    packed.bytes = deflateWithinLimit(bytes, bytes.size(), Z_DEFAULT_STRATEGY);
    return packed;
  }
  packed.header.proxy = proxy->header;
  bytes.insert(bytes.end(), proxy->bytes.begin(), proxy->bytes.end());
  packed.bytes = deflateParts(bytes, bytes.size(), Z_DEFAULT_STRATEGY);
  return packed;
}

Result<std::shared_ptr<const local::StoredSupports>> unpackCharts(
    const ChartsHeader& header, std::span<const std::uint8_t> bytes, const Asset& asset,
    const std::shared_ptr<const Surface>& surface, const KernelSet& kernels) {
  const auto refuse = [](const std::string& what) { return inputError("charts: " + what); };
  // Sizes first: a small file must not ask for much memory.
  const std::size_t triangle_count = countTriangles(asset);
  std::size_t faces = surface->faceCount();
  if (header.proxy) {
    faces = header.proxy->faces;
    if (faces > triangle_count || header.proxy->vertices > 3 * faces ||
        header.proxy->face_neighbours > 3 * faces || header.proxy->listed > kMostServing * triangle_count)
      return refuse("the proxy has more than there can be");
  }
  const double justified = local::justifiedPairs(kernels.size(), faces);
  if (static_cast<double>(header.steps) > 2 * justified) {
    return refuse(fmt::format("{} are more than {} on {} can need", plural(header.steps, "step", "steps"),
                              plural(kernels.size(), "kernel", "kernels"), plural(faces, "face", "faces")));
  }
  if (header.orders > 2 * header.steps || header.neighbours > 3 * triangle_count)
    return refuse("orders or neighbours are more than there can be");
  const std::size_t trees = header.steps + kWord * (header.orders + 2 * header.neighbours);
  const std::size_t size =
      trees + (header.proxy ? proxyBytes(*header.proxy, triangle_count, kernels.size()) : 0);
  // What serves the triangles of the file may be the same for all of them: these justify it themselves.
  if (size / kMostInflation >= bytes.size() + (header.proxy ? triangle_count : 0)) {
    return refuse(fmt::format("the buffer view has {} bytes, too few for {}", bytes.size(),
                              plural(header.steps, "step", "steps")));
  }
  const auto inflated = inflateExactly(bytes, size);
  if (!inflated) {
    return refuse(fmt::format("the buffer view is not a zlib stream of {} bytes, as {} have", size,
                              plural(header.steps, "step", "steps")));
  }
  const std::span<const std::uint8_t> all(*inflated);
  const std::size_t after_orders = header.steps + kWord * header.orders;
  if (const auto problem = checkNeighbours(all.subspan(after_orders, trees - after_orders), asset, *surface))
    return refuse(*problem);
  StoredProxy stored;
  if (header.proxy) {
    const SourceTriangles triangles(asset, *surface);
    auto read = unpackProxy(*header.proxy, all.subspan(trees), triangles, *surface, kernels.size());
    if (!read) return refuse(read.error().message);
    stored = std::move(*read);
  } else {
    for (const SurfacePoint& position : kernels.positions)
      stored.kernel_faces.push_back(position.face);
  }
  auto table =
      std::make_shared<ChartTable>(*surface, std::move(stored.proxy), std::move(stored.kernel_faces));
  if (const auto problem =
          table->take(all.first(header.steps), all.subspan(header.steps, kWord * header.orders)))
    return refuse(*problem);
  return std::shared_ptr<const local::StoredSupports>(std::move(table));
}

}  // namespace heatskin
