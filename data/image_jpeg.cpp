// JPEG through libjpeg, with the settings that give Pillow's bits.
//
// libjpeg reports errors through a callback that must not return: it jumps back to decode_into().
// Everything that needs destruction lives above that function.
#include <csetjmp>
#include <cstdio>

#include <jpeglib.h>  // needs <cstdio> before it

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "data/codec.h"
#include "engine/check.h"

namespace fovea::codec {
namespace {

struct Decoder {
  jpeg_decompress_struct info{};
  jpeg_error_mgr errors{};
  jpeg_source_mgr input{};
  std::jmp_buf on_error{};
  std::array<char, JMSG_LENGTH_MAX> message{};
  Image image;
  std::vector<std::uint8_t> row;  ///< CMYK before conversion

  Decoder() = default;
  ~Decoder() { jpeg_destroy_decompress(&info); }
  Decoder(const Decoder&) = delete;
  Decoder& operator=(const Decoder&) = delete;
};

Decoder& decoder_of(j_common_ptr info) { return *static_cast<Decoder*>(info->client_data); }

[[noreturn]] void stop(j_common_ptr info) {
  Decoder& decoder = decoder_of(info);
  decoder.errors.format_message(info, decoder.message.data());
  std::longjmp(decoder.on_error, 1);
}

/// Called when all bytes are used up. libjpeg's own source would invent an end marker.
boolean at_end_of_data(j_decompress_ptr info) {
  Decoder& decoder = decoder_of(reinterpret_cast<j_common_ptr>(info));
  std::snprintf(decoder.message.data(), decoder.message.size(), "the data ends too early");
  std::longjmp(decoder.on_error, 1);
}

void skip(j_decompress_ptr info, long count) {
  if (count <= 0) return;
  jpeg_source_mgr& input = *info->src;
  if (static_cast<std::size_t>(count) > input.bytes_in_buffer) at_end_of_data(info);
  input.next_input_byte += count;
  input.bytes_in_buffer -= static_cast<std::size_t>(count);
}

void open(Decoder& decoder, std::span<const std::uint8_t> bytes) {
  jpeg_decompress_struct& info = decoder.info;
  info.err = jpeg_std_error(&decoder.errors);
  decoder.errors.error_exit = stop;
  decoder.errors.emit_message = [](j_common_ptr, int) {};  // warnings: damage that is survived
  info.client_data = &decoder;
  jpeg_create_decompress(&info);
  info.src = &decoder.input;
  decoder.input.init_source = [](j_decompress_ptr) {};
  decoder.input.term_source = [](j_decompress_ptr) {};
  decoder.input.fill_input_buffer = at_end_of_data;
  decoder.input.skip_input_data = skip;
  decoder.input.resync_to_restart = jpeg_resync_to_restart;
  decoder.input.next_input_byte = bytes.data();
  decoder.input.bytes_in_buffer = bytes.size();
}

/// One row of inks to RGB: (255 - K)(255 - C) / 255, rounded as Pillow does. Files hold the inks
/// inverted, as Adobe's programs write them.
void cmyk_to_rgb(const std::uint8_t* inks, std::uint8_t* rgb, std::int64_t width) {
  for (std::int64_t x = 0; x < width; ++x, inks += 4, rgb += Image::kChannels) {
    const int key = inks[3];  // = 255 - K
    for (int c = 0; c < Image::kChannels; ++c) {
      const int product = (255 - inks[c]) * key + 128;
      rgb[c] = static_cast<std::uint8_t>(std::max(0, key - ((product >> 8) + product) / 256));
    }
  }
}

/// Reads all rows. May leave by a jump: no local needs destruction.
void read_rows(Decoder& decoder) {
  jpeg_decompress_struct& info = decoder.info;
  const bool cmyk = info.out_color_space == JCS_CMYK;
  while (info.output_scanline < info.output_height) {
    std::uint8_t* target = decoder.image.at(info.output_scanline, 0);
    JSAMPROW row = cmyk ? decoder.row.data() : target;
    if (jpeg_read_scanlines(&info, &row, 1) == 1 && cmyk)
      cmyk_to_rgb(row, target, decoder.image.width);
  }
}

/// Fills decoder.image. False after an error of libjpeg, which is in decoder.message then.
bool decode_into(Decoder& decoder, const Source& source) {
  if (setjmp(decoder.on_error) != 0) return false;
  jpeg_decompress_struct& info = decoder.info;
  open(decoder, source.bytes);
  jpeg_read_header(&info, TRUE);
  check_size(source, info.image_height, info.image_width);
  const bool four_inks = info.jpeg_color_space == JCS_CMYK || info.jpeg_color_space == JCS_YCCK;
  info.out_color_space = four_inks ? JCS_CMYK : JCS_RGB;
  jpeg_start_decompress(&info);

  decoder.image = Image(info.output_height, info.output_width);
  if (four_inks) decoder.row.resize(4 * static_cast<std::size_t>(info.output_width));
  read_rows(decoder);
  return true;
}

}  // namespace

Image decode_jpeg(const Source& source) {
  Decoder decoder;
  if (!decode_into(decoder, source)) fail(source.name, ": damaged JPEG: ", decoder.message.data());
  return std::move(decoder.image);
}

}  // namespace fovea::codec
