// From an op that ran to ONNX operators.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "export/graph_sizes.h"
#include "export/graph_writer.h"
#include "export/traced_graph.h"

namespace fovea::onnx {

/// The nodes of a whole traced graph: the place where each of its values is found.
class Lowerer {
 public:
  Lowerer(const TracedGraph& graph, GraphWriter& writer)
      : graph_(graph), writer_(writer), sizes_(writer) {}

  /// Lowers all calls. `inputs` are the names of the values that the graph's inputs are. Returns
  /// the names of its outputs. Throws, naming layer and op, if one has no row in lowerings().
  std::vector<std::string> lower(const std::vector<std::string>& inputs);

 private:
  friend class Call;

  /// The name of a value. A constant is stored when it is first read.
  std::string name_of(int value);
  void set_name(int value, const std::string& name);
  std::string store(const TracedValue& value, const std::string& name);
  std::string store_repeated(const TracedValue& value, const std::string& name);
  std::string batch_size();

  const TracedGraph& graph_;
  GraphWriter& writer_;
  GraphSizes sizes_;
  std::map<int, std::string> names_;
  std::string module_, batch_size_;
};

/// One op as its lowering sees it.
class Call {
 public:
  Call(Lowerer& lowerer, const TracedCall& call) : lowerer_(lowerer), call_(call) {}

  [[nodiscard]] GraphWriter& writer() const { return lowerer_.writer_; }
  [[nodiscard]] int input_count() const { return static_cast<int>(call_.inputs.size()); }
  [[nodiscard]] bool has(int input) const;
  /// The name of an input; empty if it is omitted.
  [[nodiscard]] std::string operator[](int input) const;
  [[nodiscard]] const TracedValue& value(int input) const;
  [[nodiscard]] const Shape& shape(int input) const { return value(input).tensor.shape(); }
  [[nodiscard]] const TracedValue& output() const;
  /// Says where an output other than the first one is.
  void name_output(int output, const std::string& name) const;
  /// A constant input; throws if it depends on the graph's input.
  [[nodiscard]] const Tensor& constant(int input) const;
  /// Stores what was computed from a constant input, under its name.
  [[nodiscard]] std::string store(int input, const Tensor& values) const;

  [[nodiscard]] bool has(std::string_view attribute) const;
  [[nodiscard]] std::int64_t integer(std::string_view attribute) const;
  [[nodiscard]] double real(std::string_view attribute) const;
  [[nodiscard]] std::string_view word(std::string_view attribute) const;
  [[nodiscard]] std::vector<std::int64_t> integers(std::string_view attribute) const;
  /// The integers of an attribute that may depend on the image's size.
  [[nodiscard]] std::vector<TracedSize> sizes(std::string_view attribute) const;
  /// Sizes of values, of which some may depend on the image's, as a list.
  [[nodiscard]] std::string list_of(const std::vector<TracedSize>& sizes) const {
    return lowerer_.sizes_.list_of(sizes);
  }

  // Short forms of what many lowerings write.

  /// A constant of the first input's type.
  [[nodiscard]] std::string number(double constant) const {
    return writer().number(constant, value(0).tensor.dtype());
  }

  [[nodiscard]] std::string node(const std::string& op, std::vector<std::string> inputs,
                                 GraphWriter::Attributes attributes = {}) const {
    return writer().node(op, std::move(inputs), std::move(attributes));
  }
  /// x in the shape of a value, whose axis of the batch is inferred.
  [[nodiscard]] std::string reshape(const std::string& x, const TracedValue& like) const;
  [[nodiscard]] std::string reshape(const std::string& x,
                                    const std::vector<std::int64_t>& sizes) const {
    return node("Reshape", {x, writer().integers(sizes)});
  }
  [[nodiscard]] std::string transpose(const std::string& x,
                                      const std::vector<std::int64_t>& order) const {
    return node("Transpose", {x}, {{"perm", order}});
  }
  [[nodiscard]] std::string unsqueeze(const std::string& x, std::int64_t axis) const {
    return node("Unsqueeze", {x, writer().integers({axis})});
  }
  /// ReduceMean and its kin.
  [[nodiscard]] std::string reduce(const std::string& op, const std::string& x,
                                   const std::vector<std::int64_t>& axes, bool keepdim) const;
  /// Positions start, start + step, ... below stop.
  [[nodiscard]] std::string slice(const std::string& x, std::int64_t axis, TracedSize start,
                                  TracedSize stop, std::int64_t step = 1) const;

 private:
  [[nodiscard]] const OpAttribute* find(std::string_view attribute) const;
  /// Throws if there is no such attribute, or if it depends on the image's size.
  [[nodiscard]] const OpAttribute& at(std::string_view attribute) const;

  Lowerer& lowerer_;
  const TracedCall& call_;
};

/// GELU of x in the form that the op names: an operator from opset 20 on, before that
/// x / 2 (1 + erf(x / sqrt 2)) or the approximation by tanh.
[[nodiscard]] std::string gelu(const Call& op, const std::string& x);

/// Writes the nodes of an op; returns the name of its output.
using Lowering = std::string (*)(const Call& op);

/// The lowerings by the name of the op. All families' tables in one.
[[nodiscard]] const std::map<std::string_view, Lowering>& lowerings();

// The families, each in a file.
using LoweringTable = std::map<std::string_view, Lowering>;
[[nodiscard]] LoweringTable elementwise_lowerings();
[[nodiscard]] LoweringTable view_lowerings();
[[nodiscard]] LoweringTable indexing_lowerings();
[[nodiscard]] LoweringTable product_lowerings();
[[nodiscard]] LoweringTable attention_lowerings();
[[nodiscard]] LoweringTable norm_lowerings();
[[nodiscard]] LoweringTable map_lowerings();

}  // namespace fovea::onnx
