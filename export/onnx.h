// What an ONNX file says: a graph of operators on named values, the weights, and text about both.
// Names follow onnx.proto3. (https://onnx.ai/onnx/repo-docs/IR.html)
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "engine/formats/stored_type.h"
#include "engine/tensor.h"

namespace fovea::onnx {

/// TensorProto.DataType, as far as it is written here. Tensors hold booleans as u8, f16 as f32.
enum class ElementType : std::int32_t { f32 = 1, u8 = 2, i64 = 7, boolean = 9, f16 = 10, f64 = 11 };

/// The type of a tensor's elements. Throws for bf16.
[[nodiscard]] ElementType element_type(DType dtype);
/// The same type in files of weights. Throws if it is not one of the above.
[[nodiscard]] StoredType stored_type(ElementType type);

struct GraphProto;

struct AttributeProto {
  using Value = std::variant<std::int64_t, float, std::string, std::vector<std::int64_t>,
                             std::shared_ptr<const GraphProto>>;
  std::string name;
  Value value;
};

/// One application of an operator. An empty name among the inputs is an omitted optional one.
struct NodeProto {
  std::string name, op;
  std::vector<std::string> inputs, outputs;
  std::vector<AttributeProto> attributes{};

  /// The attribute's value; null if it is not set.
  template <class T>
  [[nodiscard]] const T* attribute(std::string_view named) const {
    for (const AttributeProto& a : attributes) {
      if (a.name == named) return std::get_if<T>(&a.value);
    }
    return nullptr;
  }
};

/// A size, or the name of one that differs from call to call.
using Dimension = std::variant<std::int64_t, std::string>;

/// An input or output of the graph.
struct ValueInfoProto {
  std::string name;
  ElementType type = ElementType::f32;
  std::vector<Dimension> shape;
  std::string description{};
};

/// A constant of the graph, such as a weight.
struct TensorProto {
  std::string name;
  Tensor values;
  ElementType type = ElementType::f32;  ///< in the file
};

/// Nodes are in an order in which they can run.
struct GraphProto {
  std::string name;
  std::vector<NodeProto> nodes;
  std::vector<TensorProto> initializers;
  std::vector<ValueInfoProto> inputs, outputs;
};

/// A whole file: ModelProto.
struct ModelProto {
  GraphProto graph;
  std::int64_t opset = 20;
  std::string producer_version, description;
  std::vector<std::pair<std::string, std::string>> metadata;
};

}  // namespace fovea::onnx
