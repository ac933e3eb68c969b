// JPEG in a build without libjpeg. Colours differ from libjpeg's by up to 2.
#include "data/codec.h"

namespace fovea::codec {

Image decode_jpeg(const Source& source) { return decode_stb(source); }

}  // namespace fovea::codec
