// Names of values, and what lowerings share.
#include "export/lowering.h"

#include <algorithm>

#include "engine/base/error.h"
#include "ops/view.h"

namespace fovea::onnx {
namespace {

LoweringTable all_families() {
  LoweringTable all;
  for (const auto family :
       {elementwise_lowerings, view_lowerings, product_lowerings, indexing_lowerings,
        attention_lowerings, norm_lowerings, map_lowerings}) {
    all.merge(family());
  }
  return all;
}

const OpAttribute* named(const std::vector<OpAttribute>& attributes, std::string_view name) {
  const auto found = std::find_if(attributes.begin(), attributes.end(),
                                  [&](const OpAttribute& a) { return a.name() == name; });
  return found == attributes.end() ? nullptr : &*found;
}

const char* with_default(const std::string& text, const char* otherwise) {
  return text.empty() ? otherwise : text.c_str();
}

}  // namespace

const std::map<std::string_view, Lowering>& lowerings() {
  static const LoweringTable all = all_families();
  return all;
}

std::vector<std::string> Lowerer::lower(const std::vector<std::string>& inputs) {
  for (std::size_t i = 0; i < inputs.size(); ++i) set_name(graph_.inputs[i], inputs[i]);
  for (const TracedCall& call : graph_.calls) {
    const auto row = lowerings().find(call.op);
    check(row != lowerings().end(), "export: ", with_default(call.module, "the model"), ": the op ",
          call.op, " has no counterpart in ONNX");
    module_ = call.module;
    writer_.enter(call.module);
    set_name(call.outputs.front(), row->second(Call(*this, call)));
  }
  std::vector<std::string> outputs;
  for (const int output : graph_.outputs) outputs.push_back(name_of(output));
  return outputs;
}

void Lowerer::set_name(int index, const std::string& name) {
  names_[index] = name;
  sizes_.add(graph_.values[static_cast<std::size_t>(index)], name);
}

std::string Lowerer::name_of(int index) {
  const auto known = names_.find(index);
  if (known != names_.end()) return known->second;
  const TracedValue& value = graph_.values[static_cast<std::size_t>(index)];
  const std::string name = value.name.empty() ? module_ + "/constant" : value.name;
  return names_[index] = store(value, name);
}

std::string Lowerer::store(const TracedValue& value, const std::string& name) {
  if (is_sized(value)) return sizes_.constant(value);
  if (value.batch_axis >= 0) return store_repeated(value, name);
  return writer_.constant(name, value.tensor.contiguous());
}

/// The same for each image: it is stored once.
std::string Lowerer::store_repeated(const TracedValue& value, const std::string& name) {
  check(value.unit == 1, "export: ", name, " has ", value.unit, " rows for each image");
  const Tensor one = ops::slice(value.tensor.detach(), value.batch_axis, 0, 1).contiguous();
  std::vector<std::string> sizes;
  for (int axis = 0; axis < one.rank(); ++axis) {
    sizes.push_back(axis == value.batch_axis ? batch_size() : writer_.integers({1}));
  }
  const std::string shape = writer_.node("Concat", sizes, {{"axis", std::int64_t{0}}});
  return writer_.node("Expand", {writer_.constant(name, one), shape});
}

/// The number of images, a list of one element.
std::string Lowerer::batch_size() {
  if (batch_size_.empty()) {
    const std::string input = names_.at(graph_.inputs.front());
    batch_size_ =
        writer_.node("Shape", {input}, {{"start", std::int64_t{0}}, {"end", std::int64_t{1}}});
  }
  return batch_size_;
}

bool Call::has(int input) const {
  return input < input_count() && call_.inputs[static_cast<std::size_t>(input)] >= 0;
}

std::string Call::operator[](int input) const {
  return has(input) ? lowerer_.name_of(call_.inputs[static_cast<std::size_t>(input)])
                    : std::string();
}

const TracedValue& Call::value(int input) const {
  const int index = call_.inputs.at(static_cast<std::size_t>(input));
  return lowerer_.graph_.values.at(static_cast<std::size_t>(index));
}

const TracedValue& Call::output() const {
  return lowerer_.graph_.values[static_cast<std::size_t>(call_.outputs.front())];
}

void Call::name_output(int output, const std::string& name) const {
  lowerer_.names_[call_.outputs.at(static_cast<std::size_t>(output))] = name;
}

const Tensor& Call::constant(int input) const {
  const TracedValue& read = value(input);
  check(!read.is_computed && !is_sized(read), "export: ", call_.module, ": ", call_.op,
        " reads input ", input, " as a constant, but it depends on the image");
  return read.tensor;
}

std::string Call::store(int input, const Tensor& values) const {
  const std::string& name = value(input).name;
  return writer().constant(name.empty() ? call_.module + "/constant" : name, values);
}

const OpAttribute* Call::find(std::string_view attribute) const {
  return named(call_.attributes, attribute);
}

const OpAttribute& Call::at(std::string_view attribute) const {
  const OpAttribute* const found = find(attribute);
  check(found != nullptr, "export: ", call_.op, " has no attribute ", attribute);
  check(is_same(*found, *named(call_.resized, attribute)), "export: ", call_.module, ": ", call_.op,
        ": ", attribute, " depends on the image's size in a way that no graph expresses");
  return *found;
}

bool Call::has(std::string_view attribute) const { return find(attribute) != nullptr; }
std::int64_t Call::integer(std::string_view attribute) const { return at(attribute).integer(); }
double Call::real(std::string_view attribute) const { return at(attribute).real(); }
std::string_view Call::word(std::string_view attribute) const { return at(attribute).text(); }

std::vector<std::int64_t> Call::integers(std::string_view attribute) const {
  const auto values = at(attribute).integers();
  return {values.begin(), values.end()};
}

std::vector<TracedSize> Call::sizes(std::string_view attribute) const {
  const OpAttribute* const found = find(attribute);
  check(found != nullptr, "export: ", call_.op, " has no attribute ", attribute);
  const auto one = found->integers(), other = named(call_.resized, attribute)->integers();
  std::vector<TracedSize> sizes;
  for (std::size_t i = 0; i < one.size(); ++i) sizes.emplace_back(one[i], other[i]);
  return sizes;
}

std::string Call::reshape(const std::string& x, const TracedValue& like) const {
  std::vector<TracedSize> sizes;
  for (int axis = 0; axis < like.tensor.rank(); ++axis) {
    sizes.push_back(axis == like.batch_axis ? TracedSize(-1) : size_of(like, axis));
  }
  return node("Reshape", {x, list_of(sizes)});
}

std::string Call::reduce(const std::string& op, const std::string& x,
                         const std::vector<std::int64_t>& axes, bool keepdim) const {
  const auto keeps = static_cast<std::int64_t>(keepdim);
  // Before opset 18 the axes were an attribute of all but ReduceSum.
  if (writer().opset() < 18 && op != "ReduceSum") {
    return node(op, {x}, {{"axes", axes}, {"keepdims", keeps}});
  }
  return node(op, {x, writer().integers(axes)}, {{"keepdims", keeps}});
}

std::string Call::slice(const std::string& x, std::int64_t axis, TracedSize start, TracedSize stop,
                        std::int64_t step) const {
  GraphWriter& w = writer();
  return node("Slice",
              {x, list_of({start}), list_of({stop}), w.integers({axis}), w.integers({step})});
}

}  // namespace fovea::onnx
