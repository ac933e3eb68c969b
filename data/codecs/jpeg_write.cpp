// Writing JPEG through libjpeg.
#include <csetjmp>
#include <cstdio>
#include <cstdlib>

#include <jpeglib.h>  // needs <cstdio> before it

#include <array>

#include "data/image.h"
#include "engine/base/error.h"

namespace fovea {
namespace {

/// State that is destroyed on every path. libjpeg's errors jump to on_error.
struct Encoder {
  jpeg_compress_struct info{};
  jpeg_error_mgr errors{};
  std::jmp_buf on_error{};
  std::array<char, JMSG_LENGTH_MAX> message{};
  unsigned char* bytes = nullptr;  ///< allocated by libjpeg with malloc
  unsigned long size = 0;

  Encoder() = default;
  ~Encoder() {
    jpeg_destroy_compress(&info);
    std::free(bytes);
  }
  Encoder(const Encoder&) = delete;
  Encoder& operator=(const Encoder&) = delete;
};

[[noreturn]] void stop(j_common_ptr info) {
  Encoder& encoder = *static_cast<Encoder*>(info->client_data);
  encoder.errors.format_message(info, encoder.message.data());
  std::longjmp(encoder.on_error, 1);
}

void set_up(jpeg_compress_struct& info, const Image& image, const JpegOptions& options) {
  info.image_height = static_cast<JDIMENSION>(image.height);
  info.image_width = static_cast<JDIMENSION>(image.width);
  info.input_components = Image::kChannels;
  info.in_color_space = JCS_RGB;
  jpeg_set_defaults(&info);
  jpeg_set_quality(&info, options.quality, TRUE);
  info.comp_info[0].h_samp_factor = options.chroma_width;
  info.comp_info[0].v_samp_factor = options.chroma_height;
  info.optimize_coding = TRUE;
  if (options.progressive) jpeg_simple_progression(&info);
}

/// Returns false after a libjpeg error, with the text in encoder.message.
bool encode_into(Encoder& encoder, const Image& image, const JpegOptions& options) {
  if (setjmp(encoder.on_error) != 0) return false;
  jpeg_compress_struct& info = encoder.info;
  info.err = jpeg_std_error(&encoder.errors);
  encoder.errors.error_exit = stop;
  info.client_data = &encoder;
  jpeg_create_compress(&info);
  jpeg_mem_dest(&info, &encoder.bytes, &encoder.size);
  set_up(info, image, options);
  jpeg_start_compress(&info, TRUE);
  while (info.next_scanline < info.image_height) {
    auto* row = const_cast<JSAMPROW>(image.at(info.next_scanline, 0));
    jpeg_write_scanlines(&info, &row, 1);
  }
  jpeg_finish_compress(&info);
  return true;
}

}  // namespace

std::string encode_jpeg(const Image& image, const JpegOptions& options) {
  require_rgb8(image, "encode_jpeg");
  constexpr std::int64_t most = 65500;  // JPEG_MAX_DIMENSION
  check(image.height >= 1 && image.width >= 1 && image.height <= most && image.width <= most,
        "encode_jpeg: got ", image.width, " x ", image.height, " pixels, expected 1 to ", most,
        " per side");
  check(options.quality >= 1 && options.quality <= 100, "encode_jpeg: got quality ",
        options.quality, ", expected 1 to 100");
  Encoder encoder;
  if (!encode_into(encoder, image, options)) fail("encode_jpeg: ", encoder.message.data());
  return {reinterpret_cast<const char*>(encoder.bytes), encoder.size};
}

}  // namespace fovea
