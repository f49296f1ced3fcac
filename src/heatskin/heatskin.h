#pragma once

// The library's public face (docs/tour.md). Files to textures and back:
#include "heatskin/pipeline/pipeline.h"

// what is in them,
#include "heatskin/appearance/appearance.h"
#include "heatskin/appearance/slot_appearance.h"
#include "heatskin/evaluation/evaluation.h"
#include "heatskin/io/asset.h"
#include "heatskin/io/material_slots.h"
#include "heatskin/io/variants.h"
#include "heatskin/product/product.h"

// and the core, which knows arrays and no files.
#include "heatskin/base/channel_layout.h"
#include "heatskin/base/result.h"
#include "heatskin/base/vec.h"
#include "heatskin/evaluators/method.h"
#include "heatskin/kernels/kernel_set.h"
#include "heatskin/surface/fit_target.h"
#include "heatskin/surface/surface.h"
#include "heatskin/texture/kernel_texture.h"
#include "heatskin/training/config.h"
#include "heatskin/training/fit.h"
#include "heatskin/version.h"
