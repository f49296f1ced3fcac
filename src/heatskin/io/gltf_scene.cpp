#include "heatskin/io/gltf_scene.h"

#include <array>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>

namespace heatskin::gltf {
namespace {

constexpr std::size_t kNoParent = std::numeric_limits<std::size_t>::max();

struct Node {
  std::string name;
  Affine3 parent_from_node = Affine3::Identity();
  std::vector<std::size_t> children;
  std::optional<std::size_t> mesh;
  bool skinned = false;
  const Json* instancing = nullptr;
};

/// Quaternions come as x, y, z, w and need not be quite unit.
std::optional<Affine3> fromTrs(const Vec3& translation, const Vec4& rotation, const Vec3& scale) {
  const double length = rotation.norm();
  if (!(length > 0) || !std::isfinite(length)) return std::nullopt;
  const Vec4 unit = rotation / length;
  Affine3 transform = Affine3::Identity();
  transform.linear() =
      Eigen::Quaterniond(unit.w(), unit.x(), unit.y(), unit.z()).toRotationMatrix() * scale.asDiagonal();
  transform.translation() = translation;
  return transform;
}

Result<Affine3> readTransform(Fields& fields) {
  std::array<double, 16> m{};
  Vec3 translation = Vec3::Zero(), scale = Vec3::Ones();
  Vec4 rotation(0, 0, 0, 1);
  const bool has_matrix = fields.numbers("matrix", m);
  fields.numbers("translation", std::span(translation.data(), 3));
  fields.numbers("rotation", std::span(rotation.data(), 4));
  fields.numbers("scale", std::span(scale.data(), 3));
  if (!fields.ok()) return fields.error();
  Affine3 transform = Affine3::Identity();
  if (has_matrix) {
    // Column-major. A last row other than 0 0 0 1 would be a projection.
    constexpr double kLastRowTolerance = 1e-6;  // matrices written in single precision
    if (std::abs(m[3]) > kLastRowTolerance || std::abs(m[7]) > kLastRowTolerance ||
        std::abs(m[11]) > kLastRowTolerance || std::abs(m[15] - 1) > kLastRowTolerance) {
      return inputError(fields.where() + ": the matrix is not affine (its last row is not 0 0 0 1)");
    }
    for (int column = 0; column < 4; ++column) {
      for (int row = 0; row < 3; ++row) {
        transform.matrix()(row, column) =
            m[std::size_t{4} * static_cast<std::size_t>(column) + static_cast<std::size_t>(row)];
      }
    }
  } else if (const std::optional<Affine3> trs = fromTrs(translation, rotation, scale)) {
    transform = *trs;
  } else {
    return inputError(fields.where() +
                      ": the rotation is not a quaternion (its length is zero or too large)");
  }
  return transform;
}

Result<std::vector<Node>> readNodes(const Document& document) {
  const Json::array_t& list = document.list("nodes");
  std::vector<Node> nodes(list.size());
  for (std::size_t i = 0; i < list.size(); ++i) {
    Fields fields(list[i], "node " + std::to_string(i));
    Node& node = nodes[i];
    node.name = fields.text("name");
    node.children = fields.indices("children", list.size(), "node");
    node.mesh = fields.index("mesh", document.list("meshes").size(), "mesh");
    node.skinned = fields.index("skin", document.list("skins").size(), "skin").has_value();
    node.instancing = fields.extension("EXT_mesh_gpu_instancing");
    Result<Affine3> transform = readTransform(fields);
    if (!transform) return transform.error();
    if (!fields.ok()) return fields.error();
    node.parent_from_node = *transform;
  }
  return nodes;
}

/// Every node has at most one parent and no node is its own ancestor.
Result<std::vector<std::size_t>> readParents(const std::vector<Node>& nodes) {
  std::vector<std::size_t> parents(nodes.size(), kNoParent);
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    for (const std::size_t child : nodes[i].children) {
      if (child == i)
        return inputError("cycle in the node hierarchy: node " + std::to_string(i) + " is its own child");
      if (parents[child] != kNoParent) {
        return inputError("node " + std::to_string(child) + " has two parents, nodes " +
                          std::to_string(parents[child]) + " and " + std::to_string(i));
      }
      parents[child] = i;
    }
  }
  // Up from every node until a root or a node that an earlier walk has been to; meeting the own walk is a
  // cycle.
  std::vector<std::size_t> walk(nodes.size(), kNoParent);
  for (std::size_t start = 0; start < nodes.size(); ++start) {
    for (std::size_t i = start; i != kNoParent && walk[i] != start; i = parents[i]) {
      if (walk[i] != kNoParent) break;
      walk[i] = start;
      if (parents[i] != kNoParent && walk[parents[i]] == start) {
        return inputError("cycle in the node hierarchy: node " + std::to_string(i) + " is its own ancestor");
      }
    }
  }
  return parents;
}

Result<std::vector<std::size_t>> readRoots(const Document& document, const std::vector<Node>& nodes,
                                           NoticeList& notices) {
  const Json::array_t& scenes = document.list("scenes");
  Fields top(document.root, "");
  const std::optional<std::size_t> scene = top.index("scene", scenes.size(), "scene");
  if (!top.ok()) return top.error();
  Result<std::vector<std::size_t>> parents = readParents(nodes);
  if (!parents) return parents.error();
  if (scenes.empty()) {
    if (!nodes.empty()) notices.add("no_scene", "the file has no scene; all root nodes are loaded");
    std::vector<std::size_t> roots;
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      if ((*parents)[i] == kNoParent) roots.push_back(i);
    }
    return roots;
  }
  const std::size_t index = scene.value_or(0);
  Fields fields(scenes[index], "scene " + std::to_string(index));
  std::vector<std::size_t> roots = fields.indices("nodes", nodes.size(), "node");
  if (!fields.ok()) return fields.error();
  return roots;
}

