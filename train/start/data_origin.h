// Where the images of a run come from: kept with its settings and weights, so that a later program
// finds the same ones from another folder, and notices if it does not.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "data/dataset.h"
#include "engine/base/notices.h"
#include "train/run/held_out.h"
#include "train/settings/config.h"

namespace fovea {

/// The settings as JSON, for config.json and the state: beside them, under "about", the absolute
/// folder of the data and the digest of the list of test images.
[[nodiscard]] std::string settings_with_origin(const TrainConfig& config, const Dataset& test);

/// The absolute folder in such a text; "" if there is none.
[[nodiscard]] std::string data_folder_in(std::string_view settings);

/// The digest of the list of test images in such a text; "" if there is none.
[[nodiscard]] std::string test_list_in(std::string_view settings);

/// Makes a relative --data-dir the folder in `settings`, the text of the same run, if that exists.
void find_data_folder(std::string_view settings, TrainConfig& config);

/// What the run holds out of its training images; empty if it has other validation images.
[[nodiscard]] std::optional<HeldOut> held_out_part(const TrainConfig& config, const Dataset& test);

/// Adds a note if the run validates on images with which its first weights were trained: the same
/// data with another seed, fraction or rule.
void note_leak(const TrainConfig& config, const Dataset& test, Notices& notices);

}  // namespace fovea
