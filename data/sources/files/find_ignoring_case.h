// Lookup of files and folders: ignoring case, and passing over those of other programs.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace fovea {

/// Whether a name is no part of a data set: it starts with a dot, or systems and archives use it
/// for their own folders, such as the thumbnails in "@eaDir".
[[nodiscard]] bool is_passed_over(std::string_view name);

[[nodiscard]] bool is_folder(const std::filesystem::path& path);
[[nodiscard]] bool is_file(const std::filesystem::path& path);

/// The entry of the folder with this name, or otherwise one that differs in case only: "Train",
/// "DATA_BATCH_1.BIN". Empty if there is none.
[[nodiscard]] std::filesystem::path find_ignoring_case(const std::filesystem::path& folder,
                                                       const std::string& name);

/// The names of the direct subfolders, sorted, without those that is_passed_over(). Throws Error if
/// the folder cannot be read.
[[nodiscard]] std::vector<std::string> folders_below(const std::filesystem::path& folder);

/// The file itself or, if it does not exist, the file of that name below `data_dir`.
[[nodiscard]] std::filesystem::path beside_or_below(const std::filesystem::path& file,
                                                    const std::filesystem::path& data_dir);

}  // namespace fovea
