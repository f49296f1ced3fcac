#pragma once

// Texels outside of all charts: they get the colours of the charts around them, so that neither filters nor
// mip maps nor compression bring in foreign ones. In 8 bits and in place: images are large.

#include <cstdint>
#include <span>
#include <vector>

namespace heatskin {

/// Fills the texels of an image whose `filled` is 0 (which is left as it is). First charts grow by `gutter`
/// texels, each new texel the mean of its neighbours that have a colour; then the rest fades into the means
/// of ever larger surroundings (pull and push). `pixels` is [height, width, channels], `filled` is
/// [height, width]. Needs a third of the image as additional memory.
void fillGutters(std::span<std::uint8_t> pixels, std::span<const std::uint8_t> filled, int width, int height,
                 int channels, int gutter);

}  // namespace heatskin
