// Reading ONNX files. onnx_file.cpp lists the fields.
#include <cstring>
#include <map>
#include <string>

#include "engine/base/error.h"
#include "engine/base/files.h"
#include "engine/base/text.h"
#include "engine/formats/metadata.h"
#include "engine/formats/protobuf.h"
#include "export/onnx_file.h"

namespace fovea::onnx {
namespace {

/// The file that is read.
struct OnnxSource {
  std::filesystem::path path, weights;
  [[nodiscard]] std::string name() const { return path.string(); }
};

/// Calls `read(field)` for each field of a message.
template <class Read>
void for_each_field(std::string_view message, const OnnxSource& from, const Read& read) {
  ProtoReader reader(message, from.name());
  while (const std::optional<ProtoField> field = reader.next()) read(*field);
}

GraphProto decode_graph(std::string_view message, const OnnxSource& from);

AttributeProto decode_attribute(std::string_view message, const OnnxSource& from) {
  AttributeProto attribute;
  std::vector<std::int64_t> integers;
  bool is_list = false;
  for_each_field(message, from, [&](const ProtoField& field) {
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
        attribute.value = std::make_shared<const GraphProto>(decode_graph(field.bytes, from));
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

NodeProto decode_node(std::string_view message, const OnnxSource& from) {
  NodeProto node;
  for_each_field(message, from, [&](const ProtoField& field) {
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
        node.attributes.push_back(decode_attribute(field.bytes, from));
        break;
      default:
        break;
    }
  });
  return node;
}

std::pair<std::string, std::string> decode_entry(std::string_view message, const OnnxSource& from) {
  std::pair<std::string, std::string> entry;
  for_each_field(message, from, [&](const ProtoField& field) {
    if (field.number == 1) entry.first = field.bytes;
    if (field.number == 2) entry.second = field.bytes;
  });
  return entry;
}

/// Where the values of an initializer are.
struct ValuePlace {
  std::string_view inside;
  std::map<std::string, std::string> outside;  ///< location, offset, length; empty: they are inside
};

/// Copies the values; those of another file come from the folder of the model.
void read_values(const ValuePlace& place, const OnnxSource& from, std::span<std::byte> into) {
  if (place.outside.empty()) {
    check(place.inside.size() == into.size(), from.name(), ": has ", place.inside.size(),
          " bytes of values, expected ", into.size());
    std::memcpy(into.data(), place.inside.data(), into.size());
    return;
  }
  const std::string location = value_or(place.outside, "location", "");
  check(!location.empty() && location.find('/') == std::string::npos, from.name(),
        ": its weights are in ", location, ", expected a file in the same folder");
  const std::int64_t offset = parse_integer(value_or(place.outside, "offset", "0")).value_or(-1);
  check(offset >= 0, from.name(), ": weights at a negative offset in ", location);
  InputFile(from.weights.empty() ? from.path.parent_path() / location : from.weights)
      .read_at(static_cast<std::uint64_t>(offset), into);
}

TensorProto decode_initializer(std::string_view message, const OnnxSource& from) {
  TensorProto initializer;
  std::vector<std::int64_t> sizes;
  ValuePlace place;
  for_each_field(message, from, [&](const ProtoField& field) {
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
        place.inside = field.bytes;
        break;
      case 13:
        place.outside.insert(decode_entry(field.bytes, from));
        break;
      default:
        break;
    }
  });
  const StoredEntry entry{initializer.name, stored_type(initializer.type), Shape(sizes)};
  const auto read = [&](std::span<std::byte> into) { read_values(place, from, into); };
  initializer.values = read_stored(entry, read, from.name());
  return initializer;
}

/// A dimension; a shape and a type are messages of the same nesting, and so are read alike.
Dimension decode_dimension(std::string_view message, const OnnxSource& from) {
  Dimension dimension = std::string();
  for_each_field(message, from, [&](const ProtoField& field) {
    if (field.number == 1) dimension = field.as_signed();
    if (field.number == 2) dimension = std::string(field.bytes);
  });
  return dimension;
}

void decode_tensor_type(std::string_view message, const OnnxSource& from, ValueInfoProto& value) {
  for_each_field(message, from, [&](const ProtoField& field) {
    if (field.number == 1) value.type = static_cast<ElementType>(field.integer);
    if (field.number != 2) return;
    for_each_field(field.bytes, from, [&](const ProtoField& dimension) {
      value.shape.push_back(decode_dimension(dimension.bytes, from));
    });
  });
}

ValueInfoProto decode_value(std::string_view message, const OnnxSource& from) {
  ValueInfoProto value;
  for_each_field(message, from, [&](const ProtoField& field) {
    if (field.number == 1) value.name = field.bytes;
    if (field.number == 3) value.description = field.bytes;
    if (field.number != 2) return;
    for_each_field(field.bytes, from, [&](const ProtoField& type) {
      if (type.number == 1) decode_tensor_type(type.bytes, from, value);
    });
  });
  return value;
}

GraphProto decode_graph(std::string_view message, const OnnxSource& from) {
  GraphProto graph;
  for_each_field(message, from, [&](const ProtoField& field) {
    switch (field.number) {
      case 1:
        graph.nodes.push_back(decode_node(field.bytes, from));
        break;
      case 2:
        graph.name = field.bytes;
        break;
      case 5:
        graph.initializers.push_back(decode_initializer(field.bytes, from));
        break;
      case 11:
        graph.inputs.push_back(decode_value(field.bytes, from));
        break;
      case 12:
        graph.outputs.push_back(decode_value(field.bytes, from));
        break;
      default:
        break;
    }
  });
  return graph;
}

ModelProto decode_model(std::string_view message, const OnnxSource& from) {
  ModelProto model;
  for_each_field(message, from, [&](const ProtoField& field) {
    switch (field.number) {
      case 3:
        model.producer_version = field.bytes;
        break;
      case 6:
        model.description = field.bytes;
        break;
      case 7:
        model.graph = decode_graph(field.bytes, from);
        break;
      case 8:
        for_each_field(field.bytes, from, [&](const ProtoField& opset) {
          if (opset.number == 2) model.opset = opset.as_signed();
        });
        break;
      case 14:
        model.metadata.push_back(decode_entry(field.bytes, from));
        break;
      default:
        break;
    }
  });
  return model;
}

}  // namespace

ModelProto read_model(const std::filesystem::path& path, const std::filesystem::path& weights) {
  const InputFile file(path);
  const std::string content = file.text_at(0, file.size());
  return decode_model(content, {path, weights});
}

}  // namespace fovea::onnx
