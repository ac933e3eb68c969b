// FORMAT: the messages of onnx.proto3 (https://github.com/onnx/onnx). Numbers of fields:
//   ModelProto     {1: ir_version, 2: producer_name, 3: producer_version, 6: doc_string,
//                   7: GraphProto, 8: OperatorSetIdProto {2: version}, 14: Entry}
//   Entry          {1: key, 2: value}
//   GraphProto     {1: NodeProto, 2: name, 5: TensorProto, 11: input, 12: output}
//   NodeProto      {1: input, 2: output, 3: name, 4: op_type, 5: AttributeProto}
//   AttributeProto {1: name, 2: f, 3: i, 4: s, 6: g, 8: ints, 20: type}
//   TensorProto    {1: dims, 2: data_type, 8: name, 9: raw_data}
//   ValueInfoProto {1: name, 2: TypeProto {1: {1: elem_type, 2: {1: {1: value | 2: name}}}}, 3:
//   doc}
#include "export/onnx_file.h"

#include <string>

#include "engine/base/error.h"
#include "engine/base/files.h"
#include "engine/formats/protobuf.h"

namespace fovea::onnx {
namespace {

constexpr int kIrVersion = 9;  // the newest of opset 20
enum AttributeType { kFloat = 1, kInt = 2, kString = 3, kGraph = 5, kInts = 7 };

std::size_t bytes_of(ElementType type) {
  switch (type) {
    case ElementType::f32:
      return 4;
    case ElementType::u8:
    case ElementType::boolean:
      return 1;
    default:
      return 8;
  }
}

ProtoMessage encode(const GraphProto& graph);

ProtoMessage encode(const AttributeProto& attribute) {
  ProtoMessage m;
  m.bytes(1, attribute.name);
  struct Encode {
    ProtoMessage& m;
    AttributeType operator()(std::int64_t value) { return m.integer(3, value), kInt; }
    AttributeType operator()(float value) { return m.real(2, value), kFloat; }
    AttributeType operator()(const std::string& value) { return m.bytes(4, value), kString; }
    AttributeType operator()(const std::vector<std::int64_t>& values) {
      for (const std::int64_t value : values) m.integer(8, value);
      return kInts;
    }
    AttributeType operator()(const std::shared_ptr<const GraphProto>& graph) {
      return m.message(6, encode(*graph)), kGraph;
    }
  };
  const AttributeType type = std::visit(Encode{m}, attribute.value);
  return m.integer(20, static_cast<int>(type));
}

ProtoMessage encode(const NodeProto& node) {
  ProtoMessage m;
  for (const std::string& input : node.inputs) m.bytes(1, input);
  for (const std::string& output : node.outputs) m.bytes(2, output);
  m.bytes(3, node.name).bytes(4, node.op);
  for (const AttributeProto& attribute : node.attributes) m.message(5, encode(attribute));
  return m;
}

ProtoMessage encode(const Dimension& dimension) {
  if (const auto* const size = std::get_if<std::int64_t>(&dimension)) {
    return ProtoMessage().integer(1, *size);
  }
  return ProtoMessage().bytes(2, std::get<std::string>(dimension));
}

ProtoMessage encode(const ValueInfoProto& value) {
  ProtoMessage shape, tensor, m;
  for (const Dimension& dimension : value.shape) shape.message(1, encode(dimension));
  tensor.integer(1, static_cast<int>(value.type)).message(2, shape);
  m.bytes(1, value.name).message(2, ProtoMessage().message(1, tensor));
  if (!value.description.empty()) m.bytes(3, value.description);
  return m;
}

/// All of a graph but its initializers.
ProtoMessage encode(const GraphProto& graph) {
  ProtoMessage m;
  for (const NodeProto& node : graph.nodes) m.message(1, encode(node));
  m.bytes(2, graph.name);
  for (const ValueInfoProto& input : graph.inputs) m.message(11, encode(input));
  for (const ValueInfoProto& output : graph.outputs) m.message(12, encode(output));
  return m;
}

std::uint64_t value_bytes(const TensorProto& initializer) {
  return static_cast<std::uint64_t>(initializer.values.numel()) * bytes_of(initializer.type);
}

/// An initializer up to its values.
ProtoMessage encode_head(const TensorProto& initializer) {
  ProtoMessage m;
  for (const std::int64_t size : initializer.values.shape()) m.integer(1, size);
  return m.integer(2, static_cast<int>(initializer.type))
      .bytes(8, initializer.name)
      .open(9, value_bytes(initializer));
}

/// An initializer as a field of its graph, up to its values.
std::string field_of(const TensorProto& initializer) {
  const ProtoMessage head = encode_head(initializer);
  const std::uint64_t size = head.encoded().size() + value_bytes(initializer);
  return ProtoMessage().open(5, size).encoded() + head.encoded();
}

ProtoMessage encode_head(const ModelProto& model) {
  ProtoMessage m;
  m.integer(1, kIrVersion).bytes(2, "fovea").bytes(3, model.producer_version);
  if (!model.description.empty()) m.bytes(6, model.description);
  m.message(8, ProtoMessage().bytes(1, "").integer(2, model.opset));
  for (const auto& [key, value] : model.metadata) {
    m.message(14, ProtoMessage().bytes(1, key).bytes(2, value));
  }
  return m;
}

std::uint64_t initializer_bytes(const GraphProto& graph) {
  std::uint64_t size = 0;
  for (const TensorProto& one : graph.initializers) size += field_of(one).size() + value_bytes(one);
  return size;
}

std::string stored_values(const TensorProto& initializer) {
  const Tensor values = initializer.values.detach().to(Device{}).contiguous();
  return {reinterpret_cast<const char*>(values.raw()), value_bytes(initializer)};
}

}  // namespace

ElementType element_type(DType dtype) {
  switch (dtype) {
    case DType::f32:
      return ElementType::f32;
    case DType::f64:
      return ElementType::f64;
    case DType::i64:
      return ElementType::i64;
    case DType::u8:
      return ElementType::u8;
    default:
      fail("onnx: got a tensor of ", dtype, ", expected f32, f64, i64 or u8");
  }
}

std::int64_t encoded_size(const ModelProto& model) {
  const std::uint64_t graph = encode(model.graph).encoded().size() + initializer_bytes(model.graph);
  return static_cast<std::int64_t>(encode_head(model).open(7, graph).encoded().size() + graph);
}

void write_model(NewFile& file, const ModelProto& model) {
  const std::string graph = encode(model.graph).encoded();
  const std::uint64_t size = graph.size() + initializer_bytes(model.graph);
  file.append(encode_head(model).open(7, size).encoded());
  file.append(graph);
  for (const TensorProto& initializer : model.graph.initializers) {
    file.append(field_of(initializer));
    file.append(stored_values(initializer));
  }
}

}  // namespace fovea::onnx
