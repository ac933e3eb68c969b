// Runs ONNX graphs, to check what was written by what it computes. Every operator that is written
// has a row in operators(); those that ops/ has too are computed by it.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "export/onnx.h"

namespace fovea::onnx {

/// A node with the values of its inputs.
struct Operands {
  const NodeProto& node;
  std::vector<Tensor> inputs;  ///< undefined: omitted
  std::int64_t opset;
  mutable std::set<std::string_view> read{};  ///< the attributes that were asked for

  [[nodiscard]] bool has(std::size_t input) const {
    return input < inputs.size() && inputs[input].defined();
  }
  /// Throws if the input is missing.
  [[nodiscard]] const Tensor& operator[](std::size_t input) const;
  /// The elements of an i64 input.
  [[nodiscard]] std::vector<std::int64_t> list(std::size_t input) const;
  /// An attribute's value, or the default if it is not set.
  template <class T>
  [[nodiscard]] T attribute(std::string_view name, T otherwise) const {
    read.insert(name);
    const T* const value = node.attribute<T>(name);
    return value != nullptr ? *value : otherwise;
  }
  [[nodiscard]] std::int64_t integer(std::string_view name, std::int64_t otherwise) const {
    return attribute<std::int64_t>(name, otherwise);
  }
};

using NodeOutputs = std::vector<Tensor>;
using Operator = NodeOutputs (*)(const Operands& given);
using OperatorTable = std::map<std::string_view, Operator>;

/// All operators but If, which Interpreter runs itself.
[[nodiscard]] const OperatorTable& operators();

// Their families, each in a file.
[[nodiscard]] OperatorTable arithmetic_operators();
[[nodiscard]] OperatorTable shape_operators();
[[nodiscard]] OperatorTable layer_operators();

/// A graph's inputs by name -> its outputs, in their order. Throws, naming the node, if an operator
/// or attribute is not known or its inputs do not fit.
[[nodiscard]] std::vector<Tensor> run_model(const ModelProto& model,
                                            const std::map<std::string, Tensor>& inputs);

}  // namespace fovea::onnx
