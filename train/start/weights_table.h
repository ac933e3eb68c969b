// What loading weights into a model of another shape did, as a table for the user.
#pragma once

#include <string>

#include "models/checkpoints/pretrained.h"

namespace fovea {

/// "copied 148 of 152 tensors; the others:" and a row for each other tensor: its name, its shape in
/// the file and in the model, and what happened to it. Nothing but the first half when all were
/// copied. `list` is of the file at `path`.
[[nodiscard]] std::string loading_table(const std::filesystem::path& path, const WeightsList& list,
                                        const Model& model, const LoadReport& report);

}  // namespace fovea
