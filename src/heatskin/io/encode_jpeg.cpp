// As in image_jpeg.cpp, longjmp must not cross C++ objects: the function with setjmp has trivial locals only.

#include "heatskin/io/encode_jpeg.h"

#include <csetjmp>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <string>

#include <jpeglib.h>

namespace heatskin {
namespace {

constexpr int kFullColorQuality = 90;

struct JpegWriter {
  JpegWriter();
  ~JpegWriter() {
    jpeg_destroy_compress(&info);
    std::free(bytes);  // NOLINT: libjpeg allocates with malloc
  }
  JpegWriter(const JpegWriter&) = delete;
  JpegWriter& operator=(const JpegWriter&) = delete;

  jpeg_compress_struct info{};
  jpeg_error_mgr errors{};
  std::jmp_buf jump{};
  char text[JMSG_LENGTH_MAX] = "unknown error";
  unsigned char* bytes = nullptr;
  unsigned long count = 0;
};

[[noreturn]] void onWriteError(j_common_ptr info) {
  auto* writer = static_cast<JpegWriter*>(info->client_data);
  info->err->format_message(info, writer->text);
  std::longjmp(writer->jump, 1);
}

void noOutput(j_common_ptr) {}

JpegWriter::JpegWriter() {
  info.err = jpeg_std_error(&errors);
  errors.error_exit = onWriteError;
  errors.output_message = noOutput;
  info.client_data = this;
}

bool writeRows(JpegWriter& writer, const std::uint8_t* rgb, unsigned width, unsigned height, int quality) {
  if (setjmp(writer.jump) != 0) return false;
  jpeg_compress_struct& info = writer.info;
  jpeg_create_compress(&info);
  info.client_data = &writer;
  jpeg_mem_dest(&info, &writer.bytes, &writer.count);
  info.image_width = width;
  info.image_height = height;
  info.input_components = 3;
  info.in_color_space = JCS_RGB;
  jpeg_set_defaults(&info);
  jpeg_set_quality(&info, quality, TRUE);
  info.dct_method = JDCT_ISLOW;
  info.optimize_coding = TRUE;
  if (quality >= kFullColorQuality) info.comp_info[0].h_samp_factor = info.comp_info[0].v_samp_factor = 1;
  jpeg_simple_progression(&info);
  jpeg_start_compress(&info, TRUE);
  while (info.next_scanline < height) {
    // libjpeg takes rows that are not const and does not change them.
    JSAMPROW row = const_cast<JSAMPROW>(rgb + std::size_t{3} * width * info.next_scanline);  // NOLINT
    jpeg_write_scanlines(&info, &row, 1);
  }
  jpeg_finish_compress(&info);
  return true;
}

}  // namespace

Result<std::vector<std::uint8_t>> encodeJpeg(std::span<const std::uint8_t> rgb, int width, int height,
                                             int quality) {
  if (width < 1 || height < 1 || width > JPEG_MAX_DIMENSION || height > JPEG_MAX_DIMENSION || quality < 1 ||
      quality > 100 || rgb.size() != 3 * static_cast<std::size_t>(width) * static_cast<std::size_t>(height))
    return failure("a picture of this size or quality cannot be stored as JPEG");
  JpegWriter writer;
  if (!writeRows(writer, rgb.data(), static_cast<unsigned>(width), static_cast<unsigned>(height), quality))
    return failure(std::string("the JPEG image cannot be encoded: ") + writer.text);
  return std::vector<std::uint8_t>(writer.bytes, writer.bytes + writer.count);
}

}  // namespace heatskin
