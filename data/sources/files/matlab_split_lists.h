// Data sets whose official splits are lists of image numbers in a MATLAB 5 file.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

namespace fovea {

/// Lists by name, of image numbers from 0 on, in the order of the file.
using SplitLists = std::vector<std::pair<std::string, std::vector<std::int64_t>>>;

/// Reads the variables `names` of a MATLAB 5 file, which number `images` images from 1 on. Throws
/// Error, starting with the path, on a damaged file, a missing list, numbers out of range, and an
/// image that is listed twice, in one list or in two.
[[nodiscard]] SplitLists read_matlab_split_lists(const std::filesystem::path& path,
                                                 const std::vector<std::string>& names,
                                                 std::int64_t images);

/// data_dir, or the first of the folders `usual` below it, that has the file; empty if there is
/// none.
[[nodiscard]] std::filesystem::path folder_with(const std::filesystem::path& data_dir,
                                                const std::vector<std::string>& usual,
                                                const std::string& file);

}  // namespace fovea
