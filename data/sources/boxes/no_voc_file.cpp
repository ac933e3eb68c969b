// Takes the place of voc_file.cpp in a build without pugixml.
#include "data/sources/boxes/voc_file.h"
#include "engine/base/error.h"

namespace fovea {

VocFile parse_voc(std::string_view /*xml*/, const std::string& name) {
  fail(name, ": is XML, which this build cannot read; install libpugixml-dev and configure again");
}

}  // namespace fovea
