// How the interpreter runs graphs, and what it says of those that do not fit. Operators are tested
// by the models that use them.
#include "export/interpreter.h"

#include <doctest/doctest.h>

#include <memory>

#include "tests/support/errors.h"

using namespace fovea;
using namespace fovea::onnx;

namespace {

ModelProto graph_of(std::vector<NodeProto> nodes) {
  ModelProto model;
  model.graph.nodes = std::move(nodes);
  model.graph.inputs = {{"x", ElementType::f32, {}}};
  model.graph.outputs = {{"y", ElementType::f32, {}}};
  return model;
}

}  // namespace

TEST_CASE("a branch is taken by its condition and reads the values around it") {
  const auto branch = [](const char* op) {
    auto graph = std::make_shared<GraphProto>();
    graph->nodes = {{op, op, {"x", "x"}, {"z"}}};
    graph->outputs = {{"z", ElementType::f32, {}}};
    return std::shared_ptr<const GraphProto>(graph);
  };
  const ModelProto model =
      graph_of({{"c", "Greater", {"zero", "x"}, {"is_negative"}},
                {"if",
                 "If",
                 {"is_negative"},
                 {"y"},
                 {{"then_branch", branch("Sub")}, {"else_branch", branch("Mul")}}}});
  ModelProto with_zero = model;
  with_zero.graph.initializers = {{"zero", scalar(0), ElementType::f32}};
  CHECK(run_model(with_zero, {{"x", scalar(-3)}}).at(0).item() == 0);
  CHECK(run_model(with_zero, {{"x", scalar(3)}}).at(0).item() == 9);
}

TEST_CASE("running sums begin with the first element, in the order of the elements") {
  const auto sums = [](std::vector<AttributeProto> attributes) {
    ModelProto model = graph_of({{"n", "CumSum", {"x", "axis"}, {"y"}, std::move(attributes)}});
    model.graph.initializers = {{"axis", scalar(0, {DType::i64, {}}), ElementType::i64}};
    return run_model(model, {{"x", from_values({4}, {0.5, 2, -3, 1})}}).at(0).to_vector();
  };
  CHECK(sums({}) == std::vector<double>{0.5, 2.5, -0.5, 0.5});
  tests::check_error([&] { (void)sums({{"reverse", std::int64_t{1}}}); }, "reverse");
}

TEST_CASE("a graph that cannot run is an error that names the node") {
  tests::check_error([] { (void)run_model(graph_of({}), {}); }, "the input x is missing");
  tests::check_error(
      [] {
        (void)run_model(graph_of({{"a/Loop", "Loop", {"x"}, {"y"}}}), {{"x", scalar(1)}});
      },
      "onnx: node a/Loop (Loop): is an operator that is not known here");
  tests::check_error(
      [] {
        (void)run_model(graph_of({{"n", "Relu", {"later"}, {"y"}}}), {{"x", scalar(1)}});
      },
      "onnx: node n (Relu): reads later, which no earlier node computes");
  tests::check_error(
      [] {
        (void)run_model(graph_of({{"n", "Relu", {}, {"y"}}}), {{"x", scalar(1)}});
      },
      "node n (Relu): has no input 0");
}
