#include "heatskin/product/drop_kernels.h"

#include "heatskin/product/product_extension.h"

namespace heatskin {

void dropKernels(GltfDocument& document) {
  if (GltfJson* extensions = memberOf(document.root(), "extensions");
      extensions != nullptr && extensions->is_object()) {
    extensions->erase(kExtensionName);
    if (extensions->empty()) document.root().erase("extensions");
  }
  GltfJson* scenes = memberOf(document.root(), "scenes");
  if (scenes == nullptr || !scenes->is_array()) return;
  for (GltfJson& scene : *scenes) {
    GltfJson* extras = memberOf(scene, "extras");
    if (extras == nullptr || !extras->is_object() || extras->erase(kExtensionName) == 0) continue;
    if (extras->empty()) scene.erase("extras");
  }
}

}  // namespace heatskin
