// Reading ONNX files. onnx_file.cpp lists the fields.
#include <string>

#include "engine/base/error.h"
#include "engine/base/files.h"
#include "engine/formats/protobuf.h"
#include "export/onnx_file.h"

namespace fovea::onnx {
namespace {

/// Calls `read(field)` for each field of a message.
template <class Read>
void for_each_field(std::string_view message, const std::string& what, const Read& read) {
  ProtoReader reader(message, what);
  while (const std::optional<ProtoField> field = reader.next()) read(*field);
}

GraphProto decode_graph(std::string_view message, const std::string& what);

AttributeProto decode_attribute(std::string_view message, const std::string& what) {
  AttributeProto attribute;
  std::vector<std::int64_t> integers;
  bool is_list = false;
  for_each_field(message, what, [&](const ProtoField& field) {
    switch (field.number) {
      case 1:
        attribute.name = field.bytes;
        break;
      case 2:
        attribute.value = field.as_float();
        break;
      case 3:
        attribute.value = field.as_signed();
        break;
      case 4:
        attribute.value = std::string(field.bytes);
        break;
      case 6:
        attribute.value = std::make_shared<const GraphProto>(decode_graph(field.bytes, what));
        break;
      case 8:
        add_integers(field, integers);
        break;
      case 20:
        is_list = field.integer == 7;
        break;
      default:
        break;
    }
  });
  if (is_list) attribute.value = std::move(integers);
  return attribute;
}

NodeProto decode_node(std::string_view message, const std::string& what) {
  NodeProto node;
  for_each_field(message, what, [&](const ProtoField& field) {
    switch (field.number) {
      case 1:
        node.inputs.emplace_back(field.bytes);
        break;
      case 2:
        node.outputs.emplace_back(field.bytes);
        break;
      case 3:
        node.name = field.bytes;
        break;
      case 4:
        node.op = field.bytes;
        break;
      case 5:
        node.attributes.push_back(decode_attribute(field.bytes, what));
        break;
      default:
        break;
    }
  });
  return node;
}

DType held_as(ElementType type, const std::string& name) {
  switch (type) {
    case ElementType::f32:
      return DType::f32;
    case ElementType::f64:
      return DType::f64;
    case ElementType::i64:
      return DType::i64;
    case ElementType::u8:
    case ElementType::boolean:
      return DType::u8;
    default:
      fail("initializer ", name, " has element type ", static_cast<int>(type),
           ", expected one of those that onnx.h lists");
  }
}

TensorProto decode_initializer(std::string_view message, const std::string& what) {
  TensorProto initializer;
  std::vector<std::int64_t> sizes;
  std::string_view values;
  for_each_field(message, what, [&](const ProtoField& field) {
    switch (field.number) {
      case 1:
        add_integers(field, sizes);
        break;
      case 2:
        initializer.type = static_cast<ElementType>(field.integer);
        break;
      case 8:
        initializer.name = field.bytes;
        break;
      case 9:
        values = field.bytes;
        break;
      default:
        break;
    }
  });
  const Shape shape(sizes);
  const auto bytes = std::as_bytes(std::span(values));
  initializer.values = from_bytes(shape, held_as(initializer.type, initializer.name), bytes);
  return initializer;
}

/// A dimension; a shape and a type are messages of the same nesting, and so are read alike.
Dimension decode_dimension(std::string_view message, const std::string& what) {
  Dimension dimension = std::string();
  for_each_field(message, what, [&](const ProtoField& field) {
    if (field.number == 1) dimension = field.as_signed();
    if (field.number == 2) dimension = std::string(field.bytes);
  });
  return dimension;
}

void decode_tensor_type(std::string_view message, const std::string& what, ValueInfoProto& value) {
  for_each_field(message, what, [&](const ProtoField& field) {
    if (field.number == 1) value.type = static_cast<ElementType>(field.integer);
    if (field.number != 2) return;
    for_each_field(field.bytes, what, [&](const ProtoField& dimension) {
      value.shape.push_back(decode_dimension(dimension.bytes, what));
    });
  });
}

ValueInfoProto decode_value(std::string_view message, const std::string& what) {
  ValueInfoProto value;
  for_each_field(message, what, [&](const ProtoField& field) {
    if (field.number == 1) value.name = field.bytes;
    if (field.number == 3) value.description = field.bytes;
    if (field.number != 2) return;
    for_each_field(field.bytes, what, [&](const ProtoField& type) {
      if (type.number == 1) decode_tensor_type(type.bytes, what, value);
    });
  });
  return value;
}

GraphProto decode_graph(std::string_view message, const std::string& what) {
  GraphProto graph;
  for_each_field(message, what, [&](const ProtoField& field) {
    switch (field.number) {
      case 1:
        graph.nodes.push_back(decode_node(field.bytes, what));
        break;
      case 2:
        graph.name = field.bytes;
        break;
      case 5:
        graph.initializers.push_back(decode_initializer(field.bytes, what));
        break;
      case 11:
        graph.inputs.push_back(decode_value(field.bytes, what));
        break;
      case 12:
        graph.outputs.push_back(decode_value(field.bytes, what));
        break;
      default:
        break;
    }
  });
  return graph;
}

std::pair<std::string, std::string> decode_entry(std::string_view message,
                                                 const std::string& what) {
  std::pair<std::string, std::string> entry;
  for_each_field(message, what, [&](const ProtoField& field) {
    if (field.number == 1) entry.first = field.bytes;
    if (field.number == 2) entry.second = field.bytes;
  });
  return entry;
}

ModelProto decode_model(std::string_view message, const std::string& what) {
  ModelProto model;
  for_each_field(message, what, [&](const ProtoField& field) {
    switch (field.number) {
      case 3:
        model.producer_version = field.bytes;
        break;
      case 6:
        model.description = field.bytes;
        break;
      case 7:
        model.graph = decode_graph(field.bytes, what);
        break;
      case 8:
        for_each_field(field.bytes, what, [&](const ProtoField& opset) {
          if (opset.number == 2) model.opset = opset.as_signed();
        });
        break;
      case 14:
        model.metadata.push_back(decode_entry(field.bytes, what));
        break;
      default:
        break;
    }
  });
  return model;
}

}  // namespace

ModelProto read_model(const std::filesystem::path& path) {
  const InputFile file(path);
  const std::string content = file.text_at(0, file.size());
  return decode_model(content, path.string());
}

}  // namespace fovea::onnx
