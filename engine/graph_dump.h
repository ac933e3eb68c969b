// Views of the tape: its nodes, and a Graphviz drawing with op and leaf names and shapes.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "engine/node.h"

namespace fovea {

/// All ops that the root was computed from, latest first.
[[nodiscard]] std::vector<std::shared_ptr<Node>> tape_of(const Tensor& root);
/// The path of a module without its last part: "a.b" for "a.b.c", "" for "a".
[[nodiscard]] std::string parent_module(const std::string& path);
/// A Graphviz drawing (`dot -Tsvg`). Each op is a box with its attributes, its parameters and its
/// output shape; frames enclose the modules that parameter names imply; other named leaves are
/// ellipses.
[[nodiscard]] std::string graph_dot(const Tensor& root);

}  // namespace fovea
