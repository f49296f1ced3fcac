# The headers that are installed, under src/heatskin, besides version.h. heatskin.h includes the others and docs/tour.md
# explains them. tests/install checks that nothing else is installed, that they include no other header, and that each
# compiles alone. A list to be read in an evening: before adding a header, see whether its idea is in one of these.
set(HEATSKIN_PUBLIC_HEADERS
  heatskin.h
  base/channel_layout.h
  base/result.h
  base/vec.h
  surface/surface.h
  surface/fit_target.h
  kernels/kernel_set.h
  evaluators/method.h
  training/config.h
  training/fit.h
  texture/kernel_texture.h
  io/material_slots.h
  io/asset.h
  io/variants.h
  appearance/slot_appearance.h
  appearance/appearance.h
  product/product.h
  evaluation/evaluation.h
  pipeline/pipeline.h)
