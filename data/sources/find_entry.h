// Files and folders by names that may stand there in other letters.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace fovea {

[[nodiscard]] bool is_folder(const std::filesystem::path& path);
[[nodiscard]] bool is_file(const std::filesystem::path& path);

/// What lies in the folder under this name, or else under one that differs in capitals alone:
/// "Train", "DATA_BATCH_1.BIN". Empty where nothing does.
[[nodiscard]] std::filesystem::path find_entry(const std::filesystem::path& folder,
                                               const std::string& name);

/// The names of the folders directly below, sorted; those that begin with a dot are passed over.
/// Throws Error where the folder cannot be read.
[[nodiscard]] std::vector<std::string> folders_below(const std::filesystem::path& folder);

/// The file itself or, when it is not there, the one of that name below `data_dir`.
[[nodiscard]] std::filesystem::path beside_or_below(const std::filesystem::path& file,
                                                    const std::filesystem::path& data_dir);

}  // namespace fovea
