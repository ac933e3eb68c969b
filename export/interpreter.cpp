// Running the nodes of a graph in their order.
#include "export/interpreter.h"

#include <utility>

#include "engine/autograd.h"
#include "engine/base/error.h"

namespace fovea::onnx {
namespace {

using Values = std::map<std::string, Tensor>;

OperatorTable all_operators() {
  OperatorTable all;
  for (const auto family : {arithmetic_operators, shape_operators, layer_operators}) {
    all.merge(family());
  }
  return all;
}

const Tensor& value_of(const Values& values, const std::string& name) {
  const auto found = values.find(name);
  check(found != values.end(), "reads ", name, ", which no earlier node computes");
  return found->second;
}

class Interpreter {
 public:
  Interpreter(const ModelProto& model, const Values& inputs) : model_(model), values_(inputs) {}

  std::vector<Tensor> run(const GraphProto& graph) {
    for (const TensorProto& one : graph.initializers) values_[one.name] = one.values;
    count_reads(graph);
    for (const NodeProto& node : graph.nodes) {
      with_context("onnx: node " + node.name + " (" + node.op + ")", [&] { run(node); });
    }
    std::vector<Tensor> outputs;
    for (const ValueInfoProto& output : graph.outputs) {
      outputs.push_back(value_of(values_, output.name));
    }
    return outputs;
  }

 private:
  /// How often a value is still read; those that a branch may read are kept.
  void count_reads(const GraphProto& graph) {
    for (const ValueInfoProto& output : graph.outputs) ++reads_[output.name];
    for (const NodeProto& node : graph.nodes) {
      for (const std::string& input : node.inputs) ++reads_[input];
      for (const AttributeProto& attribute : node.attributes) {
        const auto* const branch = std::get_if<std::shared_ptr<const GraphProto>>(&attribute.value);
        if (branch != nullptr) count_reads(**branch);
      }
    }
  }

  void run(const NodeProto& node) {
    Operands given{node, {}, model_.opset};
    for (const std::string& input : node.inputs) {
      given.inputs.push_back(input.empty() ? Tensor() : value_of(values_, input));
    }
    std::vector<Tensor> outputs = node.op == "If" ? run_branch(given) : compute(given);
    check(outputs.size() >= node.outputs.size(), "has ", node.outputs.size(), " outputs, expected ",
          outputs.size());
    for (std::size_t i = 0; i < node.outputs.size(); ++i) {
      values_[node.outputs[i]] = std::move(outputs[i]);
    }
    for (const std::string& input : node.inputs) {
      if (--reads_[input] == 0) values_.erase(input);
    }
  }

  static std::vector<Tensor> compute(const Operands& given) {
    const auto known = operators().find(given.node.op);
    check(known != operators().end(), "is an operator that is not known here");
    std::vector<Tensor> outputs = known->second(given);
    for (const AttributeProto& attribute : given.node.attributes) {
      check(given.read.contains(attribute.name), "has the attribute ", attribute.name,
            ", which is not known here");
    }
    return outputs;
  }

  std::vector<Tensor> run_branch(const Operands& given) {
    const char* const name = given[0].item() != 0 ? "then_branch" : "else_branch";
    const auto* const branch = given.node.attribute<std::shared_ptr<const GraphProto>>(name);
    check(branch != nullptr, "has no ", name);
    return run(**branch);
  }

  const ModelProto& model_;
  Values values_;
  std::map<std::string, int> reads_;
};

}  // namespace

const Tensor& Operands::operator[](std::size_t input) const {
  check(has(input), "has no input ", input);
  return inputs[input];
}

std::vector<std::int64_t> Operands::list(std::size_t input) const {
  const Tensor values = (*this)[input].contiguous();
  const auto* const first = values.data<std::int64_t>();
  return {first, first + values.numel()};
}

const OperatorTable& operators() {
  static const OperatorTable all = all_operators();
  return all;
}

std::vector<Tensor> run_model(const ModelProto& model,
                              const std::map<std::string, Tensor>& inputs) {
  const NoGrad no_grad;
  for (const ValueInfoProto& input : model.graph.inputs) {
    check(inputs.contains(input.name), "onnx: the input ", input.name, " is missing");
  }
  return Interpreter(model, inputs).run(model.graph);
}

}  // namespace fovea::onnx
