// The tape: as its nodes, as text or Graphviz, with op names, shapes and the names of leaves.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "engine/autograd.h"

namespace fovea {

/// Every op that the root was computed from, the latest first.
[[nodiscard]] std::vector<std::shared_ptr<Node>> tape_of(const Tensor& root);
/// One line per op, last first: "#12 softmax [2, 3, 5, 5] <- #11, saves 1.2 KiB".
[[nodiscard]] std::string graph_text(const Tensor& root);
/// A drawing for Graphviz (`dot -Tsvg`): a box for each op with its attributes, its parameters and
/// the shape of what it computes, within frames for the modules that parameters' names speak of;
/// the other leaves that have a name are ellipses.
[[nodiscard]] std::string graph_dot(const Tensor& root);
/// The distinct op names on the tape, sorted.
[[nodiscard]] std::vector<std::string> graph_op_names(const Tensor& root);
/// Bytes that the tape keeps for the derivatives, each storage counted once.
[[nodiscard]] std::int64_t graph_saved_bytes(const Tensor& root);

}  // namespace fovea
