// Parses the arguments of PyTorch's rebuild functions and checks storage bounds.
#include "engine/formats/torch/objects.h"

#include <array>
#include <limits>
#include <string_view>

#include "engine/base/error.h"
#include "engine/base/json.h"

namespace fovea {
namespace {

/// PyTorch's keys are numbers. A million values may name the same text, and each holds a copy.
constexpr std::size_t kLongestKey = 100;

struct TypeName {
  std::string_view storage, dtype;
  StoredType type;
};

/// Types without their own storage class use UntypedStorage.
constexpr std::array<TypeName, 15> kTypeNames = {{{"DoubleStorage", "float64", StoredType::f64},
                                                  {"FloatStorage", "float32", StoredType::f32},
                                                  {"HalfStorage", "float16", StoredType::f16},
                                                  {"BFloat16Storage", "bfloat16", StoredType::bf16},
                                                  {"LongStorage", "int64", StoredType::i64},
                                                  {"IntStorage", "int32", StoredType::i32},
                                                  {"ShortStorage", "int16", StoredType::i16},
                                                  {"CharStorage", "int8", StoredType::i8},
                                                  {"ByteStorage", "uint8", StoredType::u8},
                                                  {"BoolStorage", "bool", StoredType::boolean},
                                                  {"", "uint16", StoredType::u16},
                                                  {"", "uint32", StoredType::u32},
                                                  {"", "uint64", StoredType::u64},
                                                  {"", "float8_e4m3fn", StoredType::f8_e4m3},
                                                  {"", "float8_e5m2", StoredType::f8_e5m2}}};

/// "torch.FloatStorage" or, in older files, "torch.cuda.FloatStorage".
std::optional<StoredType> type_of_storage(std::string_view name) {
  for (const TypeName& entry : kTypeNames) {
    if (entry.storage.empty() || !name.ends_with(entry.storage)) continue;
    const std::string_view module = name.substr(0, name.size() - entry.storage.size());
    if (module == "torch." || module == "torch.cuda.") return entry.type;
  }
  return {};
}

std::optional<StoredType> type_of_dtype(std::string_view name) {
  for (const TypeName& entry : kTypeNames) {
    if (name.starts_with("torch.") && name.substr(6) == entry.dtype) return entry.type;
  }
  return {};
}

/// Reads the arguments of a call, or the parts of a persistent id, by position.
class Arguments {
 public:
  Arguments(const Pickle& pickle, const PickleValue& tuple, const std::string& context)
      : pickle_(pickle), tuple_(tuple), context_(context) {}

  [[nodiscard]] std::size_t size() const { return tuple_.items.size(); }
  [[nodiscard]] PickleRef ref(std::size_t i) const {
    check(i < size(), context_, ": is built from ", size(), " values, expected more");
    return tuple_.items[i];
  }
  [[nodiscard]] const PickleValue& of(std::size_t i, PickleKind kind, std::string_view what) const {
    const PickleValue& value = pickle_.at(ref(i));
    check(value.kind == kind, context_, ": its ", what, " is ", describe_value(pickle_, ref(i)));
    return value;
  }
  [[nodiscard]] std::int64_t count(std::size_t i, std::string_view what) const {
    const std::int64_t value = of(i, PickleKind::integer, what).integer;
    check(value >= 0, context_, ": its ", what, " is ", value);
    return value;
  }
  /// A tuple, or a torch.Size made from one.
  [[nodiscard]] Shape sizes(std::size_t i, std::string_view what) const {
    PickleRef at = ref(i);
    const PickleValue& call = pickle_.at(at);
    if (call.kind == PickleKind::call && pickle_.at(call.items[0]).text == "torch.Size") {
      const PickleValue& arguments = pickle_.at(call.items[1]);
      if (arguments.items.size() == 1) at = arguments.items[0];
    }
    const PickleValue& tuple = pickle_.at(at);
    check(tuple.kind == PickleKind::tuple, context_, ": its ", what, " is ",
          describe_value(pickle_, at));
    check(tuple.items.size() <= Shape::kMaxRank, context_, ": its ", what, " has ",
          tuple.items.size(), " axes, expected at most ", Shape::kMaxRank);
    Shape shape;
    const Arguments numbers(pickle_, tuple, context_);
    for (std::size_t axis = 0; axis < numbers.size(); ++axis) {
      shape.push_back(numbers.count(axis, what));
    }
    return shape;
  }

