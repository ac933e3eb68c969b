// WebP through libwebp, still or animated: the first frame on its canvas, like Pillow.
#include <webp/decode.h>
#include <webp/demux.h>

#include <algorithm>
#include <memory>

#include "data/codecs/codec.h"
#include "engine/base/error.h"

namespace fovea::codec {
namespace {

constexpr int kSamples = 4;  // libwebp's canvas is RGBA

/// The canvas of the first frame, owned by the decoder; null if the data is damaged.
const std::uint8_t* first_frame(WebPAnimDecoder* decoder) {
  std::uint8_t* canvas = nullptr;
  int milliseconds = 0;
  return WebPAnimDecoderGetNext(decoder, &canvas, &milliseconds) != 0 ? canvas : nullptr;
}

}  // namespace

Image decode_webp(const Source& source) {
  WebPBitstreamFeatures features;
  check(WebPGetFeatures(source.bytes.data(), source.bytes.size(), &features) == VP8_STATUS_OK,
        source.name, ": damaged WebP: its header cannot be read");
  check_size(source, static_cast<std::uint64_t>(features.height),
             static_cast<std::uint64_t>(features.width));

  const WebPData data{source.bytes.data(), source.bytes.size()};
  const std::unique_ptr<WebPAnimDecoder, decltype(&WebPAnimDecoderDelete)> decoder(
      WebPAnimDecoderNew(&data, nullptr), &WebPAnimDecoderDelete);
  const std::uint8_t* from = decoder ? first_frame(decoder.get()) : nullptr;
  check(from != nullptr, source.name, ": damaged WebP: its pixels cannot be read");

  Image image(features.height, features.width);
  for (std::size_t to = 0; to < image.pixels.size(); to += Image::kChannels, from += kSamples) {
    std::copy_n(from, Image::kChannels, image.pixels.data() + to);
  }
  return image;
}

}  // namespace fovea::codec
