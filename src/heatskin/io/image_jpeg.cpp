// JPEG through libjpeg-turbo. As with libpng, longjmp must not cross C++ objects: functions with setjmp have
// trivial locals only.

#include <csetjmp>
#include <cstddef>
#include <cstdio>

#include <jerror.h>
#include <jpeglib.h>

#include "heatskin/io/image_codecs.h"

namespace heatskin {
namespace {

/// A progressive file can repeat scans over a large picture: a small file, hours of work. Encoders write
/// about ten.
constexpr int kMaxScans = 200;

/// Coefficients of progressive files are held whole, 2 bytes per sample; this is room for 2^26 pixels of
/// three full components.
constexpr long kMaxWorkingMemory = 512L << 20;

struct JpegReader {
  JpegReader();
  ~JpegReader() { jpeg_destroy_decompress(&info); }
  JpegReader(const JpegReader&) = delete;
  JpegReader& operator=(const JpegReader&) = delete;

  jpeg_decompress_struct info{};
  jpeg_error_mgr errors{};
  jpeg_progress_mgr progress{};
  std::jmp_buf jump{};
  char text[JMSG_LENGTH_MAX] = "unknown error";
};

JpegReader& readerOf(j_common_ptr info) {
  return *static_cast<JpegReader*>(info->client_data);
}

[[noreturn]] void onError(j_common_ptr info) {
  JpegReader& reader = readerOf(info);
  info->err->format_message(info, reader.text);
  std::longjmp(reader.jump, 1);
}

/// libjpeg goes on with grey after damage; we do not. Oddities that leave the pixels alone are passed over.
void onMessage(j_common_ptr info, int level) {
  if (level >= 0) return;
  switch (info->err->msg_code) {
    case JWRN_ADOBE_XFORM:
    case JWRN_EXTRANEOUS_DATA:
    case JWRN_JFIF_MAJOR:
    case JWRN_NOT_SEQUENTIAL:
    case JWRN_TOO_MUCH_DATA:
    case JWRN_BOGUS_ICC:
      return;
    default:
      onError(info);
  }
}

void onOutput(j_common_ptr) {}

void onProgress(j_common_ptr info) {
  if (reinterpret_cast<j_decompress_ptr>(info)->input_scan_number <= kMaxScans) return;
  JpegReader& reader = readerOf(info);
  std::snprintf(reader.text, sizeof reader.text, "more than %d scans", kMaxScans);
  std::longjmp(reader.jump, 1);
}

JpegReader::JpegReader() {
  info.err = jpeg_std_error(&errors);
  errors.error_exit = onError;
  errors.emit_message = onMessage;
  errors.output_message = onOutput;
  info.client_data = this;
}

bool readHeader(JpegReader& reader, const std::uint8_t* bytes, unsigned long count) {
  if (setjmp(reader.jump) != 0) return false;
  jpeg_create_decompress(&reader.info);
  reader.info.client_data = &reader;
  reader.info.mem->max_memory_to_use = kMaxWorkingMemory;
  reader.progress.progress_monitor = onProgress;
  reader.info.progress = &reader.progress;
  jpeg_mem_src(&reader.info, bytes, count);
  jpeg_read_header(&reader.info, TRUE);
  return true;
}

bool startPixels(JpegReader& reader) {
  if (setjmp(reader.jump) != 0) return false;
  reader.info.out_color_space = JCS_EXT_RGBA;
  reader.info.dct_method = JDCT_ISLOW;
  jpeg_start_decompress(&reader.info);
  return true;
}

bool readRow(JpegReader& reader, std::uint8_t* row) {
  if (setjmp(reader.jump) != 0) return false;
  JSAMPROW rows[1] = {row};
  return jpeg_read_scanlines(&reader.info, rows, 1) == 1;
}

bool finishPixels(JpegReader& reader) {
  if (setjmp(reader.jump) != 0) return false;
  jpeg_finish_decompress(&reader.info);
  return true;
}

}  // namespace

namespace codecs {

bool isJpeg(std::span<const std::uint8_t> bytes) {
  return bytes.size() >= 3 && bytes[0] == 0xFF && bytes[1] == 0xD8 && bytes[2] == 0xFF;
}

Result<Image> decodeJpeg(std::span<const std::uint8_t> bytes, const std::string& name,
                         std::size_t max_pixels) {
  JpegReader reader;
  const auto corrupt = [&] { return inputError(name + ": the JPEG image is corrupt: " + reader.text); };
  if (!readHeader(reader, bytes.data(), static_cast<unsigned long>(bytes.size()))) return corrupt();
  const jpeg_decompress_struct& info = reader.info;
  if (auto refusal = refuseSize(info.image_width, info.image_height, name, max_pixels)) return *refusal;
  if (info.jpeg_color_space == JCS_CMYK || info.jpeg_color_space == JCS_YCCK) {
    return inputError(name + ": CMYK JPEG images are not supported; convert it to RGB");
  }
  if (info.num_components != 1 && info.num_components != 3) {
    return inputError(name + ": JPEG images with " + std::to_string(info.num_components) +
                      " components are not supported; convert it to RGB");
  }
  Image image;
  image.format = "jpeg";
  image.width = static_cast<int>(info.image_width);
  image.height = static_cast<int>(info.image_height);
  image.stored_channels = info.num_components;
  image.stored_bits = info.data_precision;
  if (!startPixels(reader)) return corrupt();
  // Rows are appended as they are decoded, so that a cut file that promises many costs what it delivers.
  const std::size_t row_bytes = std::size_t{4} * info.image_width;
  image.rgba.reserve(row_bytes * info.image_height);
  for (unsigned y = 0; y < info.image_height; ++y) {
    image.rgba.resize(image.rgba.size() + row_bytes);
    if (!readRow(reader, image.rgba.data() + y * row_bytes)) return corrupt();
  }
  if (!finishPixels(reader)) return corrupt();
  return image;
}

}  // namespace codecs
}  // namespace heatskin
