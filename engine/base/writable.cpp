// Asks the system about the folder that would hold the files.
#include "engine/base/writable.h"

#include <unistd.h>

#include <cerrno>
#include <system_error>

#include "engine/base/posix_calls.h"

namespace fovea {
namespace fs = std::filesystem;

void require_writable(const fs::path& file) {
  std::error_code none;
  const fs::file_status status = fs::status(file, none);
  if (fs::is_directory(status)) fail_errno("write", file, EISDIR);
  // A device or pipe is written directly, a file by another one in its place.
  const bool is_replaced = !fs::exists(status) || fs::is_regular_file(status);
  const fs::path folder = folder_of(file);
  if (is_replaced && !fs::is_directory(folder, none)) {
    fail_errno("write", file, fs::exists(folder, none) ? ENOTDIR : ENOENT);
  }
  if (::access((is_replaced ? folder : file).c_str(), W_OK) != 0) fail_errno("write", file);
}

void require_writable_folder(const fs::path& folder) {
  fs::path existing = folder;
  std::error_code none;
  while (!fs::exists(existing, none) && existing.has_relative_path()) {
    existing = folder_of(existing.has_filename() ? existing : existing.parent_path());
  }
  if (!fs::is_directory(existing, none)) fail_errno("write", folder, ENOTDIR);
  if (::access(existing.c_str(), W_OK | X_OK) != 0) fail_errno("write", folder);
}

}  // namespace fovea
