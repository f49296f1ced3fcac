#include "heatskin/product/kernel_columns.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <optional>
#include <string>
#include <tuple>

#include <fmt/format.h>
#include <zlib.h>

#include "heatskin/base/plural.h"
#include "heatskin/product/deflate.h"

namespace heatskin {
namespace {

/// Planes of a code: its upper 8 bits, and the rest if there is one. The upper ones have the distribution
/// that Huffman's codes can use; the rest is noise and costs its bits.
std::size_t planesOf(int bits) {
  return bits > 8 ? 2 : 1;
}

/// Planes of the differences of triangles: bytes, the lowest first, because most are small.
std::size_t trianglePlanes(int bits) {
  return static_cast<std::size_t>(bits + 7) / 8;
}

/// Where the columns of all kernels are, in the order of the file.
template <class Visit>
void forEachColumn(const KernelScales& scales, const Visit& visit) {
  const KernelBits& bits = scales.bits;
  using Codes = KernelCodes;
  visit(&Codes::b0, bits.barycentric, "barycentric coordinate");
  visit(&Codes::b1, bits.barycentric, "barycentric coordinate");
  visit(&Codes::angle, bits.angle, "angle");
  visit(&Codes::anisotropy, bits.anisotropy, "anisotropy");
  visit(&Codes::threshold, bits.threshold, "threshold");
  visit(&Codes::sharpness, bits.sharpness, "sharpness");
  visit(&Codes::length, bits.length, "length");
}

std::uint32_t maskOf(int bits) {
  return static_cast<std::uint32_t>((std::uint64_t{1} << bits) - 1);
}

/// The channel that another one is stored as a difference from: green, for red and blue. Colours are often
/// greyish, and then the differences are small.
std::optional<std::size_t> predictor(std::size_t channel) {
  return channel == 0 || channel == 2 ? std::optional<std::size_t>(1) : std::nullopt;
}

/// Reads the planes one after the other.
class PlaneReader {
 public:
  PlaneReader(std::span<const std::uint8_t> planes, std::size_t rows) : at_(planes.data()), rows_(rows) {}

  /// The plane that is next.
  const std::uint8_t* next() {
    const std::uint8_t* plane = at_;
    at_ += rows_;
    return plane;
  }

  /// Calls set(row, code) for a column of codes; false if a code has more bits.
  template <class Set>
  bool column(int bits, const Set& set) {
    const std::uint8_t* upper = next();
    if (bits <= 8) {
      for (std::size_t i = 0; i < rows_; ++i) {
        if (upper[i] > maskOf(bits)) return false;
        set(i, std::uint32_t{upper[i]});
      }
      return true;
    }
    const std::uint8_t* lower = next();
    const int rest = bits - 8;
    for (std::size_t i = 0; i < rows_; ++i) {
      if (lower[i] > maskOf(rest)) return false;
      set(i, std::uint32_t{upper[i]} << rest | lower[i]);
    }
    return true;
  }

 private:
  const std::uint8_t* at_;
  std::size_t rows_;
};

/// Writes them.
class PlaneWriter {
 public:
  PlaneWriter(std::size_t rows, std::size_t bytes_per_row) : rows_(rows), planes_(rows * bytes_per_row) {}

  std::uint8_t* next() {
    std::uint8_t* plane = planes_.data() + used_;
    used_ += rows_;
    return plane;
  }

  template <class Get>
  void column(int bits, const Get& get) {
    std::uint8_t* upper = next();
    std::uint8_t* lower = bits > 8 ? next() : nullptr;
    const int rest = bits > 8 ? bits - 8 : 0;
    for (std::size_t i = 0; i < rows_; ++i) {
      const std::uint32_t code = get(i);
      upper[i] = static_cast<std::uint8_t>(code >> rest);
      if (lower != nullptr) lower[i] = static_cast<std::uint8_t>(code & maskOf(rest));
    }
  }

  const std::vector<std::uint8_t>& planes() const { return planes_; }

