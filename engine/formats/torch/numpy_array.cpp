// numpy pickles an array as the call of a rebuild function followed by a state, or from protocol 5
// on as a single call.
#include "engine/formats/torch/numpy_array.h"

#include <utility>

#include "engine/base/error.h"
#include "engine/formats/torch/objects.h"

namespace fovea {
namespace {

/// The arguments of a call of the named function; null when the value is anything else.
const std::vector<PickleRef>* arguments_of(const Pickle& pickle, PickleRef ref,
                                           std::string_view function) {
  const PickleValue& call = pickle.at(ref);
  if (call.kind != PickleKind::call) return nullptr;
  const std::string& name = pickle.at(call.items[0]).text;
  return name.ends_with(function) ? &pickle.at(call.items[1]).items : nullptr;
}

/// The bytes behind a latin1 decoding: each character U+0000 to U+00FF becomes one byte. Empty
/// when there are other characters.
std::optional<std::string> latin1_of(std::string_view text) {
  std::string bytes;
  bytes.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto first = static_cast<unsigned char>(text[i]);
    if (first < 0x80) {
      bytes += text[i];
      continue;
    }
    if ((first & 0xFC) != 0xC0 || ++i == text.size()) return {};
    const auto second = static_cast<unsigned char>(text[i]);
    if ((second & 0xC0) != 0x80) return {};
    bytes += static_cast<char>((first & 0x03) << 6 | (second & 0x3F));
  }
  return bytes;
}

std::vector<std::int64_t> shape_of(const Pickle& pickle, PickleRef ref,
                                   const std::string& context) {
  const PickleValue& tuple = pickle.at(ref);
  check(tuple.kind == PickleKind::tuple, context, ": its shape is ", describe_value(pickle, ref));
  std::vector<std::int64_t> shape;
  for (const PickleRef item : tuple.items) {
    const PickleValue& size = pickle.at(item);
    check(size.kind == PickleKind::integer && size.integer >= 0, context,
          ": a size of its shape is ", describe_value(pickle, item), ", expected 0 or more");
    shape.push_back(size.integer);
  }
  return shape;
}

/// The components of a pickled array.
struct Parts {
  PickleRef shape, dtype, bytes;
  bool is_fortran;
};

std::optional<Parts> find_parts(const Pickle& pickle, PickleRef ref) {
  if (const auto* call = arguments_of(pickle, ref, ".numeric._frombuffer")) {
    if (call->size() < 4) return {};
    const std::vector<PickleRef>& parts = *call;  // bytes, type, shape, order
    return Parts{parts[2], parts[1], parts[0], pickle.at(parts[3]).text == "F"};
  }
  const auto state = pickle.states.find(ref);
  if (arguments_of(pickle, ref, ".multiarray._reconstruct") == nullptr ||
      state == pickle.states.end()) {
    return {};
  }
  const PickleValue& parts = pickle.at(state->second);  // version, shape, type, order, bytes
  if (parts.kind != PickleKind::tuple || parts.items.size() != 5) return {};
  return Parts{parts.items[1], parts.items[2], parts.items[4],
               pickle.at(parts.items[3]).integer != 0};
}

/// The name and the byte order of a type, as in "f4" and ">". Empty for other values.
std::optional<std::pair<std::string, std::string>> numpy_dtype_of(const Pickle& pickle,
                                                                  PickleRef ref) {
  const std::vector<PickleRef>* arguments = arguments_of(pickle, ref, "numpy.dtype");
  if (arguments == nullptr || arguments->empty()) return {};
  const std::string name = bytes_of(pickle, arguments->front()).value_or("");
  const auto state = pickle.states.find(ref);  // version, byte order, ...
  if (state == pickle.states.end() || pickle.at(state->second).items.size() < 2)
    return {{name, ""}};
  return {{name, bytes_of(pickle, pickle.at(state->second).items[1]).value_or("")}};
}

void require_u8(const Pickle& pickle, PickleRef dtype, const std::string& context) {
  const auto type = numpy_dtype_of(pickle, dtype);
  const std::string name = type ? type->first : "";
  check(name == "u1", context, ": is an array of ", name.empty() ? "an unknown type" : name,
        ", expected u1 (bytes)");
}

/// A tuple of sizes; empty for other values and shapes that cannot be held.
std::optional<Shape> sizes_of(const Pickle& pickle, PickleRef ref) {
  const PickleValue& tuple = pickle.at(ref);
  if (tuple.kind != PickleKind::tuple || std::ssize(tuple.items) > Shape::kMaxRank) return {};
  Shape shape;
  for (const PickleRef item : tuple.items) {
    const PickleValue& size = pickle.at(item);
    if (size.kind != PickleKind::integer || size.integer < 0) return {};
    shape.push_back(size.integer);
  }
  if (!is_holdable(shape)) return {};
  return shape;
}

}  // namespace

std::optional<NumpyArray> array_of(const Pickle& pickle, PickleRef ref) {
  const std::optional<Parts> parts = find_parts(pickle, ref);
  if (!parts) return {};
  const auto dtype = numpy_dtype_of(pickle, parts->dtype);
  const std::optional<StoredType> type = dtype ? numpy_type(dtype->first) : std::nullopt;
  const std::optional<Shape> shape = sizes_of(pickle, parts->shape);
  if (!type || !shape) return {};
  return NumpyArray{{*type, *shape, dtype->second == ">", parts->is_fortran}, parts->bytes};
}

std::optional<std::string> bytes_of(const Pickle& pickle, PickleRef ref) {
  const PickleValue& value = pickle.at(ref);
  if (value.kind == PickleKind::bytes || value.kind == PickleKind::text) return value.text;
  const auto* call = arguments_of(pickle, ref, "_codecs.encode");
  if (call == nullptr || call->size() != 2 || pickle.at((*call)[1]).text != "latin1") return {};
  return latin1_of(pickle.at((*call)[0]).text);
}

std::optional<PickleRef> find_key(const Pickle& pickle, PickleRef dictionary,
                                  std::string_view key) {
  const PickleValue& dict = pickle.at(dictionary);
  if (dict.kind != PickleKind::dict) return {};
  for (std::size_t i = 0; i + 1 < dict.items.size(); i += 2) {
    if (bytes_of(pickle, dict.items[i]) == key) return dict.items[i + 1];
  }
  return {};
}

NumpyBytes numpy_bytes_of(const Pickle& pickle, PickleRef ref, const std::string& context) {
  const std::optional<Parts> parts = find_parts(pickle, ref);
  check(parts.has_value(), context, ": is ", describe_value(pickle, ref),
        ", expected a NumPy array");
  require_u8(pickle, parts->dtype, context);
  NumpyBytes array{shape_of(pickle, parts->shape, context), {}};
  check(!parts->is_fortran || array.shape.size() < 2, context,
        ": is in Fortran order, expected C order (numpy.ascontiguousarray)");
  std::optional<std::string> bytes = bytes_of(pickle, parts->bytes);
  check(bytes.has_value(), context, ": its bytes are ", describe_value(pickle, parts->bytes));
  std::int64_t count = 1;
  bool overflow = false;
  for (const std::int64_t size : array.shape) {
    overflow = overflow || __builtin_mul_overflow(count, size, &count);
  }
  check(!overflow && static_cast<std::uint64_t>(count) == bytes->size(), context, ": has ",
        bytes->size(), " bytes, which does not match its shape");
  array.bytes = std::move(*bytes);
  return array;
}

}  // namespace fovea
