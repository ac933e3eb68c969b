// Tracing a pass, lowering it, and running the result.
#include "export/export_model.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "engine/autograd.h"
#include "engine/random.h"
#include "export/interpreter.h"
#include "export/lowering.h"
#include "ops/arithmetic.h"
#include "ops/reduce.h"

namespace fovea {
namespace {

onnx::ValueInfoProto value_info(const PassValue& named, const TracedValue& value) {
  onnx::ValueInfoProto info{
      named.name, onnx::element_type(value.tensor.dtype()), {}, named.description};
  for (int axis = 0; axis < value.tensor.rank(); ++axis) {
    if (axis == value.batch_axis) {
      info.shape.emplace_back("batch");
    } else {
      info.shape.emplace_back(value.tensor.size(axis));
    }
  }
  return info;
}

const TracedValue& at(const TracedGraph& graph, int value) {
  return graph.values[static_cast<std::size_t>(value)];
}

/// Random numbers in the form of an example, `count` times.
Tensor random_like(const Tensor& example, std::int64_t count, std::uint64_t seed) {
  Shape shape = example.shape();
  shape[0] = count;
  return rand_normal(shape, {0, 1}, {seed}).to(example.dtype());
}

double norm(const Tensor& x) { return std::sqrt(ops::sum(ops::mul(x, x)).item()); }

}  // namespace

onnx::ModelProto export_pass(const ExportedPass& pass, const std::string& name,
                             const ExportSettings& settings) {
  const TracedGraph traced = trace_forward(pass.examples, pass.forward);
  onnx::GraphWriter writer(settings.opset);
  std::vector<std::string> inputs;
  for (std::size_t i = 0; i < pass.inputs.size(); ++i) {
    writer.input(value_info(pass.inputs[i], at(traced, traced.inputs[i])));
    inputs.push_back(pass.inputs[i].name);
  }
  const std::vector<std::string> outputs = onnx::Lowerer(traced, writer).lower(inputs);
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    writer.output(value_info(pass.outputs[i], at(traced, traced.outputs[i])), outputs[i]);
  }
  return {std::move(writer).graph(name), settings.opset, settings.version, {}, settings.metadata};
}

ExportDifference difference_of(const onnx::ModelProto& written, const ExportedPass& pass,
                               std::int64_t count) {
  const NoGrad no_grad;
  std::vector<Tensor> inputs;
  std::map<std::string, Tensor> named;
  for (std::size_t i = 0; i < pass.inputs.size(); ++i) {
    inputs.push_back(random_like(pass.examples[i], count, i));
    named[pass.inputs[i].name] = inputs.back();
  }
  const std::vector<Tensor> expected = pass.forward(inputs), got = run_model(written, named);
  ExportDifference difference;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const Tensor b = expected[i].to(DType::f64), off = ops::sub(got[i].to(DType::f64), b);
    const double largest = ops::amax(ops::abs(off)).item();
    difference.largest = std::max(difference.largest, largest);
    difference.relative = std::max(difference.relative, norm(off) / std::max(norm(b), 1e-30));
  }
  return difference;
}

}  // namespace fovea
