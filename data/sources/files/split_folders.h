// Finds the folders of a data set's splits under their common names.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "data/dataset.h"

namespace fovea {

/// Common folder names of a split, the most common first; timm's readers accept the same names.
[[nodiscard]] const std::vector<std::string>& usual_split_names(Split split);

/// The flag "--train-split" or "--val-split", with its value.
[[nodiscard]] std::string split_flag(Split split);
[[nodiscard]] const std::string& wanted_split(const DatasetOptions& options, Split split);

/// The folder of a split: options.train_split or val_split below options.data_dir; otherwise a
/// common name there or in Kaggle's ILSVRC/Data/CLS-LOC. If neither split has a folder, data_dir
/// itself: for training with a val_fraction, and for testing without one. Empty if there is none.
[[nodiscard]] std::filesystem::path find_split_folder(const DatasetOptions& options, Split split);

/// Whether data_folder(options) itself has the pictures, with no folder for either split.
[[nodiscard]] bool is_one_folder(const DatasetOptions& options);

/// Throws an error that describes the content of options.data_dir and suggests what to do.
[[noreturn]] void fail_without_split(const DatasetOptions& options, Split split);

}  // namespace fovea
