// Creates the folder with its first file and writes each file atomically.
#include "engine/base/output_folder.h"

#include "engine/base/files.h"

namespace fovea {

void OutputFolder::write(const std::string& name, std::string_view content) {
  make_folder(folder_);
  write_file_atomically(folder_ / name, content);
  files_.push_back(folder_ / name);
}

}  // namespace fovea
