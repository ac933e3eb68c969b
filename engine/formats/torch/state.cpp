// torch.nn.Module keeps tensors in its attributes _parameters and _buffers and other modules in
// _modules. Objects of TorchScript have both as plain attributes.
#include "engine/formats/torch/state.h"

#include <optional>
#include <set>

#include "engine/base/error.h"
#include "engine/base/json.h"
#include "engine/formats/torch/numpy_array.h"
#include "engine/formats/torch/objects.h"

namespace fovea {
namespace {

// Modules may share parts, so a small file may describe very many.
constexpr std::size_t kMaxParts = 20'000, kMaxDepth = 64, kMaxNameBytes = 1000;

/// The value of an attribute; empty if the object has none of that name.
std::optional<PickleRef> attribute(const Pickle& pickle, PickleRef object, std::string_view name) {
  const std::vector<PickleRef>& items = pickle.attributes(object);
  for (std::size_t i = 0; i + 1 < items.size(); i += 2) {
    const PickleValue& key = pickle.at(items[i]);
    if (key.kind == PickleKind::text && key.text == name) return items[i + 1];
  }
  return {};
}

bool is_script_object(const Pickle& pickle, PickleRef ref) {
  const PickleValue& value = pickle.at(ref);
  return value.kind == PickleKind::call &&
         pickle.at(value.items[0]).text.starts_with("__torch__.") && pickle.states.contains(ref);
}

bool is_python_module(const Pickle& pickle, PickleRef ref) {
  return attribute(pickle, ref, "_parameters").has_value() &&
         attribute(pickle, ref, "_modules").has_value();
}

/// Collects the weights of a module part by part.
class ModuleReader {
 public:
  ModuleReader(const Pickle& pickle, const std::string& context)
      : pickle_(pickle), context_(context) {}

  NamedValues read(PickleRef module) {
    open_.push_back({"", module, 0});
    for (std::size_t parts = 0; !open_.empty(); ++parts) {
      check(parts < kMaxParts, context_, ": its module has more than ", kMaxParts, " parts");
      const Part part = open_.back();
      open_.pop_back();
      check(part.depth < kMaxDepth && part.prefix.size() < kMaxNameBytes, context_,
            ": its modules are nested more than ", kMaxDepth, " deep, or contain themselves");
      if (is_python_module(pickle_, part.module)) {
        read_python(part);
      } else {
        read_entries(part, pickle_.attributes(part.module), {});
      }
    }
    return std::move(found_);
  }

 private:
  struct Part {
    std::string prefix;
    PickleRef module;
    std::size_t depth;
  };

  void read_python(const Part& part) {
    for (const char* const group : {"_parameters", "_buffers", "_modules"}) {
      const std::optional<PickleRef> values = attribute(pickle_, part.module, group);
      if (values) read_entries(part, pickle_.entries(*values), passing_buffers(part.module));
    }
  }

  /// Names of the buffers that state_dict() leaves out.
  [[nodiscard]] std::set<std::string_view> passing_buffers(PickleRef module) const {
    std::set<std::string_view> names;
    const auto set = attribute(pickle_, module, "_non_persistent_buffers_set");
    if (!set) return names;
    for (const PickleRef item : items_of_set(*set)) {
      if (pickle_.at(item).kind == PickleKind::text) names.insert(pickle_.at(item).text);
    }
    return names;
  }

  /// A set's items; before protocol 4 it is a call of set with a list.
  [[nodiscard]] std::vector<PickleRef> items_of_set(PickleRef ref) const {
    const PickleValue& value = pickle_.at(ref);
    if (value.kind == PickleKind::set) return value.items;
    if (value.kind != PickleKind::call || pickle_.at(value.items[1]).items.size() != 1) return {};
    return pickle_.at(pickle_.at(value.items[1]).items.front()).items;
  }

  void read_entries(const Part& part, const std::vector<PickleRef>& items,
                    const std::set<std::string_view>& left_out) {
    for (std::size_t i = 0; i + 1 < items.size(); i += 2) {
      const PickleValue& key = pickle_.at(items[i]);
      if (key.kind != PickleKind::text || key.text.size() > kMaxNameBytes) continue;
      const PickleRef value = items[i + 1];
      if (is_weight(pickle_, value) && !left_out.contains(key.text)) {
        check(found_.weights.size() < kMaxParts, context_, ": its module has more than ", kMaxParts,
              " tensors");
        found_.weights.push_back({part.prefix + key.text, value});
      } else if (is_module(pickle_, value)) {
        check(open_.size() < kMaxParts, context_, ": its module has more than ", kMaxParts,
              " parts");
        open_.push_back({part.prefix + key.text + ".", value, part.depth + 1});
      }
    }
  }

  const Pickle& pickle_;
  const std::string& context_;
  std::vector<Part> open_;  ///< parts that are still to be read
  NamedValues found_;
};

}  // namespace

bool is_module(const Pickle& pickle, PickleRef ref) {
  return is_script_object(pickle, ref) || is_python_module(pickle, ref);
}

bool is_weight(const Pickle& pickle, PickleRef ref) {
  return is_tensor(pickle, ref) || array_of(pickle, ref).has_value();
}

bool is_float_weight(const Pickle& pickle, PickleRef ref) {
  const auto is_float_type = [](StoredType type, const Shape& shape) {
    return is_float(held_dtype(type)) && shape.rank() > 0;
  };
  if (const auto array = array_of(pickle, ref)) {
    return is_float_type(array->layout.type, array->layout.shape);
  }
  if (!is_tensor(pickle, ref)) return false;
  try {
    const TorchTensor tensor = tensor_of(pickle, ref, "");
    return is_float_type(tensor.type, tensor.shape);
  } catch (const Error&) {
    return true;  // reading it says what is wrong
  }
}

NamedValues named_values(const Pickle& pickle, PickleRef ref, const std::string& context) {
  if (is_module(pickle, ref)) return ModuleReader(pickle, context).read(ref);
  NamedValues found;
  std::set<std::string_view> names;
  const std::vector<PickleRef>& items = pickle.entries(ref);
  for (std::size_t i = 0; i + 1 < items.size(); i += 2) {
    const PickleValue& key = pickle.at(items[i]);
    const bool is_named = key.kind == PickleKind::text;
    check(!is_named || names.insert(key.text).second, context, ": the name ", in_quotes(key.text),
          " appears twice");
    std::string name = is_named ? key.text : describe_value(pickle, items[i]);
    if (is_named && is_weight(pickle, items[i + 1])) {
      found.weights.push_back({std::move(name), items[i + 1]});
    } else {
      found.others.push_back(std::move(name));
    }
  }
  return found;
}

}  // namespace fovea