 private:
  const Pickle& pickle_;
  const PickleValue& tuple_;
  const std::string& context_;
};

/// A function and its arguments.
struct Call {
  std::string_view name;  ///< empty if a value is not a call
  const PickleValue* arguments = nullptr;
};

/// The call that makes a value. For a tensor with attributes or of a class of its own, it is the
/// inner one of _rebuild_from_type_v2(function, class, arguments, state).
Call call_of(const Pickle& pickle, PickleRef ref) {
  const PickleValue& value = pickle.at(ref);
  if (value.kind != PickleKind::call) return {};
  const Call call{pickle.at(value.items[0]).text, &pickle.at(value.items[1])};
  if (call.name != "torch._tensor._rebuild_from_type_v2") return call;
  const std::vector<PickleRef>& parts = call.arguments->items;
  if (parts.size() < 3 || pickle.at(parts[2]).kind != PickleKind::tuple) return call;
  return {pickle.at(parts[0]).text, &pickle.at(parts[2])};
}

/// The name of the function that a value is a call of; empty if it is not a call.
std::string_view called(const Pickle& pickle, PickleRef ref) { return call_of(pickle, ref).name; }

const PickleValue& arguments_of(const Pickle& pickle, PickleRef call) {
  return *call_of(pickle, call).arguments;
}

bool is_parameter_call(std::string_view name) {
  return name == "torch._utils._rebuild_parameter" ||
         name == "torch._utils._rebuild_parameter_with_state";
}

bool is_tensor_call(std::string_view name) {
  return name == "torch._utils._rebuild_tensor" || name == "torch._utils._rebuild_tensor_v2" ||
         name == "torch._utils._rebuild_tensor_v3";
}

/// Sets `first` and `last`; throws when they lie outside of the storage.
void locate(TorchTensor& tensor, std::int64_t offset, const std::string& context) {
  check(tensor.strides.rank() == tensor.shape.rank(), context, ": has the shape ", tensor.shape,
        " and the strides ", tensor.strides);
  std::int64_t count = 1, largest = 1;  // `largest`: the count with sizes of 0 taken as 1
  bool overflow = false;
  for (const std::int64_t size : tensor.shape) {
    overflow |= __builtin_mul_overflow(largest, std::max<std::int64_t>(size, 1), &largest);
    count = overflow ? 1 : count * size;
  }
  check(!overflow && largest <= std::numeric_limits<std::int64_t>::max() / 8, context,
        ": has the shape ", tensor.shape, ", which needs more bytes than 64 bits can count");
  tensor.first = offset;
  tensor.last = offset - 1;
  if (count == 0) return;
  const auto range = element_range(tensor.shape, tensor.strides, offset);
  const std::uint64_t capacity = tensor.storage.bytes / size_of(tensor.type);
  check(range && static_cast<std::uint64_t>(range->second) < capacity, context, ": of shape ",
        tensor.shape, " with the strides ", tensor.strides, " from element ", offset,
        " reaches beyond a storage of ", capacity, " elements");
  tensor.last = range->second;
}

/// _rebuild_tensor(storage, offset, sizes, strides); _v2 appends (requires_grad, hooks, metadata),
/// _v3 (requires_grad, hooks, dtype, metadata).
TorchTensor rebuild_tensor(const Pickle& pickle, PickleRef call, const std::string& context) {
  const Arguments arguments(pickle, arguments_of(pickle, call), context);
  const bool is_v3 = called(pickle, call).ends_with("_v3");
  const auto storage = storage_of(pickle, arguments.ref(0), context);
  check(storage.has_value(), context, ": its storage is ",
        describe_value(pickle, arguments.ref(0)));
  TorchTensor tensor;
  tensor.storage = *storage;
  std::optional<StoredType> type = storage->type;
  if (is_v3) {
    const std::string& dtype = arguments.of(6, PickleKind::global, "dtype").text;
    type = type_of_dtype(dtype);
    check(type.has_value(), context, ": is of ", in_quotes(dtype), ", which cannot be read");
  }
  check(type.has_value(), context, ": its storage does not specify its type");
  tensor.type = *type;
  const std::size_t metadata = is_v3 ? 7 : 6;  // e.g. the flag that all values are negated
  if (arguments.size() > metadata) {
    const PickleValue& value = pickle.at(arguments.ref(metadata));
    check(value.kind == PickleKind::none || (value.kind == PickleKind::dict && value.items.empty()),
          context, ": is a view that strides cannot describe; save a clone() of it");
  }
  tensor.shape = arguments.sizes(2, "shape");
  tensor.strides = arguments.sizes(3, "strides");
  locate(tensor, arguments.count(1, "offset"), context);
  return tensor;
}

}  // namespace

std::optional<TorchStorage> storage_of(const Pickle& pickle, PickleRef ref,
                                       const std::string& context) {
  if (pickle.at(ref).kind != PickleKind::persistent) return {};
  const PickleValue& id = pickle.at(pickle.at(ref).items[0]);
  if (id.kind != PickleKind::tuple || id.items.empty()) return {};
  if (pickle.at(id.items[0]).text != "storage") return {};
  const Arguments arguments(pickle, id, context);
  const std::string& name = arguments.of(1, PickleKind::global, "storage's class").text;
  const std::string& key = arguments.of(2, PickleKind::text, "storage's key").text;
  check(key.size() <= kLongestKey, context, ": its storage's key has ", key.size(), " bytes");
  TorchStorage storage{key, type_of_storage(name)};
  const bool is_untyped = name == "torch.storage.UntypedStorage" || name == "torch.UntypedStorage";
  check(storage.type || is_untyped, context, ": is in a ", in_quotes(name),
        ", which cannot be read");
  const bool is_whole =
      arguments.size() <= 5 || pickle.at(arguments.ref(5)).kind == PickleKind::none;
  check(is_whole, context,
        ": is in a part of a storage, as written by PyTorch before 0.4; save it again");
  const auto count = static_cast<std::uint64_t>(arguments.count(4, "storage's size"));
  const bool overflow = __builtin_mul_overflow(
      count, storage.type ? size_of(*storage.type) : std::uint64_t{1}, &storage.bytes);
  check(!overflow, context, ": its storage has ", count,
        " elements, which need more bytes than 64 bits can count");
  return storage;
}

bool is_tensor(const Pickle& pickle, PickleRef ref) {
  const std::string_view name = called(pickle, ref);
  return is_tensor_call(name) || is_parameter_call(name);
}

TorchTensor tensor_of(const Pickle& pickle, PickleRef ref, const std::string& context) {
  if (is_parameter_call(called(pickle, ref))) {
    ref = Arguments(pickle, arguments_of(pickle, ref), context).ref(0);
  }
  check(is_tensor_call(called(pickle, ref)), context, ": is built by ",
        describe_value(pickle, ref));
  return rebuild_tensor(pickle, ref, context);
}

std::string describe_value(const Pickle& pickle, PickleRef ref) {
  constexpr std::array kNamesOfKinds{"None",     "true or false", "an integer", "a number",
                                     "a string", "bytes",         "a tuple",    "a list",
                                     "a set",    "a dictionary",  "a class"};
  const PickleValue* value = &pickle.at(ref);
  if (value->kind == PickleKind::persistent) return "a storage";
  if (is_tensor(pickle, ref)) return "a tensor";
  if (value->kind != PickleKind::call) return kNamesOfKinds[static_cast<std::size_t>(value->kind)];
  const std::string_view name = called(pickle, ref);
  return "an object of " + (name.empty() ? "its own code" : in_quotes(name));
}

}  // namespace fovea
