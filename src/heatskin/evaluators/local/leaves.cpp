#include "heatskin/evaluators/local/leaves.h"

#include "heatskin/kernels/response_block.h"

namespace heatskin::local {

void LeafTable::layOut(const SupportTable& supports, std::size_t threshold) {
  index_of_face.clear();
  faces.clear();
  std::uint32_t leaf = 0;
  for (std::uint32_t f = 0; f < supports.faceCount(); ++f) {
    const std::size_t pairs = supports.of(f).count;
    if (pairs <= threshold) continue;
    const auto leaves = static_cast<std::uint32_t>((pairs + kLeaf - 1) / kLeaf);
    faces.push_back({f, leaf, leaves});
    leaf += leaves;
  }
  if (faces.empty()) return;
  index_of_face.assign(supports.faceCount(), kNone);
  for (std::uint32_t i = 0; i < faces.size(); ++i)
    index_of_face[faces[i].face] = i;
  center_x.resize(leaf * kLeaf);
  center_y.resize(leaf * kLeaf);
  center_weight.resize(leaf * kLeaf);
  for (std::vector<float>* of_leaf : {&low_x, &low_y, &high_x, &high_y, &weight})
    of_leaf->resize(leaf + ResponseBlock::kPadding);
}

}  // namespace heatskin::local
