#pragma once

// What fits of assets and of plain meshes have in common around the fit itself: the word about a budget that
// is too small, and the writing of product and configuration.

#include <cstdint>
#include <span>
#include <string>

#include "heatskin/base/result.h"
#include "heatskin/pipeline/pipeline.h"

namespace heatskin {

/// "model.glb: ", or nothing for an asset that was made.
std::string prefixOf(const Asset& asset);

/// What to say of a budget that does not cover the surface.
Notice budgetNotice(const Asset& asset, const Surface& surface, const BudgetReport& report);

/// Writes what the job asks for; afterwards the checkpoint is not needed, unless the fit was asked to end and
/// can go on from there.
Result<void> saveProduct(const FitJob& job, const FitConfig& config, std::span<const std::uint8_t> product,
                         StoppedBy stopped_by);

}  // namespace heatskin
