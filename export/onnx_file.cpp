// FORMAT: the messages of onnx.proto3 (https://github.com/onnx/onnx). Numbers of fields:
//   ModelProto     {1: ir_version, 2: producer_name, 3: producer_version, 6: doc_string,
//                   7: GraphProto, 8: OperatorSetIdProto {2: version}, 14: Entry}
//   Entry          {1: key, 2: value}
//   GraphProto     {1: NodeProto, 2: name, 5: TensorProto, 11: input, 12: output}
//   NodeProto      {1: input, 2: output, 3: name, 4: op_type, 5: AttributeProto}
//   AttributeProto {1: name, 2: f, 3: i, 4: s, 6: g, 8: ints, 20: type}
//   TensorProto    {1: dims, 2: data_type, 8: name, 9: raw_data | 13: Entry, 14: 1 for external}
//   ValueInfoProto {1: name, 2: TypeProto {1: {1: elem_type, 2: {1: {1: value | 2: name}}}}, 3:
//   doc}
#include "export/onnx_file.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <string>

#include "engine/base/error.h"
#include "engine/base/files.h"
#include "engine/formats/protobuf.h"

namespace fovea::onnx {
namespace {

constexpr int kIrVersion = 9;  // the newest of opset 20
enum AttributeType { kFloat = 1, kInt = 2, kString = 3, kGraph = 5, kInts = 7 };

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
  return static_cast<std::uint64_t>(initializer.values.numel()) *
         size_of(stored_type(initializer.type));
}

/// An initializer without its values.
ProtoMessage encode_form(const TensorProto& initializer) {
  ProtoMessage m;
  for (const std::int64_t size : initializer.values.shape()) m.integer(1, size);
  return m.integer(2, static_cast<int>(initializer.type)).bytes(8, initializer.name);
}

/// An initializer as a field of its graph, up to its values.
std::string field_of(const TensorProto& initializer) {
  const ProtoMessage head = encode_form(initializer).open(9, value_bytes(initializer));
  const std::uint64_t size = head.encoded().size() + value_bytes(initializer);
  return ProtoMessage().open(5, size).encoded() + head.encoded();
}

/// An initializer as a field of its graph, with its values in another file.
std::string field_beside(const TensorProto& initializer, const std::string& file,
                         std::uint64_t offset) {
  ProtoMessage m = encode_form(initializer);
  const auto entry = [&](const char* key, const std::string& value) {
    m.message(13, ProtoMessage().bytes(1, key).bytes(2, value));
  };
  entry("location", file);
  entry("offset", std::to_string(offset));
  entry("length", std::to_string(value_bytes(initializer)));
  return ProtoMessage().message(5, m.integer(14, 1)).encoded();
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

/// The bits of f16, rounded to nearest even; finite in, and at most kMaxHalf.
std::uint16_t half_of(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t sign = bits >> 16 & 0x8000u, magnitude = bits & 0x7fffffffu;
  if (magnitude < 0x38800000u) {  // below 2^-14: multiples of 2^-24
    const float steps = std::nearbyint(std::bit_cast<float>(magnitude) * 0x1p24F);
    return static_cast<std::uint16_t>(sign | static_cast<std::uint32_t>(steps));
  }
  const std::uint32_t rounded = magnitude + 0xfffu + (magnitude >> 13 & 1u);
  return static_cast<std::uint16_t>(sign | (rounded - (112u << 23)) >> 13);
}

std::string stored_values(const TensorProto& initializer) {
  const Tensor values = initializer.values.detach().to(Device{}).contiguous();
  std::string bytes(value_bytes(initializer), '\0');
  if (initializer.type != ElementType::f16) {
    std::memcpy(bytes.data(), values.raw(), bytes.size());
    return bytes;
  }
  for (std::int64_t i = 0; i < values.numel(); ++i) {
    const std::uint16_t half = half_of(values.data<float>()[i]);
    std::memcpy(bytes.data() + 2 * i, &half, sizeof half);
  }
  return bytes;
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

StoredType stored_type(ElementType type) {
  switch (type) {
    case ElementType::f32:
      return StoredType::f32;
    case ElementType::u8:
      return StoredType::u8;
    case ElementType::i64:
      return StoredType::i64;
    case ElementType::boolean:
      return StoredType::boolean;
    case ElementType::f16:
      return StoredType::f16;
    case ElementType::f64:
      return StoredType::f64;
  }
  fail("onnx: got element type ", static_cast<int>(type),
       ", expected f32, f64, f16, i64, u8 or bool");
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

void write_model(NewFile& file, const ModelProto& model, const WeightsBeside& beside) {
  constexpr std::uint64_t kSmall = 1024, kAligned = 4096;  // whole pages can be mapped
  std::string graph = encode(model.graph).encoded();
  std::uint64_t end = 0;
  for (const TensorProto& initializer : model.graph.initializers) {
    if (value_bytes(initializer) <= kSmall) {
      graph += field_of(initializer) + stored_values(initializer);
      continue;
    }
    const std::uint64_t offset = (end + kAligned - 1) / kAligned * kAligned;
    beside.file.write_at(offset, stored_values(initializer));
    end = offset + value_bytes(initializer);
    graph += field_beside(initializer, beside.name, offset);
  }
  file.append(encode_head(model).open(7, graph.size()).encoded());
  file.append(graph);
}

}  // namespace fovea::onnx
