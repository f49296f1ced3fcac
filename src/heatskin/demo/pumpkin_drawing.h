#pragma once

// What is drawn on the pumpkin with sharp edges: the carved face and the fruit sticker. Internal to the demo
// module.

#include "heatskin/base/vec.h"

namespace heatskin {

/// Signed distance from the outline of the carved face, positive inside the openings, in radii of the body.
/// `p` is a point of the front seen along the z axis (x to the right, y up). Far outside only the sign and a
/// lower bound of the distance are right.
double carvedDepth(const Vec2& p);

/// The brightness of the candle inside as seen through the openings at `p`: 1 next to the flame, 0 far away.
double candleGlow(const Vec2& p);

/// Half axes of the sticker, in radii of the body.
inline const Vec2 kStickerSize(0.27, 0.165);

/// Paints the sticker over `color` (sRGB); `p` is relative to its centre (x to the right, y up).
void paintSticker(const Vec2& p, Vec3& color);

}  // namespace heatskin
