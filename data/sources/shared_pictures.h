// Whether the pictures to test with are those that were trained on.
#pragma once

#include <filesystem>
#include <string>

#include "data/sources/folder_index.h"

namespace fovea {

/// What to tell a user of whose pictures, of some that are looked at, the training folder has the
/// same bytes under the same names: links and copies. Empty where it has none.
[[nodiscard]] std::string shared_pictures_notice(const std::filesystem::path& root,
                                                 const FolderIndex& index,
                                                 const std::filesystem::path& training);

}  // namespace fovea
