// The error for weights that do not fit a model: what fits, what does not, and why.
#pragma once

#include <string>
#include <vector>

#include "engine/formats/weights_file.h"
#include "models/model.h"

namespace fovea {

/// The tensors of a model and of a file that do not fit together.
struct Mismatch {
  std::vector<std::string> missing, unexpected;
  std::vector<std::string> misshaped;  ///< "NAME is [1, 2], expected [3, 4]"
  std::size_t fitting = 0;             ///< number of the model's tensors that fit

  [[nodiscard]] bool empty() const {
    return missing.empty() && unexpected.empty() && misshaped.empty();
  }
};

/// One line: how many tensors fit, the first names of each kind, and probable reasons. With
/// `all_names` it lists all names, at most a thousand of each kind.
[[nodiscard]] std::string mismatch_text(const Mismatch& mismatch, const TensorMap& file,
                                        const Model& model, bool all_names);

/// True for a scalar integer, such as the counter of averaged weights. It is not a weight.
[[nodiscard]] bool is_counter(const Tensor& tensor);

}  // namespace fovea
