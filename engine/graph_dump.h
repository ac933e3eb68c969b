// Views of the tape: its nodes, text, and a Graphviz drawing with op names, shapes and leaf names.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "engine/autograd.h"

namespace fovea {

/// All ops that the root was computed from, latest first.
[[nodiscard]] std::vector<std::shared_ptr<Node>> tape_of(const Tensor& root);
/// One line per op, latest first: "#12 softmax [2, 3, 5, 5] <- #11, saves 1.2 KiB".
[[nodiscard]] std::string graph_text(const Tensor& root);
/// A Graphviz drawing (`dot -Tsvg`). Each op is a box with its attributes, its parameters and its
/// output shape; frames enclose the modules that parameter names imply; other named leaves are
/// ellipses.
[[nodiscard]] std::string graph_dot(const Tensor& root);
/// The distinct op names on the tape, sorted.
[[nodiscard]] std::vector<std::string> graph_op_names(const Tensor& root);
/// Bytes that the tape keeps for derivatives; each storage is counted once.
[[nodiscard]] std::int64_t graph_saved_bytes(const Tensor& root);

}  // namespace fovea
