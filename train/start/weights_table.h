// Table for the user of the tensors that loading changed or left out.
#pragma once

#include <string>

#include "models/checkpoints/pretrained.h"

namespace fovea {

/// "copied 148 of 152 tensors; the others:" and one row per other tensor: its name, its shape in
/// the file and in the model, and the outcome. Only the first half if all were copied. `tensors`
/// are those of the file at `path`.
[[nodiscard]] std::string loading_table(const std::filesystem::path& path, const TensorMap& tensors,
                                        const Model& model, const LoadReport& report);

}  // namespace fovea
