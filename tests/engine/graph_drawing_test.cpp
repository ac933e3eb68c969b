// The tape as Graphviz: boxes, frames around modules, arrows.
#include <doctest/doctest.h>

#include <string>

#include "engine/autograd.h"
#include "engine/graph_dump.h"
#include "tests/support/temporary_folder.h"

using namespace fovea;

namespace {

Tensor joined(const char* op, std::initializer_list<Tensor> inputs) {
  const OpLabel label(op, {{"axis", 1}});
  return record(label, ones({2, 3}), inputs, {}, [](const GradArgs&) -> Grads { return {}; });
}

Tensor parameter(const char* name) { return ones({3}).set_requires_grad().set_name(name); }

/// embed -> (blocks.0: norm -> [plain -> attn.qkv -> mixed -> attn.proj]) -> last.
std::string drawing() {
  const Tensor images = ones({2, 3}).set_name("images");
  const Tensor x = joined("embed", {images, parameter("embed.weight")});
  const Tensor norm = joined("norm", {x, parameter("blocks.0.norm.bias")});
  const Tensor qkv = joined("linear", {norm, parameter("blocks.0.attn.qkv.weight")});
  const Tensor mixed = joined("mix", {qkv});
  const Tensor proj = joined("linear", {mixed, parameter("blocks.0.attn.proj.weight")});
  return graph_dot(joined("last", {joined("sum", {x, proj}), parameter("head.weight")}));
}

/// The part of the drawing from a frame's beginning to its end.
std::string frame_of(const std::string& dot, const std::string& path) {
  const std::size_t begin = dot.find("subgraph \"cluster_" + path + "\" {");
  if (begin == std::string::npos) return "";
  std::size_t at = dot.find('{', begin);
  for (int depth = 1; depth > 0;) {
    at = dot.find_first_of("{}", at + 1);
    depth += dot[at] == '{' ? 1 : -1;
  }
  return dot.substr(begin, at - begin);
}

}  // namespace

TEST_CASE("an op's box has its module, attributes, parameters and shape") {
  const std::string dot = drawing();
  CHECK(contains(dot, R"([label="embed: embed\naxis=1\nweight [3]\n-> [2, 3]", fillcolor=)"));
  CHECK(contains(dot, R"([label="mix\naxis=1\n-> [2, 3]", fillcolor="#ffffff"])"));
  CHECK(contains(dot, R"("images" [shape=ellipse, fillcolor="#f6ecd9", label="images\n[2, 3]"])"));
  CHECK(contains(dot, "\"images\" -> n0;"));
  CHECK(contains(dot, "n0 -> n5;"));  // the sum reads the embedding
}

TEST_CASE("frames stand around modules of several ops, and hold what lies between them") {
  const std::string dot = drawing(), block = frame_of(dot, "blocks.0");
  const std::string attention = frame_of(dot, "blocks.0.attn");
  CHECK(contains(block, "label=\"blocks.0\""));
  CHECK(contains(block, "norm: norm"));
  CHECK(contains(block, "cluster_blocks.0.attn"));
  CHECK(contains(attention, "label=\"attn\""));
  CHECK(contains(attention, "qkv: linear"));
  CHECK(contains(attention, "\"mix\\n"));
  CHECK(!contains(attention, "norm: norm"));
  CHECK(!contains(block, "\"sum\\n"));
  CHECK(!contains(dot, "cluster_blocks\""));
  CHECK(!contains(dot, "cluster_head"));
}
