// JPEG in builds without libjpeg. Colours differ from libjpeg's by up to 2.
#include "data/codecs/codec.h"
#include "engine/base/error.h"

namespace fovea::codec {

Image decode_jpeg(const Source& source) { return cut(decode_stb(source), source); }

}  // namespace fovea::codec

std::string fovea::encode_jpeg(const Image&, const JpegOptions&) {
  fail("encode_jpeg: this build has no libjpeg");
}
