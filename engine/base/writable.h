// Whether results can be written, asked before the work that makes them.
#pragma once

#include <filesystem>

namespace fovea {

/// Throws Error with the path and the system's reason unless a file can be written there, as far as
/// that is known beforehand. Leaves nothing.
void require_writable(const std::filesystem::path& file);
/// The same for files in a folder, which may have to be created.
void require_writable_folder(const std::filesystem::path& folder);

}  // namespace fovea
