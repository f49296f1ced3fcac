// PNG through libpng. libpng reports errors with longjmp, which must not cross a C++ object with a
// destructor: every function that calls setjmp here has trivial locals only, and what owns memory lives in
// the caller.

#include <csetjmp>
#include <cstdio>
#include <cstring>
#include <new>

#include <png.h>

#include "heatskin/io/image.h"
#include "heatskin/io/image_codecs.h"

namespace heatskin {
namespace {

/// libpng's reason, kept where longjmp cannot lose it.
struct PngError {
  char text[160] = "unknown error";
};

[[noreturn]] void onPngError(png_structp png, png_const_charp message) {
  auto* error = static_cast<PngError*>(png_get_error_ptr(png));
  std::snprintf(error->text, sizeof error->text, "%s", message);
  png_longjmp(png, 1);
}

/// Warnings concern chunks that do not change texels (profiles, times, texts).
void onPngWarning(png_structp, png_const_charp) {}

struct PngReader {
  explicit PngReader(std::span<const std::uint8_t> all) : bytes(all) {
    png = png_create_read_struct(PNG_LIBPNG_VER_STRING, &error, onPngError, onPngWarning);
    if (png != nullptr) info = png_create_info_struct(png);
    if (info == nullptr) {
      png_destroy_read_struct(&png, nullptr, nullptr);
      throw std::bad_alloc();
    }
  }
  ~PngReader() { png_destroy_read_struct(&png, &info, nullptr); }
  PngReader(const PngReader&) = delete;
  PngReader& operator=(const PngReader&) = delete;

  std::span<const std::uint8_t> bytes;
  std::size_t offset = 0;
  PngError error;
  png_structp png = nullptr;
  png_infop info = nullptr;
  png_uint_32 width = 0;
  png_uint_32 height = 0;
  int bit_depth = 0;
  int color_type = 0;
  std::size_t stored_row_bytes = 0;  ///< of the unpacked file, without the filter byte
  bool has_transparency = false;     ///< a tRNS chunk
};

void readBytes(png_structp png, png_bytep out, std::size_t count) {
  auto* reader = static_cast<PngReader*>(png_get_io_ptr(png));
  if (count > reader->bytes.size() - reader->offset) png_error(png, "the file is truncated");
  std::memcpy(out, reader->bytes.data() + reader->offset, count);
  reader->offset += count;
}

/// Everything up to the first IDAT.
bool readHeader(PngReader& reader) {
  png_structp png = reader.png;
  if (setjmp(png_jmpbuf(png)) != 0) return false;
  png_set_read_fn(png, &reader, readBytes);
  // Chunks that carry no texels are skipped unread: compressed profiles and texts can be bombs of their own.
  png_set_keep_unknown_chunks(png, PNG_HANDLE_CHUNK_NEVER, nullptr, -1);
  // The caller's pixel limit decides, not libpng's default of a million per side.
  png_set_user_limits(png, PNG_UINT_31_MAX, PNG_UINT_31_MAX);
  png_read_info(png, reader.info);
  reader.width = png_get_image_width(png, reader.info);
  reader.height = png_get_image_height(png, reader.info);
  reader.bit_depth = png_get_bit_depth(png, reader.info);
  reader.color_type = png_get_color_type(png, reader.info);
  reader.stored_row_bytes = png_get_rowbytes(png, reader.info);
  reader.has_transparency = png_get_valid(png, reader.info, PNG_INFO_tRNS) != 0;
  return true;
}

/// All rows as 8-bit RGBA; `rgba` is [height, width, 4].
bool readPixels(PngReader& reader, std::uint8_t* rgba) {
  png_structp png = reader.png;
  if (setjmp(png_jmpbuf(png)) != 0) return false;
  png_set_expand(png);    // palette to RGB, fewer than 8 bits to 8, tRNS to alpha
  png_set_scale_16(png);  // rounds; png_set_strip_16 would truncate
  png_set_gray_to_rgb(png);
  png_set_add_alpha(png, 0xFF, PNG_FILLER_AFTER);
  const int passes = png_set_interlace_handling(png);
  png_read_update_info(png, reader.info);
  const std::size_t row_bytes = std::size_t{4} * reader.width;
  if (png_get_rowbytes(png, reader.info) != row_bytes) png_error(png, "unexpected row size");
  for (int pass = 0; pass < passes; ++pass) {
    for (png_uint_32 y = 0; y < reader.height; ++y)
      png_read_row(png, rgba + y * row_bytes, nullptr);
  }
  png_read_end(png, nullptr);  // checksums of the last chunks; a missing IEND means a cut file
  return true;
}

struct PngWriter {
  PngWriter() {
    png = png_create_write_struct(PNG_LIBPNG_VER_STRING, &error, onPngError, onPngWarning);
    if (png != nullptr) info = png_create_info_struct(png);
    if (info == nullptr) {
      png_destroy_write_struct(&png, nullptr);
      throw std::bad_alloc();
    }
  }
  ~PngWriter() { png_destroy_write_struct(&png, &info); }
  PngWriter(const PngWriter&) = delete;
  PngWriter& operator=(const PngWriter&) = delete;