/// The local transforms of EXT_mesh_gpu_instancing.
Result<std::vector<Affine3>> readInstancing(const Json& extension, const std::string& where,
                                            const Document& document, Accessors& accessors,
                                            std::size_t max_count) {
  Fields fields(extension, where + ", EXT_mesh_gpu_instancing");
  const Json* attributes = fields.object("attributes");
  if (!fields.ok()) return fields.error();
  if (attributes == nullptr) return inputError(fields.where() + ": has no attributes");
  Fields attribute_fields(*attributes, fields.where());

  struct Channel {
    const char* name;
    std::size_t components;
    std::vector<double> values;
  };
  std::array<Channel, 3> channels{{{"TRANSLATION", 3, {}}, {"ROTATION", 4, {}}, {"SCALE", 3, {}}}};
  std::optional<std::size_t> count;
  for (Channel& channel : channels) {
    const auto accessor = attribute_fields.index(channel.name, document.list("accessors").size(), "accessor");
    if (!attribute_fields.ok()) return attribute_fields.error();
    if (!accessor) continue;
    Result<AccessorView> view = accessors.view(*accessor);
    if (!view) return view.error();
    if (view->components != channel.components) {
      return inputError(fields.where() + ": " + channel.name + " has the wrong type");
    }
    if (count && *count != view->count) return inputError(fields.where() + ": the counts differ");
    if (view->count > max_count) return inputError(fields.where() + ": too many instances");
    count = view->count;
    channel.values.resize(view->count * view->components);
    readNumbers(*view, {}, channel.values.data());
  }
  if (!count) return inputError(fields.where() + ": has neither TRANSLATION, ROTATION nor SCALE");
  std::vector<Affine3> transforms(*count);
  for (std::size_t i = 0; i < *count; ++i) {
    const auto& [translation, rotation, scale] = channels;
    const auto at3 = [&](const Channel& c, double fallback) {
      return c.values.empty() ? Vec3(Vec3::Constant(fallback)) : Vec3(c.values.data() + 3 * i);
    };
    const Vec4 quaternion = rotation.values.empty() ? Vec4(0, 0, 0, 1) : Vec4(rotation.values.data() + 4 * i);
    const std::optional<Affine3> transform = fromTrs(at3(translation, 0), quaternion, at3(scale, 1));
    if (!transform) {
      return inputError(fields.where() + ": the rotation of instance " + std::to_string(i) +
                        " is not a quaternion");
    }
    transforms[i] = *transform;
  }
  return transforms;
}

}  // namespace

Result<std::vector<Placement>> readPlacements(const Document& document, Accessors& accessors,
                                              std::size_t max_placements, NoticeList& notices) {
  Result<std::vector<Node>> nodes = readNodes(document);
  if (!nodes) return nodes.error();
  std::vector<Placement> placements;
  if (nodes->empty() && document.list("scenes").empty()) {
    const std::size_t count = document.list("meshes").size();
    if (count > 0) notices.add("no_scene", "the file has no scene and no nodes; all meshes are loaded");
    for (std::size_t mesh = 0; mesh < count; ++mesh)
      placements.push_back({"", mesh, Affine3::Identity()});
    return placements;
  }
  Result<std::vector<std::size_t>> roots = readRoots(document, *nodes, notices);
  if (!roots) return roots.error();

  struct Visit {
    std::size_t node;
    Affine3 asset_from_parent;
  };
  std::vector<Visit> stack;
  std::vector<char> visited(nodes->size(), 0);
  for (auto it = roots->rbegin(); it != roots->rend(); ++it)
    stack.push_back({*it, Affine3::Identity()});
  while (!stack.empty()) {
    const Visit visit = stack.back();
    stack.pop_back();
    const Node& node = (*nodes)[visit.node];
    const std::string where = "node " + std::to_string(visit.node);
    if (std::exchange(visited[visit.node], 1) != 0) return inputError(where + " appears twice in the scene");
    const Affine3 asset_from_node = visit.asset_from_parent * node.parent_from_node;
    if (!asset_from_node.matrix().allFinite()) return inputError(where + ": its transform is not finite");
    for (auto it = node.children.rbegin(); it != node.children.rend(); ++it) {
      stack.push_back({*it, asset_from_node});
    }
    if (!node.mesh) continue;
    if (node.skinned) {
      notices.add("skin", where + ": the skin is ignored, the mesh is taken in its bind pose", false);
    }
    const Affine3 asset_from_mesh = node.skinned ? Affine3::Identity() : asset_from_node;
    const std::size_t room = max_placements - placements.size();
    if (node.instancing != nullptr) {
      Result<std::vector<Affine3>> instances =
          readInstancing(*node.instancing, where, document, accessors, room);
      if (!instances) return instances.error();
      for (const Affine3& mesh_from_instance : *instances) {
        const Affine3 placed = asset_from_mesh * mesh_from_instance;
        if (!placed.matrix().allFinite()) {
          return inputError(where + ": the transform of an instance is not finite");
        }
        placements.push_back({node.name, *node.mesh, placed});
      }
    } else {
      if (room == 0) return inputError(where + ": too many instances");
      placements.push_back({node.name, *node.mesh, asset_from_mesh});
    }
  }
  return placements;
}

}  // namespace heatskin::gltf
