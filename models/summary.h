// A model as a table for humans: the tree of modules with shapes, parameters and multiply-adds.
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
  std::string shape;  ///< what comes out of it for one image; empty for an inner node
  std::int64_t parameters = 0;
  std::int64_t fixed = 0;  ///< elements of parameters that are not trained
  std::int64_t multiply_adds = 0;
  std::int64_t attention = 0;  ///< of these the products of tokens with tokens
  std::int64_t repeats = 1;    ///< equal neighbours that this one stands for; numbers are of one
  std::vector<SummaryNode> children;
};

/// Bytes on the model's device, measured with one image.
struct MemoryCost {
  std::int64_t weights = 0;  ///< parameters and buffers
  std::int64_t forward = 0;  ///< at its peak, beside the weights, without derivatives
  std::int64_t step = 0;     ///< of forward and backward pass, the parameters' gradients among it
};
[[nodiscard]] MemoryCost measure_memory(Model& model);

/// The tree of a model; equal neighbours are folded into one.
[[nodiscard]] SummaryNode summarize(Model& model);
void print_summary(std::ostream& out, Model& model);

/// The ops of a forward pass of one image, in the modules that they belong to, for Graphviz.
[[nodiscard]] std::string draw_graph(Model& model);

}  // namespace fovea
