// Building an ONNX graph node by node.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "export/onnx.h"

namespace fovea::onnx {

/// Adds nodes in the order in which they run. A node's name is a path and its operator,
/// "blocks.0.attn.qkv/MatMul"; its first output has the same name.
class GraphWriter {
 public:
  using Attributes = std::vector<AttributeProto>;

  explicit GraphWriter(std::int64_t opset) : opset_(opset) {}

  [[nodiscard]] std::int64_t opset() const { return opset_; }
  /// The path of the nodes that follow.
  void enter(std::string path) { path_ = std::move(path); }

  /// Adds a node; returns its output.
  std::string node(const std::string& op, std::vector<std::string> inputs,
                   Attributes attributes = {});
  /// Adds a node with several outputs.
  std::vector<std::string> nodes(const std::string& op, std::vector<std::string> inputs,
                                 int outputs, Attributes attributes = {});

  /// A contiguous tensor under that name, or a longer one if another tensor has it. An equal tensor
  /// that had the name is not written again.
  std::string constant(const std::string& name, const Tensor& values);
  /// Small constants, named after their values: scalars, and lists of i64.
  std::string number(double value, DType type);
  std::string real(double value) { return number(value, DType::f32); }
  std::string integer(std::int64_t value);
  std::string integers(const std::vector<std::int64_t>& values);

  /// A graph whose only output, of that type and shape, is the value that `write` returns. It may
  /// read all values before it; its constants belong to this graph.
  std::shared_ptr<const GraphProto> branch(ValueInfoProto output,
                                           const std::function<std::string()>& write);

  void input(ValueInfoProto info) { graph_.inputs.push_back(std::move(info)); }
  /// Adds a graph output: the value of that node under the name of the output.
  void output(ValueInfoProto info, const std::string& value);

  [[nodiscard]] GraphProto graph(std::string name) &&;

 private:
  [[nodiscard]] std::string unused(const std::string& name);
  std::string small_constant(const std::string& name, const Tensor& values);

  std::int64_t opset_;
  std::string path_;
  GraphProto graph_;
  std::set<std::string> names_;
  std::map<std::string, Tensor> constants_;
};

}  // namespace fovea::onnx
