// JPEG through libjpeg, with the settings that are bit-identical with Pillow.
//
// libjpeg reports errors through a callback that must not return: it jumps back to decode_into().
// All objects with destructors are owned outside of that function.
#include <csetjmp>
#include <cstdio>

#include <jpeglib.h>  // needs <cstdio> before it

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "data/codecs/codec.h"
#include "engine/base/error.h"

namespace fovea::codec {
namespace {

struct Decoder {
  jpeg_decompress_struct info{};
  jpeg_error_mgr errors{};
  jpeg_source_mgr input{};
  std::jmp_buf on_error{};
  std::array<char, JMSG_LENGTH_MAX> message{};
  jpeg_progress_mgr progress{};
  Image image;
  /// Buffers for even and odd rows, for rows that libjpeg cannot write to the image directly.
  std::array<std::vector<std::uint8_t>, 2> rows;

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

/// Called when all input is consumed. libjpeg's own source would insert an end marker.
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

/// Limits the scans of a progressive file: each scan can be as slow as the whole image.
void watch_scans(j_common_ptr common) {
  constexpr int most = 500;  // encoders use about ten
  const auto* info = reinterpret_cast<j_decompress_ptr>(common);
  if (info->input_scan_number <= most) return;
  Decoder& decoder = decoder_of(common);
  std::snprintf(decoder.message.data(), decoder.message.size(), "it has more than %d scans", most);
  std::longjmp(decoder.on_error, 1);
}

void open(Decoder& decoder, std::span<const std::uint8_t> bytes) {
  jpeg_decompress_struct& info = decoder.info;
  info.err = jpeg_std_error(&decoder.errors);
  decoder.errors.error_exit = stop;
  decoder.errors.emit_message = [](j_common_ptr, int) {};  // ignores warnings: recoverable damage
  info.client_data = &decoder;
  jpeg_create_decompress(&info);
  decoder.progress.progress_monitor = watch_scans;
  info.progress = &decoder.progress;
  info.src = &decoder.input;
  decoder.input.init_source = [](j_decompress_ptr) {};
  decoder.input.term_source = [](j_decompress_ptr) {};
  decoder.input.fill_input_buffer = at_end_of_data;
  decoder.input.skip_input_data = skip;
  decoder.input.resync_to_restart = jpeg_resync_to_restart;
  decoder.input.next_input_byte = bytes.data();
  decoder.input.bytes_in_buffer = bytes.size();
}

/// Converts a CMYK row to RGB: (255 - K)(255 - C) / 255, rounded like Pillow. Files store inverted
/// inks, as Adobe's programs write them.
void cmyk_to_rgb(const std::uint8_t* inks, std::uint8_t* rgb, std::int64_t width) {
  for (std::int64_t x = 0; x < width; ++x, inks += 4, rgb += Image::kChannels) {
    const int key = inks[3];  // = 255 - K
    for (int c = 0; c < Image::kChannels; ++c) {
      const int product = (255 - inks[c]) * key + 128;
      rgb[c] = static_cast<std::uint8_t>(std::max(0, key - ((product >> 8) + product) / 256));
    }
  }
}

/// Chroma is interpolated across the borders of blocks that libjpeg decodes together. One extra
/// block on every side keeps the effect of the cut away from the wanted pixels.
struct Window {
  PixelBox box;             ///< the wanted part, in output pixels
  std::int64_t column = 0;  ///< position of the first output column
};

/// The denominator (1, 2, 4 or 8) of the smallest decode that `size` allows.
int denominator_for(ImageSize wanted, ImageSize size) {
  if (size == ImageSize{}) return 1;
  int denominator = 8;
  while (denominator > 1 &&
         (wanted.height / denominator < size.height || wanted.width / denominator < size.width))
    denominator /= 2;
  return denominator;
}

/// The box at 1 / denominator of the image's size, at least one pixel large.
PixelBox scaled_box(const PixelBox& box, int denominator, ImageSize size) {
  const auto range = [denominator](std::int64_t begin, std::int64_t end, std::int64_t limit) {
    const std::int64_t first = std::min(begin / denominator, limit - 1);
    return std::array{first, std::clamp((end + denominator - 1) / denominator, first + 1, limit)};
  };
  const auto rows = range(box.top, box.bottom, size.height);
  const auto columns = range(box.left, box.right, size.width);
  return {rows[0], rows[1], columns[0], columns[1]};
}

/// Restricts decoding to the rows and columns that `box` requires. May longjmp.
Window open_window(jpeg_decompress_struct& info, const PixelBox& box) {
  Window window{box};
#ifdef LIBJPEG_TURBO_VERSION
  const std::int64_t block_width = info.max_h_samp_factor * info.min_DCT_scaled_size;
  const std::int64_t block_height = info.max_v_samp_factor * info.min_DCT_scaled_size;
  const std::int64_t left = std::max<std::int64_t>(0, box.left - block_width);
  const std::int64_t right = std::min<std::int64_t>(info.output_width, box.right + block_width);
  auto column = static_cast<JDIMENSION>(left), width = static_cast<JDIMENSION>(right - left);
  if (right - left < static_cast<std::int64_t>(info.output_width))
    jpeg_crop_scanline(&info, &column, &width);
  window.column = column;
  const std::int64_t top = (box.top / block_height - 1) * block_height;
  if (top > 0) jpeg_skip_scanlines(&info, static_cast<JDIMENSION>(top));
#endif
  return window;
}

std::vector<std::uint8_t>& row_buffer(Decoder& decoder, std::int64_t y) {
  return decoder.rows[static_cast<std::size_t>(y & 1)];
}

/// Copies the wanted part of a decoded row to the image.
void place_row(Decoder& decoder, const Window& window, std::int64_t y) {
  const std::int64_t width = window.box.right - window.box.left;
  const std::int64_t from = window.box.left - window.column;
  const std::uint8_t* row = row_buffer(decoder, y).data();
  if (decoder.info.out_color_space == JCS_CMYK)
    cmyk_to_rgb(row + 4 * from, decoder.image.at(y, 0), width);
  else
    std::copy_n(row + Image::kChannels * from, Image::kChannels * width, decoder.image.at(y, 0));
}

/// Reads rows up to the end of the window. Each row is copied only after the next one was read:
/// loading it immediately after libjpeg's narrower stores would stall. May longjmp, so no local
/// may need destruction.
void read_rows(Decoder& decoder, const Window& window) {
  jpeg_decompress_struct& info = decoder.info;
  const PixelBox& box = window.box;
  const bool direct = info.out_color_space != JCS_CMYK &&
                      box.right - box.left == static_cast<std::int64_t>(info.output_width);
  while (info.output_scanline < box.bottom) {
    const std::int64_t y = static_cast<std::int64_t>(info.output_scanline) - box.top;
    JSAMPROW row = direct && y >= 0 ? decoder.image.at(y, 0) : row_buffer(decoder, y).data();
    if (jpeg_read_scanlines(&info, &row, 1) == 1 && y > 0 && !direct)
      place_row(decoder, window, y - 1);
  }
  if (!direct) place_row(decoder, window, box.bottom - box.top - 1);
}

/// Fills decoder.image. Returns false after a libjpeg error, with the text in decoder.message.
bool decode_into(Decoder& decoder, const Source& source) {
  if (setjmp(decoder.on_error) != 0) return false;
  jpeg_decompress_struct& info = decoder.info;
  open(decoder, source.bytes);
  jpeg_read_header(&info, TRUE);
  check_size(source, info.image_height, info.image_width);
  const ImageSize size{info.image_height, info.image_width};
  constexpr std::int64_t most = 512;  // Huffman codes take at least one bit per 8 x 8 block
  if (!info.arith_code) check_plausible(source, size, most);
  PixelBox box = chosen_box(source, size);

  const bool four_inks = info.jpeg_color_space == JCS_CMYK || info.jpeg_color_space == JCS_YCCK;
  info.out_color_space = four_inks ? JCS_CMYK : JCS_RGB;
  info.scale_num = 1;
  info.scale_denom = static_cast<unsigned>(denominator_for(box.size(), source.options.shrink_to));
  jpeg_start_decompress(&info);
  if (info.scale_denom > 1)
    box = scaled_box(box, static_cast<int>(info.scale_denom),
                     {info.output_height, info.output_width});
  const Window window = open_window(info, box);
  decoder.image = Image(box.bottom - box.top, box.right - box.left);
  for (std::vector<std::uint8_t>& row : decoder.rows)
    row.resize((four_inks ? 4 : 3) * static_cast<std::size_t>(info.output_width));
  read_rows(decoder, window);
  return true;
}

}  // namespace

Image decode_jpeg(const Source& source) {
  Decoder decoder;
  if (!decode_into(decoder, source)) fail(source.name, ": damaged JPEG: ", decoder.message.data());
  return std::move(decoder.image);
}

}  // namespace fovea::codec
