// A model's summary for humans: the tree of modules with shapes, parameters and multiply-adds.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <string>
#include <vector>

#include "models/model.h"

namespace fovea {

/// A module, or a run of equal ones ("0 to 11"), in the tree of names.
struct SummaryNode {
  std::string name;
  std::string shape;  ///< shape of its output for one image; empty for an inner node
  std::int64_t parameters = 0;
  std::int64_t fixed = 0;  ///< elements of parameters that are not trained
  std::int64_t multiply_adds = 0;
  std::int64_t attention = 0;  ///< part of multiply_adds: matrix products of tokens with tokens
  std::int64_t repeats = 1;    ///< equal neighbours folded into this node; values are of one
  std::vector<SummaryNode> children;
};

/// Bytes on the model's device, measured with one image.
struct MemoryCost {
  std::int64_t weights = 0;  ///< parameters and buffers
  std::int64_t forward = 0;  ///< peak of a forward pass without gradients, excluding the weights
  std::int64_t step = 0;     ///< forward and backward pass, including the parameters' gradients
};
[[nodiscard]] MemoryCost measure_memory(Model& model);

/// The tree of a model, with equal neighbours folded into one node.
[[nodiscard]] SummaryNode summarize(Model& model);
void print_summary(std::ostream& out, Model& model);

/// Graphviz graph of the ops in a forward pass of one image, grouped by module.
[[nodiscard]] std::string draw_graph(Model& model);

}  // namespace fovea
