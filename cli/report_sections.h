#pragma once

// Sections that reports of fits and of evaluations share, beside the pictures of evaluation_page.h.

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "heatskin/kernels/kernel_set.h"
#include "heatskin/training/fit.h"

#include "cli/report_page.h"

namespace heatskin::cli {

/// The viewer with a product, beside its original if both together are small; a sentence in its place where
/// this program was built without the viewer or the product is too large for a page. `original` may be empty.
void addViewer(ReportPage& page, std::string_view name, std::span<const std::uint8_t> product,
               const std::filesystem::path& original);

/// Loss and PSNR over the steps.
void addCurves(ReportPage& page, const FitHistory& history, std::size_t channels);

/// Histograms of what kernels are like.
void addKernelHistograms(ReportPage& page, const KernelSet& kernels);

/// The command that repeats the run, and the options behind it (TOML; empty: not known).
void addCommand(ReportPage& page, std::string_view command, std::string_view options,
                std::string_view options_caption);

/// The options that `fit` left beside a product; empty if there are none.
std::string optionsBeside(const std::filesystem::path& product);

}  // namespace heatskin::cli