  std::vector<std::uint8_t> bytes;
  PngError error;
  png_structp png = nullptr;
  png_infop info = nullptr;
};

void appendBytes(png_structp png, png_bytep data, std::size_t count) {
  auto* writer = static_cast<PngWriter*>(png_get_io_ptr(png));
  bool full = false;
  try {
    writer->bytes.insert(writer->bytes.end(), data, data + count);
  } catch (const std::bad_alloc&) {
    full = true;  // an exception must not unwind through C frames
  }
  if (full) png_error(png, "not enough memory");
}

void flushNothing(png_structp) {}

bool writePixels(PngWriter& writer, const std::uint8_t* pixels, png_uint_32 width, png_uint_32 height,
                 int channels) {
  png_structp png = writer.png;
  if (setjmp(png_jmpbuf(png)) != 0) return false;
  png_set_write_fn(png, &writer, appendBytes, flushNothing);
  const int type = channels == 1   ? PNG_COLOR_TYPE_GRAY
                   : channels == 3 ? PNG_COLOR_TYPE_RGB
                                   : PNG_COLOR_TYPE_RGB_ALPHA;
  png_set_IHDR(png, writer.info, width, height, 8, type, PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT,
               PNG_FILTER_TYPE_DEFAULT);
  png_set_sRGB(png, writer.info, PNG_sRGB_INTENT_PERCEPTUAL);
  png_write_info(png, writer.info);
  const std::size_t row_bytes = std::size_t{width} * static_cast<std::size_t>(channels);
  for (png_uint_32 y = 0; y < height; ++y)
    png_write_row(png, pixels + y * row_bytes);
  png_write_end(png, writer.info);
  return true;
}

}  // namespace

namespace codecs {

bool isPng(std::span<const std::uint8_t> bytes) {
  return bytes.size() >= 8 && png_sig_cmp(bytes.data(), 0, 8) == 0;
}

Result<Image> decodePng(std::span<const std::uint8_t> bytes, const std::string& name,
                        std::size_t max_pixels) {
  PngReader reader(bytes);
  const auto corrupt = [&] { return inputError(name + ": the PNG image is corrupt: " + reader.error.text); };
  // libpng refuses 0 x 0 with a reason that does not help; IHDR is always the first chunk.
  constexpr std::size_t kSizeOffset = 16;
  if (bytes.size() >= kSizeOffset + 8) {
    const auto side = [&](std::size_t at) {
      return (std::uint64_t{bytes[at]} << 24) | (std::uint64_t{bytes[at + 1]} << 16) |
             (std::uint64_t{bytes[at + 2]} << 8) | bytes[at + 3];
    };
    if (auto refusal = refuseSize(side(kSizeOffset), side(kSizeOffset + 4), name, max_pixels))
      return *refusal;
  }
  if (!readHeader(reader)) return corrupt();
  if (auto refusal = refuseSize(reader.width, reader.height, name, max_pixels)) return *refusal;
  // Deflate shrinks by at most 1032 : 1, so a short file that promises many rows is cut or a lie; found out
  // before the pixels are allocated.
  constexpr std::size_t kMaxDeflateRatio = 1032;
  if ((reader.stored_row_bytes + 1) * reader.height / kMaxDeflateRatio > bytes.size()) {
    return inputError(name + ": the PNG image is truncated: " + std::to_string(bytes.size()) +
                      " bytes cannot hold " + std::to_string(reader.width) + " x " +
                      std::to_string(reader.height) + " pixels");
  }
  Image image;
  image.format = "png";
  image.width = static_cast<int>(reader.width);
  image.height = static_cast<int>(reader.height);
  image.stored_bits = reader.bit_depth;
  const bool color = (reader.color_type & PNG_COLOR_MASK_COLOR) != 0;
  const bool alpha = (reader.color_type & PNG_COLOR_MASK_ALPHA) != 0 || reader.has_transparency;
  image.stored_channels = (color ? 3 : 1) + (alpha ? 1 : 0);
  image.rgba.resize(std::size_t{4} * reader.width * reader.height);
  if (!readPixels(reader, image.rgba.data())) return corrupt();
  return image;
}

}  // namespace codecs

Result<std::vector<std::uint8_t>> encodePng(std::span<const std::uint8_t> pixels, int width, int height,
                                            int channels) {
  if (channels != 1 && channels != 3 && channels != 4) {
    return usageError("a PNG image has 1, 3 or 4 channels, not " + std::to_string(channels));
  }
  if (width <= 0 || height <= 0) return usageError("a PNG image needs at least one pixel");
  if (pixels.size() != static_cast<std::size_t>(width) * static_cast<std::size_t>(height) *
                           static_cast<std::size_t>(channels)) {
    return usageError("the pixel array does not match the size of the PNG image");
  }
  try {
    PngWriter writer;
    if (!writePixels(writer, pixels.data(), static_cast<png_uint_32>(width), static_cast<png_uint_32>(height),
                     channels)) {
      return failure(std::string("the PNG image cannot be encoded: ") + writer.error.text);
    }
    return std::move(writer.bytes);
  } catch (const std::bad_alloc&) {
    return failure("not enough memory to encode the PNG image");
  }
}

}  // namespace heatskin
