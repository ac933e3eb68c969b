// Names of nodes and constants.
#include "export/graph_writer.h"

#include <algorithm>
#include <utility>

#include "engine/base/text.h"

namespace fovea::onnx {
namespace {

/// Of contiguous tensors.
bool is_equal(const Tensor& a, const Tensor& b) {
  return a.dtype() == b.dtype() && a.shape() == b.shape() &&
         std::equal(a.raw(), a.raw() + a.byte_count(), b.raw());
}

}  // namespace

std::string GraphWriter::unused(const std::string& name) {
  std::string free = name;
  for (int i = 1; !names_.insert(free).second; ++i) free = concat(name, '_', i);
  return free;
}

std::string GraphWriter::node(const std::string& op, std::vector<std::string> inputs,
                              Attributes attributes) {
  return nodes(op, std::move(inputs), 1, std::move(attributes)).front();
}

std::vector<std::string> GraphWriter::nodes(const std::string& op, std::vector<std::string> inputs,
                                            int outputs, Attributes attributes) {
  const std::string name = unused(path_.empty() ? op : path_ + "/" + op);
  std::vector<std::string> values{name};
  for (int i = 1; i < outputs; ++i) values.push_back(unused(concat(name, ':', i)));
  while (!inputs.empty() && inputs.back().empty()) inputs.pop_back();
  graph_.nodes.push_back({name, op, std::move(inputs), values, std::move(attributes)});
  return values;
}

std::string GraphWriter::constant(const std::string& name, const Tensor& values) {
  std::string free = name;
  for (int i = 1; names_.contains(free); ++i) {
    const auto same = constants_.find(free);
    if (same != constants_.end() && is_equal(same->second, values)) return free;
    free = concat(name, '_', i);
  }
  names_.insert(free);
  constants_.emplace(free, values);
  graph_.initializers.push_back({free, values, element_type(values.dtype())});
  return free;
}

std::string GraphWriter::small_constant(const std::string& name, const Tensor& values) {
  return constants_.contains(name) ? name : constant(name, values);
}

std::string GraphWriter::number(double value, DType type) {
  return small_constant(concat(type, '/', shortest_text(value)), scalar(value, {type, {}}));
}

std::string GraphWriter::integer(std::int64_t value) {
  return small_constant(concat("i64/", value),
                        full({}, static_cast<double>(value), {DType::i64, {}}));
}

std::string GraphWriter::integers(const std::vector<std::int64_t>& values) {
  std::string name = "i64/[";
  for (const std::int64_t value : values) name += concat(name.back() == '[' ? "" : ",", value);
  const Tensor list = empty({std::ssize(values)}, {DType::i64, {}});
  std::copy(values.begin(), values.end(), list.data<std::int64_t>());
  return small_constant(name + "]", list);
}

std::shared_ptr<const GraphProto> GraphWriter::branch(ValueInfoProto output,
                                                      const std::function<std::string()>& write) {
  const auto around = std::exchange(graph_.nodes, {});
  output.name = write();
  auto branch = std::make_shared<GraphProto>();
  branch->name = unused(path_ + "/branch");
  branch->nodes = std::exchange(graph_.nodes, around);
  branch->outputs = {std::move(output)};
  return branch;
}

void GraphWriter::output(ValueInfoProto info, const std::string& value) {
  graph_.nodes.push_back({unused("outputs/" + info.name), "Identity", {value}, {info.name}});
  graph_.outputs.push_back(std::move(info));
}

GraphProto GraphWriter::graph(std::string name) && {
  graph_.name = std::move(name);
  return std::move(graph_);
}

}  // namespace fovea::onnx
