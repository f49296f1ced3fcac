# The headers that are installed, under src/heatskin. The first list is the public face: heatskin.h includes it and
# docs/tour.md explains it. The second is what these need. tests/install checks that nothing else is installed, that no
# header includes another one, and that each compiles alone.
set(HEATSKIN_PUBLIC_HEADERS
  heatskin.h
  base/error_codes.h
  base/progress.h
  base/result.h
  base/vec.h
  surface/surface.h
  surface/surface_point.h
  surface/fit_target.h
  surface/function_target.h
  kernels/kernel_set.h
  evaluators/method.h
  training/config.h
  training/coverage.h
  training/fit.h
  texture/kernel_texture.h
  io/asset.h
  io/load.h
  appearance/appearance.h
  product/product.h
  evaluation/evaluation.h
  pipeline/loaded.h
  pipeline/fit_product.h
  pipeline/surface_points.h
  pipeline/evaluate_product.h)
set(HEATSKIN_SUPPORTING_HEADERS
  base/channel_layout.h
  base/texture_filter.h
  evaluators/local/options.h
  evaluators/spectral/options.h
  evaluators/thermal/options.h
  texture/constant_faces.h
  training/fit_history.h
  training/growth.h
  training/options.h)
