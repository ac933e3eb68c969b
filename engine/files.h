// Reading and writing whole files so that nothing is ever half there.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace fovea {

/// The whole file. Throws Error with the path and the system's reason.
[[nodiscard]] std::string read_file(const std::filesystem::path& path);

/// Writes beside `path`, syncs file and folder, renames. On any failure (also a full disk) the old
/// file stands, the temporary is removed and Error names the path and the reason.
void write_file_atomically(const std::filesystem::path& path, std::string_view content);
/// The same, for content produced in pieces: `produce` is given a function that appends.
void write_file_atomically(
    const std::filesystem::path& path,
    const std::function<void(const std::function<void(std::string_view)>& append)>& produce);

/// The candidate with the smallest edit distance to `word`: for "did you mean" hints.
[[nodiscard]] std::string nearest_name(std::string_view word,
                                       const std::vector<std::string>& candidates);

}  // namespace fovea
