// What the files of engine/base/ share above the system's calls. Private to engine/base/.
#pragma once

#include <cerrno>
#include <filesystem>
#include <string_view>

namespace fovea {

/// Throws Error with the action, the path and the system's reason.
[[noreturn]] void fail_errno(std::string_view action, const std::filesystem::path& path,
                             int error = errno);

/// Returns false, with errno set, if not everything could be written.
[[nodiscard]] bool write_all(int descriptor, std::string_view content);

/// The folder that holds `path`.
[[nodiscard]] std::filesystem::path folder_of(const std::filesystem::path& path);

/// Makes a rename or a new entry survive a power failure. Some file systems cannot sync a folder
/// (EINVAL).
void sync_folder(const std::filesystem::path& folder);

}  // namespace fovea
