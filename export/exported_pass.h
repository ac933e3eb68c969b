// What an exported file computes: the inputs, the outputs and the forward pass of each task.
#pragma once

#include <string>
#include <vector>

#include "export/traced_graph.h"
#include "models/model.h"

namespace fovea {

/// A named input or output. The first axis is the batch's.
struct PassValue {
  std::string name, description;
  double most = 1;  ///< of an input: the size of its values, or how many integers there are
};

struct ExportedPass {
  std::vector<PassValue> inputs, outputs;
  std::vector<Tensor> examples;   ///< one for each input, of a batch of 1
  TracedForward forward;          ///< one tensor for each output
  std::vector<Tensor> resized{};  ///< of another height and width; empty: one size alone
  std::int64_t unit = 1;          ///< of which any height and width are multiples
};

/// The pass of a model in evaluation. The model must outlive it.
[[nodiscard]] ExportedPass exported_pass(Model& model);
/// A pass whose first output is logits, with the probabilities and classes of the `count` largest.
[[nodiscard]] ExportedPass with_likeliest(ExportedPass pass, std::int64_t count);

}  // namespace fovea
