#include "heatskin/appearance/appearance_target.h"

#include <array>
#include <utility>

#include "heatskin/base/fingerprint.h"

namespace heatskin {

AppearanceTarget::AppearanceTarget(const Appearance& appearance, Filter filter, ChannelLayout layout)
    : appearance_(&appearance), filter_(filter), layout_(std::move(layout)) {
  for (const ChannelGroup& group : layout_.groups()) {
    all_groups_ |= std::uint32_t{1} << slots_.size();
    slots_.push_back(slotOf(group.name));
  }
  for (std::uint32_t f = 0; f < appearance.faceCount(); ++f) {
    const std::uint32_t constant = constantGroups(f);
    partly_constant_ = partly_constant_ || (constant != 0 && constant != all_groups_);
    has_color_ = has_color_ || constant != all_groups_;
  }
}

std::uint32_t AppearanceTarget::constantGroups(std::uint32_t face) const {
  // Without a material nothing says more than the colours do.
  if (appearance_->faceMaterial(face) < 0) return appearance_->faceConstant(face) ? all_groups_ : 0;
  std::uint32_t constant = 0;
  for (std::size_t g = 0; g < slots_.size(); ++g) {
    // No names are compared here: this is asked for every face.
    bool is_constant = false;
    if (slots_[g] < kSlotCount) {
      is_constant = !appearance_->slots().faceTextured(face, slots_[g]);
    } else {
      is_constant =
          appearance_->faceConstant(face) ||
          (layout_.groups()[g].everywhere && appearance_->faceAlphaMode(face) == AlphaMode::kOpaque);
    }
    if (is_constant) constant |= std::uint32_t{1} << g;
  }
  return constant;
}

void AppearanceTarget::identify(const Surface& surface, Fingerprint& fingerprint) const {
  for (const std::size_t i : appearance_->imagesOf(layout_)) {
    const Image& image = *appearance_->images()[i];
    const std::array<int, 2> size = {image.width, image.height};
    fingerprint.add(std::span<const int>(size));
    fingerprint.add(std::span<const std::uint8_t>(image.rgba));
  }
  // Vertex colours, factors and texture coordinates show in the colours. The filter is left out: it is part
  // of the configuration, which is compared by name.
  AppearanceTarget(*appearance_, Filter::kAuto, layout_).FitTarget::identify(surface, fingerprint);
}

double visibleShare(const Surface& surface, const Appearance& appearance, Filter filter) {
  return visibleShare(surface, AppearanceTarget(appearance, filter));
}

}  // namespace heatskin
