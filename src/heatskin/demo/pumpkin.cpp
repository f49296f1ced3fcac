#include "heatskin/demo/pumpkin.h"

#include <utility>

namespace heatskin {

Asset makePumpkin(const PumpkinOptions& options, Progress& progress) {
  progress.begin("growing the pumpkin", 0);
  PumpkinMesh mesh = makePumpkinMesh(options);
  progress.end();
  Primitive primitive;
  primitive.positions = std::move(mesh.positions);
  primitive.uv_sets = {std::move(mesh.uvs)};
  primitive.triangles = std::move(mesh.triangles);
  primitive.material = 0;

  Material material;
  material.name = "pumpkin";
  material.base_color.texture = 0;
  Instance instance;
  instance.name = "pumpkin";
  instance.mesh = 0;

  Asset asset;
  asset.path = "pumpkin";
  asset.format = "glb";
  asset.images.push_back(std::make_shared<const Image>(paintPumpkin(options, progress)));
  asset.textures.push_back({0, Wrap::kClampToEdge, Wrap::kClampToEdge});
  asset.materials.push_back(std::move(material));
  asset.stored_vertices = primitive.positions.size();
  asset.meshes.push_back({"pumpkin", {}});
  asset.meshes[0].primitives.push_back(std::move(primitive));
  asset.instances.push_back(std::move(instance));
  return asset;
}

}  // namespace heatskin