 private:
  std::size_t rows_, used_ = 0;
  std::vector<std::uint8_t> planes_;
};

std::uint32_t triangleDifference(std::span<const KernelCodes> sorted, std::size_t i) {
  return i == 0 ? sorted[0].triangle : sorted[i].triangle - sorted[i - 1].triangle;
}

/// Whether kernel i follows another one on its triangle: then b0 is stored as a difference.
bool followsOnTriangle(std::span<const KernelCodes> sorted, std::size_t i) {
  return i > 0 && sorted[i].triangle == sorted[i - 1].triangle;
}

std::size_t valueBytes(const KernelScales& scales, std::span<const std::size_t> channels) {
  std::size_t bytes = 0;
  for (const std::size_t c : channels)
    bytes += planesOf(scales.channel_bits[c]);
  return bytes;
}

}  // namespace

void sortKernels(std::vector<KernelCodes>& codes) {
  std::stable_sort(codes.begin(), codes.end(), [](const KernelCodes& a, const KernelCodes& b) {
    return std::tie(a.triangle, a.b0) < std::tie(b.triangle, b.b0);
  });
}

int triangleBits(std::span<const KernelCodes> sorted) {
  std::uint32_t all = 1;
  for (std::size_t i = 0; i < sorted.size(); ++i)
    all |= triangleDifference(sorted, i);
  return static_cast<int>(std::bit_width(all));
}

std::size_t planeBytes(const KernelScales& scales) {
  std::size_t bytes = trianglePlanes(scales.bits.triangle);
  forEachColumn(scales, [&](auto, int bits, const char*) { bytes += planesOf(bits); });
  for (const int bits : scales.channel_bits)
    bytes += planesOf(bits);
  return bytes;
}

std::vector<std::uint8_t> packColumns(std::span<const KernelCodes> sorted, const KernelScales& scales) {
  PlaneWriter writer(sorted.size(), planeBytes(scales));
  for (std::size_t p = 0; p < trianglePlanes(scales.bits.triangle); ++p) {
    std::uint8_t* plane = writer.next();
    for (std::size_t i = 0; i < sorted.size(); ++i)
      plane[i] = static_cast<std::uint8_t>(triangleDifference(sorted, i) >> (8 * p));
  }
  forEachColumn(scales, [&](auto member, int bits, const char*) {
    const bool differences = member == &KernelCodes::b0;
    writer.column(bits, [&](std::size_t i) {
      const std::uint32_t before = differences && followsOnTriangle(sorted, i) ? sorted[i - 1].*member : 0;
      return sorted[i].*member - before;
    });
  });
  for (std::size_t c = 0; c < scales.channel_bits.size(); ++c) {
    const auto from = predictor(c);
    writer.column(scales.channel_bits[c], [&](std::size_t i) {
      const std::uint32_t before = from ? sorted[i].channels[*from] : 0u;
      return (sorted[i].channels[c] - before) & maskOf(scales.channel_bits[c]);
    });
  }
  // Matches of noise cost more than they save, so only runs are looked for.
  const auto& planes = writer.planes();
  return deflateWithinLimit(planes, sorted.size(), Z_RLE);
}

Result<std::vector<KernelCodes>> unpackColumns(std::span<const std::uint8_t> bytes, std::size_t count,
                                               const KernelScales& scales) {
  const std::size_t size = count * planeBytes(scales);
  if (size / kMostInflation >= bytes.size()) {
    return inputError(fmt::format("the buffer view has {} bytes, too few for {}", bytes.size(),
                                  plural(count, "kernel", "kernels")));
  }
  const auto planes = inflateExactly(bytes, size);
  if (!planes) {
    return inputError(fmt::format("the buffer view is not a zlib stream of {} bytes, as {} have", size,
                                  plural(count, "kernel", "kernels")));
  }

  std::vector<KernelCodes> codes(count);
  PlaneReader reader(*planes, count);
  std::vector<const std::uint8_t*> triangle(trianglePlanes(scales.bits.triangle));
  for (auto& plane : triangle)
    plane = reader.next();
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < count; ++i) {
    std::uint64_t difference = 0;
    for (std::size_t p = 0; p < triangle.size(); ++p)
      difference |= std::uint64_t{triangle[p][i]} << (8 * p);
    sum += difference;
    if (difference > maskOf(scales.bits.triangle) || sum > std::numeric_limits<std::uint32_t>::max())
      return inputError(fmt::format("kernel {}: its triangle has too many bits", i));
    codes[i].triangle = static_cast<std::uint32_t>(sum);
  }
  std::string problem;
  const auto refuse = [&](std::string_view what) {
    if (problem.empty()) problem = fmt::format("a code of the column {} has too many bits", what);
  };
  forEachColumn(scales, [&](auto member, int bits, const char* name) {
    if (!problem.empty()) return;
    const bool differences = member == &KernelCodes::b0;
    const bool fits = reader.column(bits, [&](std::size_t i, std::uint32_t code) {
      // A sum of many such codes could wrap around; beyond the largest one it means nothing anyway.
      const std::uint32_t before = differences && followsOnTriangle(codes, i) ? codes[i - 1].*member : 0;
      codes[i].*member = std::min(before + code, maskOf(bits) + 1);
    });
    if (!fits) refuse(name);
  });
  for (std::size_t c = 0; c < scales.channel_bits.size() && problem.empty(); ++c) {
    const bool fits = reader.column(scales.channel_bits[c], [&](std::size_t i, std::uint32_t code) {
      codes[i].channels[c] = static_cast<std::uint16_t>(code);
    });
    if (!fits) refuse("channel");
  }
  if (!problem.empty()) return inputError(problem);
  for (std::size_t c = 0; c < scales.channel_bits.size(); ++c) {
    const auto from = predictor(c);
    if (!from) continue;
    for (KernelCodes& code : codes) {
      const std::uint32_t sum_of_codes = std::uint32_t{code.channels[c]} + code.channels[*from];
      code.channels[c] = static_cast<std::uint16_t>(sum_of_codes & maskOf(scales.channel_bits[c]));
    }
  }
  return codes;
}

