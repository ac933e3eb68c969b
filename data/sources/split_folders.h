// Where the splits of a data set lie, under the names that they have on people's disks.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "data/dataset.h"

namespace fovea {

/// What a split's folder may be called, the usual name first; timm's readers know the same ones.
[[nodiscard]] const std::vector<std::string>& usual_split_names(Split split);

/// "--train-split" or "--val-split", and what it says.
[[nodiscard]] std::string split_flag(Split split);
[[nodiscard]] const std::string& wanted_split(const DatasetOptions& options, Split split);

/// The split's folder: what options.train_split or val_split say below options.data_dir; else a
/// usual name there or in Kaggle's ILSVRC/Data/CLS-LOC. Where neither split has a folder, data_dir
/// itself: for training with a val_fraction, and for testing without one. Empty where there is
/// none.
[[nodiscard]] std::filesystem::path find_split_folder(const DatasetOptions& options, Split split);

/// Says what lies in options.data_dir instead, and what to do.
[[noreturn]] void fail_without_split(const DatasetOptions& options, Split split);

}  // namespace fovea
