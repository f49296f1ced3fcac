#pragma once

// Nodes and scenes: where meshes stand. The hierarchy is flattened without recursion.

#include <cstddef>
#include <string>
#include <vector>

#include "heatskin/base/result.h"
#include "heatskin/base/vec.h"
#include "heatskin/io/gltf_accessor.h"
#include "heatskin/io/gltf_json.h"

namespace heatskin::gltf {

/// A glTF mesh placed in the world.
struct Placement {
  std::string name;
  std::size_t mesh = 0;  ///< index into the document's meshes
  Affine3 asset_from_mesh = Affine3::Identity();
};

/// The meshes of the default scene (else the first scene, else everything), in depth-first order. Cycles and
/// nodes with two parents are refused. A skinned mesh stands where its vertices are: its node's transform
/// does not count (specification 3.7.3.3), and its bind pose is taken. EXT_mesh_gpu_instancing is expanded.
/// More than `max_placements` are refused.
Result<std::vector<Placement>> readPlacements(const Document& document, Accessors& accessors,
                                              std::size_t max_placements, NoticeList& notices);

}  // namespace heatskin::gltf