std::vector<std::uint8_t> packValues(std::span<const KernelCodes> sorted, std::span<const KernelCodes> base,
                                     const KernelScales& scales, std::span<const std::size_t> channels) {
  PlaneWriter writer(sorted.size(), valueBytes(scales, channels));
  const auto valueOf = [&](std::size_t i, std::size_t c) {
    return std::uint32_t{sorted[i].channels[c]} - (base.empty() ? 0u : std::uint32_t{base[i].channels[c]});
  };
  for (const std::size_t c : channels) {
    const auto from = predictor(c);
    writer.column(scales.channel_bits[c], [&](std::size_t i) {
      return (valueOf(i, c) - (from ? valueOf(i, *from) : 0u)) & maskOf(scales.channel_bits[c]);
    });
  }
  return deflateWithinLimit(writer.planes(), sorted.size(), Z_RLE);
}

Result<void> unpackValues(std::span<const std::uint8_t> bytes, const KernelScales& scales,
                          std::span<const std::size_t> channels, bool differences,
                          std::vector<KernelCodes>& codes) {
  const std::size_t size = codes.size() * valueBytes(scales, channels);
  const auto planes = size / kMostInflation >= bytes.size() ? std::optional<std::vector<std::uint8_t>>()
                                                            : inflateExactly(bytes, size);
  if (!planes) {
    return inputError(fmt::format("the buffer view of a variant is not a zlib stream of {} bytes, as {} have",
                                  size, plural(codes.size(), "kernel", "kernels")));
  }
  PlaneReader reader(*planes, codes.size());
  std::vector<KernelCodes> read(codes.size());
  for (const std::size_t c : channels) {
    const bool fits = reader.column(scales.channel_bits[c], [&](std::size_t i, std::uint32_t code) {
      read[i].channels[c] = static_cast<std::uint16_t>(code);
    });
    if (!fits) return inputError("a code of a variant's column has too many bits");
  }
  for (const std::size_t c : channels) {
    const auto from = predictor(c);
    for (std::size_t i = 0; i < codes.size(); ++i) {
      const std::uint32_t sum = std::uint32_t{read[i].channels[c]} +
                                (from ? std::uint32_t{read[i].channels[*from]} : 0u) +
                                (differences ? std::uint32_t{codes[i].channels[c]} : 0u);
      codes[i].channels[c] = static_cast<std::uint16_t>(sum & maskOf(scales.channel_bits[c]));
    }
  }
  return {};
}

}  // namespace heatskin
