#include "heatskin/appearance/appearance_target.h"

#include <array>

#include "heatskin/base/fingerprint.h"

namespace heatskin {

void AppearanceTarget::identify(const Surface& surface, Fingerprint& fingerprint) const {
  for (const auto& image : appearance_->images()) {
    const std::array<int, 2> size = {image->width, image->height};
    fingerprint.add(std::span<const int>(size));
    fingerprint.add(std::span<const std::uint8_t>(image->rgba));
  }
  // Vertex colours, factors and texture coordinates show in the colours. The filter is left out: it is part
  // of the configuration, which is compared by name.
  AppearanceTarget(*appearance_, Filter::kAuto, layout_).FitTarget::identify(surface, fingerprint);
}

double visibleShare(const Surface& surface, const Appearance& appearance, Filter filter) {
  return visibleShare(surface, AppearanceTarget(appearance, filter));
}

}  // namespace heatskin
