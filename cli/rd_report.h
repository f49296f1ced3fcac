#pragma once

// A rate-distortion measurement in words, tables and a drawing.

#include <string>
#include <vector>

#include "heatskin/pipeline/rate_distortion.h"

#include "cli/output.h"

namespace heatskin::cli {

/// "4,000 kernels", "WebP 512 x 512, quality 75", "2 subdivisions, 46,872 vertices".
std::string rowName(const RateRow& row);

/// What the figures say, a sentence each: over which sizes kernels are better or worse than the best image
/// and by how much, which of both is the better choice, and how vertex colours compare.
std::vector<std::string> verdict(const RateDistortion& outcome);

/// Rows of the console, the page and the Markdown: name, bytes, seconds and the metrics.
std::vector<std::string> rateHeader();
std::vector<std::string> rateCells(const RateRow& row);

/// The rows that people see: all kernels and vertex colours, and those images that no other image beats with
/// as few bytes.
std::vector<const RateRow*> kernelRows(const RateDistortion& outcome);
std::vector<const RateRow*> frontImages(const RateDistortion& outcome);
std::vector<const RateRow*> vertexColorRows(const RateDistortion& outcome);

/// What counts as bytes, and what images are made of.
std::vector<std::string> rateRules(const RateDistortion& outcome);

Json rateJson(const RateDistortion& outcome);
std::string rateCsv(const RateDistortion& outcome);
std::string rateMarkdown(const RateDistortion& outcome, const std::string& title, const std::string& command);

/// PSNR over bytes (logarithmic), a line for each kind through the rows that are worth having, dots for the
/// others. Complete SVG document on a light background.
std::string rateDrawing(const RateDistortion& outcome, const std::string& title);

}  // namespace heatskin::cli
