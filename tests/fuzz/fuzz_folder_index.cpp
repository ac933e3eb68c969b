// Fuzzes the reader of folder indexes and of class lists: any text gives an index that is written
// back unchanged, or an Error. The first line, with the checksum, is generated here.
#include <array>
#include <cstdint>
#include <cstdio>
#include <string>

#include "data/classes/class_list.h"
#include "data/sources/files/folder_index.h"
#include "data/sources/subset.h"
#include "engine/base/crc32c.h"
#include "engine/base/error.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string body(reinterpret_cast<const char*>(data), size);
  std::array<char, 40> title{};
  std::snprintf(title.data(), title.size(), "fovea-folder-index 3 %08x\n",
                static_cast<unsigned>(fovea::crc32c(body)));
  try {
    const fovea::FolderIndex index = fovea::parse_folder_index(title.data() + body, "input");
    const std::string written = fovea::format_folder_index(index);
    if (fovea::parse_folder_index(written, "output") != index) __builtin_trap();
  } catch (const fovea::Error&) {  // the documented answer to bad input
  }
  try {
    static_cast<void>(fovea::parse_synset_words(body, "input"));
    const fovea::ClassList classes = fovea::parse_class_map(body, "input");
    for (const std::int64_t k : fovea::parse_classes(body, classes.ids())) {
      if (k < 0 || k >= static_cast<std::int64_t>(classes.ids().size())) __builtin_trap();
    }
  } catch (const fovea::Error&) {
  }
  return 0;
}
