// The tape as text or Graphviz, with op names, shapes and the names of leaves.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/tensor.h"

namespace fovea {

/// One line per op, last first: "#12 softmax [2, 3, 5, 5] <- #11, saves 1.2 KiB".
[[nodiscard]] std::string graph_text(const Tensor& root);
/// The same as a Graphviz digraph: `dot -Tsvg`.
[[nodiscard]] std::string graph_dot(const Tensor& root);
/// The distinct op names on the tape, sorted.
[[nodiscard]] std::vector<std::string> graph_op_names(const Tensor& root);
/// Bytes that the tape keeps for the derivatives, each storage counted once.
[[nodiscard]] std::int64_t graph_saved_bytes(const Tensor& root);

}  // namespace fovea
