// Files that people take for weights: downloads that went wrong, and archives.
#pragma once

#include <string>

#include "engine/base/files.h"

namespace fovea {

/// Throws Error, starting with `context`, that says what the file is and what to do, if its first
/// bytes show it: an empty file, a Git LFS pointer, a web page, a JSON text, a compressed file, a
/// tar archive, a file of another program. Other files pass.
void require_no_foreign_file(const ByteSource& source, const std::string& context);

}  // namespace fovea
