#include "heatskin/io/image.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <functional>
#include <string>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>
#include <jpeglib.h>
#include <png.h>
#include <webp/encode.h>

#include "heatskin/base/rng.h"

#include "support/assets.h"
#include "support/temporary_folder.h"

namespace heatskin {
namespace {

using Bytes = std::vector<std::uint8_t>;

/// Writes any PNG with libpng; `fill` makes the samples, packed rows come out of it.
struct PngSpec {
  int width = 9;  // not a multiple of 8: rows of 1-bit samples end inside a byte
  int height = 7;
  int depth = 8;
  int color_type = PNG_COLOR_TYPE_RGB;
  bool interlaced = false;
  std::vector<png_color> palette;
  Bytes palette_alpha;
  bool transparent_color = false;
  png_color_16 transparent{};
};

int channelsOf(int color_type) {
  switch (color_type) {
    case PNG_COLOR_TYPE_GRAY_ALPHA:
      return 2;
    case PNG_COLOR_TYPE_RGB:
      return 3;
    case PNG_COLOR_TYPE_RGB_ALPHA:
      return 4;
    default:
      return 1;
  }
}

void appendTo(png_structp png, png_bytep data, std::size_t count) {
  auto* out = static_cast<Bytes*>(png_get_io_ptr(png));
  out->insert(out->end(), data, data + count);
}

/// `sample(x, y, c)` is a value of spec.depth bits.
Bytes makePng(const PngSpec& spec, const std::function<unsigned(int, int, int)>& sample) {
  const int channels = channelsOf(spec.color_type);
  const int row_bits = spec.width * channels * spec.depth;
  std::vector<Bytes> rows(static_cast<std::size_t>(spec.height),
                          Bytes(static_cast<std::size_t>(row_bits + 7) / 8));
  for (int y = 0; y < spec.height; ++y) {
    for (int x = 0; x < spec.width; ++x) {
      for (int c = 0; c < channels; ++c) {
        const unsigned value = sample(x, y, c);
        const auto bit = static_cast<std::size_t>((x * channels + c) * spec.depth);
        Bytes& row = rows[static_cast<std::size_t>(y)];
        if (spec.depth == 16) {
          row[bit / 8] = static_cast<std::uint8_t>(value >> 8);
          row[bit / 8 + 1] = static_cast<std::uint8_t>(value);
        } else {
          row[bit / 8] = static_cast<std::uint8_t>(
              row[bit / 8] | (value << (8 - static_cast<unsigned>(spec.depth) - bit % 8)));
        }
      }
    }
  }
  std::vector<png_bytep> pointers;
  for (Bytes& row : rows)
    pointers.push_back(row.data());
  Bytes file;
  png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, nullptr, nullptr, nullptr);
  png_infop info = png_create_info_struct(png);
  png_set_write_fn(png, &file, appendTo, nullptr);
  png_set_IHDR(png, info, static_cast<png_uint_32>(spec.width), static_cast<png_uint_32>(spec.height),
               spec.depth, spec.color_type, spec.interlaced ? PNG_INTERLACE_ADAM7 : PNG_INTERLACE_NONE,
               PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
  if (!spec.palette.empty()) {
    png_set_PLTE(png, info, spec.palette.data(), static_cast<int>(spec.palette.size()));
  }
  if (!spec.palette_alpha.empty()) {
    png_set_tRNS(png, info, spec.palette_alpha.data(), static_cast<int>(spec.palette_alpha.size()), nullptr);
  }
  if (spec.transparent_color) png_set_tRNS(png, info, nullptr, 0, &spec.transparent);
  png_set_rows(png, info, pointers.data());
  png_write_png(png, info, PNG_TRANSFORM_IDENTITY, nullptr);
  png_destroy_write_struct(&png, &info);
  return file;
}

/// A sample of `depth` bits on the scale 0..255, rounded.
int to8(unsigned value, int depth) {
  const double most = std::pow(2.0, depth) - 1;
  return static_cast<int>(std::floor(value * 255.0 / most + 0.5));
}

/// Full-range values that differ between neighbours and channels.
unsigned pattern(int x, int y, int c, int depth) {
  const unsigned mask = depth == 16 ? 0xFFFFu : (1u << depth) - 1;
  return (static_cast<unsigned>(x) * 7919u + static_cast<unsigned>(y) * 104729u +
          static_cast<unsigned>(c) * 1299709u) &
         mask;
}

std::array<int, 4> texelOf(const Image& image, int x, int y) {
  const std::uint8_t* t = image.texel(x, y);
  return {t[0], t[1], t[2], t[3]};
}

class PngFormats : public ::testing::TestWithParam<std::tuple<int, int, bool>> {};

TEST_P(PngFormats, EveryTexelIsTheRoundedSample) {
  PngSpec spec;
  std::tie(spec.color_type, spec.depth, spec.interlaced) = GetParam();
  const Bytes file = makePng(spec, [&](int x, int y, int c) { return pattern(x, y, c, spec.depth); });
  const Result<Image> image = decodeImage(file, "test");
  ASSERT_TRUE(image) << image.error().message;
  EXPECT_EQ(image->width, spec.width);
  EXPECT_EQ(image->height, spec.height);
  EXPECT_EQ(image->stored_bits, spec.depth);
  EXPECT_EQ(image->stored_channels, channelsOf(spec.color_type));
  EXPECT_EQ(image->format, "png");
  EXPECT_EQ(image->name, "test");
  for (int y = 0; y < spec.height; ++y) {
    for (int x = 0; x < spec.width; ++x) {
      std::array<int, 4> s{};
      const int channels = channelsOf(spec.color_type);
      for (int c = 0; c < channels; ++c) {
        s[static_cast<std::size_t>(c)] = to8(pattern(x, y, c, spec.depth), spec.depth);
      }
      const std::array<int, 4> expected = channels == 1   ? std::array<int, 4>{s[0], s[0], s[0], 255}
                                          : channels == 2 ? std::array<int, 4>{s[0], s[0], s[0], s[1]}
                                          : channels == 3 ? std::array<int, 4>{s[0], s[1], s[2], 255}
                                                          : s;
      ASSERT_EQ(texelOf(*image, x, y), expected) << "at " << x << ", " << y;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(AllWithoutPalette, PngFormats,
                         ::testing::Combine(::testing::Values(PNG_COLOR_TYPE_GRAY),
                                            ::testing::Values(1, 2, 4, 8, 16), ::testing::Bool()));
INSTANTIATE_TEST_SUITE_P(AllWithColorOrAlpha, PngFormats,
                         ::testing::Combine(::testing::Values(PNG_COLOR_TYPE_GRAY_ALPHA, PNG_COLOR_TYPE_RGB,
                                                              PNG_COLOR_TYPE_RGB_ALPHA),
                                            ::testing::Values(8, 16), ::testing::Bool()));

TEST(Png, PaletteOfEveryDepthWithTransparency) {
  for (const int depth : {1, 2, 4, 8}) {
    for (const bool transparent : {false, true}) {
      PngSpec spec;
      spec.color_type = PNG_COLOR_TYPE_PALETTE;
      spec.depth = depth;
      for (unsigned i = 0; i < (1u << depth); ++i) {
        spec.palette.push_back(
            {static_cast<png_byte>(3 * i), static_cast<png_byte>(255 - i), static_cast<png_byte>(i * i)});
      }
      if (transparent) spec.palette_alpha = {10, 200};  // shorter than the palette: the rest is opaque
      const Bytes file = makePng(spec, [&](int x, int y, int) { return pattern(x, y, 0, depth); });
      const Result<Image> image = decodeImage(file, "test");
      ASSERT_TRUE(image) << image.error().message;
      EXPECT_EQ(image->stored_channels, transparent ? 4 : 3);
      EXPECT_EQ(image->stored_bits, depth);
      for (int y = 0; y < spec.height; ++y) {
        for (int x = 0; x < spec.width; ++x) {
          const unsigned index = pattern(x, y, 0, depth);
          const png_color& color = spec.palette[index];
          const int alpha = transparent && index < 2 ? spec.palette_alpha[index] : 255;
          ASSERT_EQ(texelOf(*image, x, y), (std::array<int, 4>{color.red, color.green, color.blue, alpha}));
        }
      }
    }
  }
}

TEST(Png, TransparentColorOfGreyAndRgb) {
  PngSpec spec;
  spec.transparent_color = true;
  spec.color_type = PNG_COLOR_TYPE_RGB;
  const auto [r, g, b] = std::tuple(pattern(2, 3, 0, 8), pattern(2, 3, 1, 8), pattern(2, 3, 2, 8));
  spec.transparent.red = static_cast<png_uint_16>(r);
  spec.transparent.green = static_cast<png_uint_16>(g);
  spec.transparent.blue = static_cast<png_uint_16>(b);
  Result<Image> image =
      decodeImage(makePng(spec, [](int x, int y, int c) { return pattern(x, y, c, 8); }), "t");
  ASSERT_TRUE(image) << image.error().message;
  EXPECT_EQ(image->texel(2, 3)[3], 0);
  EXPECT_EQ(image->texel(3, 3)[3], 255);
  EXPECT_EQ(image->stored_channels, 4);

  // At 16 bits the comparison is made before rounding: a neighbour that rounds to the same value stays.
  spec.color_type = PNG_COLOR_TYPE_GRAY;
  spec.depth = 16;
  spec.transparent.gray = 0x1234;
  image = decodeImage(makePng(spec, [](int x, int, int) { return x == 0 ? 0x1234u : 0x1235u; }), "t");
  ASSERT_TRUE(image) << image.error().message;
  EXPECT_EQ(image->texel(0, 0)[3], 0);
  EXPECT_EQ(image->texel(1, 0)[3], 255);
  EXPECT_EQ(image->texel(0, 0)[0], image->texel(1, 0)[0]);
}

TEST(Png, EveryTruncationIsRefused) {
  PngSpec spec;
  const Bytes file = makePng(spec, [](int x, int y, int c) { return pattern(x, y, c, 8); });
  for (std::size_t length = 0; length < file.size(); ++length) {
    EXPECT_FALSE(decodeImage(std::span(file).first(length), "cut")) << length;
  }
  ASSERT_TRUE(decodeImage(file, "whole"));
}

TEST(Png, SizeIsCheckedBeforeAnythingElse) {
  PngSpec spec;
  Bytes file = makePng(spec, [](int, int, int) { return 0u; });
  const auto set = [&](std::size_t at, std::uint32_t value) {
    for (std::size_t i = 0; i < 4; ++i)
      file[at + i] = static_cast<std::uint8_t>(value >> (24 - 8 * i));
  };
  set(16, 60000);
  set(20, 60000);
  Result<Image> image = decodeImage(file, "bomb.png");
  ASSERT_FALSE(image);
  EXPECT_EQ(image.error().kind, ErrorKind::kInput);
  EXPECT_NE(image.error().message.find("bomb.png: the image is too large: 60000 x 60000"), std::string::npos);
  set(16, 0);
  image = decodeImage(file, "empty.png");
  ASSERT_FALSE(image);
  EXPECT_EQ(image.error().message, "empty.png: the image has no pixels");
  set(16, 9);
  set(20, 7);
  ASSERT_TRUE(decodeImage(file, "right"));
  EXPECT_TRUE(decodeImage(file, "just", 63));
  EXPECT_FALSE(decodeImage(file, "just not", 62));
}

TEST(Png, ShortFileThatPromisesManyPixelsIsRefusedBeforeAllocation) {
  // 3000 x 3000 zeros of 1 bit are about 1.1 MB and compress 1032 : 1 at best; a tenth of that cannot hold
  // them.
  PngSpec spec;
  spec.width = 3000;
  spec.height = 3000;
  spec.depth = 1;
  spec.color_type = PNG_COLOR_TYPE_GRAY;
  Bytes file = makePng(spec, [](int, int, int) { return 0u; });
  file.resize(file.size() / 10);
  const Result<Image> image = decodeImage(file, "cut");
  ASSERT_FALSE(image);
  EXPECT_NE(image.error().message.find("cannot hold 3000 x 3000"), std::string::npos)
      << image.error().message;
}

TEST(EncodePng, RoundTripsAndIsDeterministic) {
  for (const int channels : {1, 3, 4}) {
    const int width = 37, height = 21;
    Bytes pixels(static_cast<std::size_t>(width * height * channels));
    const RandomStream random(7, static_cast<std::uint64_t>(channels));
    for (std::size_t i = 0; i < pixels.size(); ++i)
      pixels[i] = static_cast<std::uint8_t>(random.below(i, 256));
    const Result<Bytes> file = encodePng(pixels, width, height, channels);
    ASSERT_TRUE(file);
    const Result<Bytes> again = encodePng(pixels, width, height, channels);
    EXPECT_EQ(*file, *again);
    const Result<Image> image = decodeImage(*file, "again");
    ASSERT_TRUE(image) << image.error().message;
    EXPECT_EQ(image->stored_channels, channels);
    for (int i = 0; i < width * height; ++i) {
      const std::uint8_t* p = pixels.data() + i * channels;
      const std::array<int, 4> expected = {p[0], channels == 1 ? p[0] : p[1], channels == 1 ? p[0] : p[2],
                                           channels == 4 ? p[3] : 255};
      ASSERT_EQ(texelOf(*image, i % width, i / width), expected);
    }
  }
}

TEST(EncodePng, RefusesWhatDoesNotFit) {
  const Bytes pixels(12);
  EXPECT_TRUE(encodePng(pixels, 2, 2, 3));
  EXPECT_FALSE(encodePng(pixels, 3, 2, 2));
  EXPECT_FALSE(encodePng(pixels, 2, 2, 4));
  EXPECT_FALSE(encodePng(pixels, 0, 2, 3));
  EXPECT_FALSE(encodePng(pixels, -2, -2, 3));
}

TEST(WritePng, WritesAFileThatReadImageReads) {
  const testing::TemporaryFolder folder;
  const Bytes pixels = {1, 2, 3, 4, 5, 6};
  ASSERT_TRUE(writePng(folder.path() / "a.png", pixels, 2, 1, 3));
  const Result<Image> image = readImage(folder.path() / "a.png");
  ASSERT_TRUE(image) << image.error().message;
  EXPECT_EQ(texelOf(*image, 1, 0), (std::array<int, 4>{4, 5, 6, 255}));
  EXPECT_EQ(folder.names(), (std::set<std::string>{"a.png"}));
  const Result<void> nowhere = writePng(folder.path() / "no" / "such" / "a.png", pixels, 2, 1, 3);
  ASSERT_FALSE(nowhere);
  EXPECT_NE(nowhere.error().message.find("a.png"), std::string::npos);
  EXPECT_FALSE(readImage(folder.path()));
  EXPECT_FALSE(readImage(folder.path() / "missing.png"));
}

/// `pixels` is [height, width, components of `space`].
Bytes makeJpeg(const Bytes& pixels, int width, int height, J_COLOR_SPACE space, bool progressive,
               int quality) {
  jpeg_compress_struct info{};
  jpeg_error_mgr errors{};
  info.err = jpeg_std_error(&errors);
  jpeg_create_compress(&info);
  unsigned char* memory = nullptr;
  unsigned long size = 0;
  jpeg_mem_dest(&info, &memory, &size);
  info.image_width = static_cast<JDIMENSION>(width);
  info.image_height = static_cast<JDIMENSION>(height);
  info.input_components = space == JCS_GRAYSCALE ? 1 : space == JCS_CMYK ? 4 : 3;
  info.in_color_space = space;
  jpeg_set_defaults(&info);
  jpeg_set_quality(&info, quality, TRUE);
  info.comp_info[0].h_samp_factor = info.comp_info[0].v_samp_factor = 1;  // no chroma subsampling
  if (progressive) jpeg_simple_progression(&info);
  jpeg_start_compress(&info, TRUE);
  const std::size_t row_bytes = static_cast<std::size_t>(width * info.input_components);
  while (info.next_scanline < info.image_height) {
    JSAMPROW row = const_cast<JSAMPROW>(pixels.data() + info.next_scanline * row_bytes);
    jpeg_write_scanlines(&info, &row, 1);
  }
  jpeg_finish_compress(&info);
  Bytes file(memory, memory + size);
  jpeg_destroy_compress(&info);
  std::free(memory);
  return file;
}

/// Smooth, so that lossy coding keeps it.
Bytes smoothRgb(int width, int height) {
  Bytes pixels;
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      pixels.push_back(static_cast<std::uint8_t>(4 * x));
      pixels.push_back(static_cast<std::uint8_t>(5 * y));
      pixels.push_back(static_cast<std::uint8_t>(200 - x - y));
    }
  }
  return pixels;
}

int largestDifference(const Image& image, const Bytes& pixels, int channels) {
  int largest = 0;
  for (int i = 0; i < image.width * image.height; ++i) {
    for (int c = 0; c < 3; ++c) {
      const int expected = pixels[static_cast<std::size_t>(i * channels + (channels == 1 ? 0 : c))];
      largest = std::max(largest, std::abs(image.rgba[static_cast<std::size_t>(4 * i + c)] - expected));
    }
    if (image.rgba[static_cast<std::size_t>(4 * i + 3)] != 255) return 256;
  }
  return largest;
}

TEST(Jpeg, BaselineProgressiveAndGrey) {
  const int width = 53, height = 41;
  const Bytes rgb = smoothRgb(width, height);
  // At quality 100 coefficients are rounded to integers: a pixel is off by a few levels at most.
  constexpr int kTolerance = 4;
  const Result<Image> baseline = decodeImage(makeJpeg(rgb, width, height, JCS_RGB, false, 100), "b");
  ASSERT_TRUE(baseline) << baseline.error().message;
  EXPECT_LE(largestDifference(*baseline, rgb, 3), kTolerance);
  EXPECT_EQ(baseline->format, "jpeg");
  EXPECT_EQ(baseline->stored_channels, 3);

  // The same coefficients in another order: the same pixels.
  const Result<Image> progressive = decodeImage(makeJpeg(rgb, width, height, JCS_RGB, true, 100), "p");
  ASSERT_TRUE(progressive) << progressive.error().message;
  EXPECT_EQ(progressive->rgba, baseline->rgba);

  Bytes grey;
  for (int i = 0; i < width * height; ++i)
    grey.push_back(rgb[static_cast<std::size_t>(3 * i)]);
  const Result<Image> one = decodeImage(makeJpeg(grey, width, height, JCS_GRAYSCALE, false, 100), "g");
  ASSERT_TRUE(one) << one.error().message;
  EXPECT_EQ(one->stored_channels, 1);
  EXPECT_LE(largestDifference(*one, grey, 1), kTolerance);
}

TEST(Jpeg, CmykIsRefusedByName) {
  const Result<Image> image =
      decodeImage(makeJpeg(Bytes(16 * 16 * 4, 90), 16, 16, JCS_CMYK, false, 90), "c.jpg");
  ASSERT_FALSE(image);
  EXPECT_EQ(image.error().message, "c.jpg: CMYK JPEG images are not supported; convert it to RGB");
}

TEST(Jpeg, EveryTruncationIsRefused) {
  for (const bool progressive : {false, true}) {
    const Bytes file = makeJpeg(smoothRgb(40, 30), 40, 30, JCS_RGB, progressive, 80);
    for (std::size_t length = 0; length < file.size(); ++length) {
      EXPECT_FALSE(decodeImage(std::span(file).first(length), "cut")) << length << " of " << file.size();
    }
    ASSERT_TRUE(decodeImage(file, "whole"));
  }
}

TEST(Jpeg, SizeIsCheckedFirst) {
  const Bytes file = makeJpeg(smoothRgb(40, 30), 40, 30, JCS_RGB, false, 80);
  EXPECT_TRUE(decodeImage(file, "just", 1200));
  const Result<Image> image = decodeImage(file, "just not", 1199);
  ASSERT_FALSE(image);
  EXPECT_NE(image.error().message.find("too large"), std::string::npos);
}

TEST(Webp, LosslessWithAlphaIsExact) {
  const int width = 31, height = 17;
  Bytes rgba;
  for (int i = 0; i < width * height; ++i) {
    const auto v = static_cast<unsigned>(i);
    rgba.insert(rgba.end(), {static_cast<std::uint8_t>(v * 7), static_cast<std::uint8_t>(v * 13),
                             static_cast<std::uint8_t>(v * 29), static_cast<std::uint8_t>(1 + v % 255)});
  }
  std::uint8_t* out = nullptr;
  const std::size_t size = WebPEncodeLosslessRGBA(rgba.data(), width, height, 4 * width, &out);
  const Bytes file(out, out + size);
  WebPFree(out);
  const Result<Image> image = decodeImage(file, "w");
  ASSERT_TRUE(image) << image.error().message;
  EXPECT_EQ(image->rgba, rgba);
  EXPECT_EQ(image->stored_channels, 4);
  EXPECT_EQ(image->format, "webp");
  for (std::size_t length = 0; length < file.size(); ++length) {
    // The last byte may be the padding of its chunk, which no pixel needs.
    const Result<Image> cut = decodeImage(std::span(file).first(length), "cut");
    if (length + 1 < file.size()) {
      EXPECT_FALSE(cut) << length << " of " << file.size();
    }
  }
}

TEST(Webp, LossyIsCloseAndLimited) {
  const int width = 48, height = 40;
  const Bytes rgb = smoothRgb(width, height);
  std::uint8_t* out = nullptr;
  const std::size_t size = WebPEncodeRGB(rgb.data(), width, height, 3 * width, 100, &out);
  const Bytes file(out, out + size);
  WebPFree(out);
  const Result<Image> image = decodeImage(file, "w");
  ASSERT_TRUE(image) << image.error().message;
  // Lossy WebP halves the chroma resolution and uses 16..235 luma: a few levels on a gradient.
  EXPECT_LE(largestDifference(*image, rgb, 3), 12);
  EXPECT_EQ(image->stored_channels, 3);
  EXPECT_FALSE(decodeImage(file, "w", static_cast<std::size_t>(width * height - 1)));
}

TEST(DecodeImage, TellsFormatsApartByContent) {
  const Bytes bmp = {'B', 'M', 70, 0, 0, 0, 0, 0, 0, 0, 54, 0, 0, 0};
  Result<Image> image = decodeImage(bmp, "a.png");
  ASSERT_FALSE(image);
  EXPECT_EQ(image.error().message, "a.png: not a PNG, JPEG or WebP image");
  image = decodeImage({}, "b.png");
  ASSERT_FALSE(image);
  EXPECT_EQ(image.error().message, "b.png: the image is empty");
}

TEST(DecodeImage, DamagedFilesNeverCrash) {
  PngSpec spec;
  spec.interlaced = true;
  PngSpec palette;
  palette.color_type = PNG_COLOR_TYPE_PALETTE;
  palette.depth = 4;
  palette.palette.resize(16);
  palette.palette_alpha = {1, 2, 3};
  std::uint8_t* out = nullptr;
  const Bytes rgb = smoothRgb(24, 20);
  const std::size_t size = WebPEncodeRGB(rgb.data(), 24, 20, 72, 60, &out);
  const std::vector<Bytes> seeds = {
      makePng(spec, [](int x, int y, int c) { return pattern(x, y, c, 8); }),
      makePng(palette, [](int x, int y, int) { return pattern(x, y, 0, 4); }),
      makeJpeg(rgb, 24, 20, JCS_RGB, false, 70),
      makeJpeg(rgb, 24, 20, JCS_RGB, true, 70),
      Bytes(out, out + size),
  };
  WebPFree(out);
  const RandomStream random(11, 1);
  std::uint64_t draw = 0;
  // A damaged size must not make the test slow: everything above a few thousand pixels is refused.
  constexpr std::size_t kMaxPixels = 4096;
  std::size_t decoded = 0, refused = 0;
  for (const Bytes& seed : seeds) {
    for (int round = 0; round < 1500; ++round) {
      Bytes file = seed;
      const std::uint64_t damages = 1 + random.below(draw++, 5);
      for (std::uint64_t d = 0; d < damages; ++d) {
        file[random.below(draw, file.size())] ^= static_cast<std::uint8_t>(1u << random.below(draw + 1, 8));
        draw += 2;
      }
      const Result<Image> image = decodeImage(file, "damaged", kMaxPixels);
      if (image) {
        ++decoded;
        ASSERT_EQ(image->rgba.size(),
                  4 * static_cast<std::size_t>(image->width) * static_cast<std::size_t>(image->height));
      } else {
        ++refused;
        ASSERT_TRUE(image.error().message.starts_with("damaged: ")) << image.error().message;
      }
    }
  }
  // Both happen, so the damage is neither without effect nor always at the signature.
  EXPECT_GT(decoded, 100u);
  EXPECT_GT(refused, 100u);
}

TEST(SmallestAlpha, OfAllTexels) {
  Image image;
  image.width = 3;
  image.height = 1;
  image.rgba = {0, 0, 0, 255, 1, 2, 3, 255, 0, 0, 0, 255};
  EXPECT_EQ(smallestAlpha(image), 255);
  image.rgba[11] = 254;
  EXPECT_EQ(smallestAlpha(image), 254);
  image.rgba[3] = 0;
  EXPECT_EQ(smallestAlpha(image), 0);
}

TEST(DecodeImage, SharedBadImagesAreRefusedWithTheirCause) {
  HEATSKIN_REQUIRE_ASSETS();
  const std::filesystem::path folder = testing::assetsFolder() / "bad";
  for (const auto& [name, cause] :
       {std::pair("bomb_header.png", "too large"), std::pair("corrupt.png", "corrupt"),
        std::pair("truncated.png", "truncated")}) {
    const Result<Image> image = readImage(folder / name);
    ASSERT_FALSE(image) << name;
    EXPECT_NE(image.error().message.find(name), std::string::npos);
    EXPECT_NE(image.error().message.find(cause), std::string::npos) << image.error().message;
  }
  EXPECT_TRUE(readImage(folder / "tex.png"));
}

}  // namespace
}  // namespace heatskin
