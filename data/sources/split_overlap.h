// Detects overlap between test and training pictures.
#pragma once

#include <filesystem>
#include <string>

#include "data/dataset.h"
#include "data/sources/files/folder_index.h"

namespace fovea {

/// A notice for the user if some of a few sampled test pictures have the same name and bytes in
/// the training folder (links or copies). Empty if there are none.
[[nodiscard]] std::string split_overlap_notice(const std::filesystem::path& root,
                                               const FolderIndex& index,
                                               const std::filesystem::path& training);

/// The same for sets that list their pictures: those of the same name, or with the same boxes, are
/// compared byte by byte.
[[nodiscard]] std::string split_overlap_notice(const Dataset& test, const Dataset& train);

}  // namespace fovea
