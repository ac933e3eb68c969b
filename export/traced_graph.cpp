// From two traces to one graph.
#include "export/traced_graph.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "engine/base/error.h"
#include "engine/graph_dump.h"
#include "engine/trace.h"
#include "ops/view.h"

namespace fovea {
namespace {

/// Two handles with this in common show the same elements.
using Place = std::tuple<const std::byte*, DType, std::vector<std::int64_t>>;

Place place_of(const Tensor& t) {
  std::vector<std::int64_t> geometry(t.shape().begin(), t.shape().end());
  geometry.insert(geometry.end(), t.strides().begin(), t.strides().end());
  return {t.raw(), t.dtype(), std::move(geometry)};
}

/// An op that depends on an input of the pass.
struct Record {
  std::string op;
  std::vector<OpAttribute> attributes;
  std::vector<Tensor> inputs, outputs;
};

/// One run of the pass. It keeps all values alive, so no two share an address.
class TracedRun {
 public:
  TracedRun(std::int64_t batch, const std::vector<Tensor>& examples, const TracedForward& forward) {
    for (const Tensor& one : examples) {
      Shape shape = one.shape();
      shape[0] = batch;
      const Tensor input = ops::expand(one.detach(), shape).contiguous();
      if (is_float(input.dtype())) input.set_requires_grad();  // ops as they are on the tape
      dependent_.insert(place_of(input));
      inputs.push_back(input);
    }
    const OpTrace trace([this](const TracedOp& op) { add(op); });
    outputs = forward(inputs);
  }

  std::vector<Tensor> inputs, outputs;
  std::vector<Record> records;
  std::map<Place, std::string> names;  ///< of parameters and of what is computed from them

 private:
  void add(const TracedOp& op) {
    const auto attributes = op.label.attributes();
    Record record{op.label.name(),
                  {attributes.begin(), attributes.end()},
                  {op.inputs.begin(), op.inputs.end()},
                  {op.output}};
    record.outputs.insert(record.outputs.end(), op.further.begin(), op.further.end());
    std::string name;
    bool depends = false;
    for (const Tensor& input : record.inputs) {
      if (!input.defined()) continue;
      if (!input.name().empty()) names.try_emplace(place_of(input), input.name());
      depends |= dependent_.contains(place_of(input));
      const auto known = names.find(place_of(input));
      if (name.empty() && known != names.end()) name = known->second;
    }
    if (depends) {
      for (const Tensor& output : record.outputs) dependent_.insert(place_of(output));
      records.push_back(std::move(record));
    } else {
      if (!name.empty()) names[place_of(op.output)] = name;
      constants_.insert(constants_.end(), record.outputs.begin(), record.outputs.end());
    }
  }

  std::set<Place> dependent_;
  std::vector<Tensor> constants_;
};

/// The value of a tensor in a batch of kTracedBatch; `other` is the same in another batch.
TracedValue make_value(const Tensor& tensor, const Tensor& other) {
  TracedValue value{tensor, false, -1, 1, {}};
  check(tensor.rank() == other.rank(), "export: got shapes ", tensor.shape(), " and ",
        other.shape(), " for two batch sizes, expected the same axes");
  for (int axis = 0; axis < tensor.rank(); ++axis) {
    if (tensor.size(axis) == other.size(axis)) continue;
    check(value.batch_axis < 0, "export: shape ", tensor.shape(),
          " has more than one axis that grows with the batch");
    value.batch_axis = axis;
    value.unit = tensor.size(axis) / kTracedBatch;
  }
  return value;
}

/// "blocks.0.attn.qkv" of its weight, or the name itself of a parameter without a module.
std::string module_of_parameter(const std::string& name) {
  const std::string module = parent_module(name);
  return module.empty() ? name : module;
}

class GraphBuilder {
 public:
  GraphBuilder(const TracedRun& run, const TracedRun& other) : names_(run.names) {
    for (std::size_t i = 0; i < run.inputs.size(); ++i) {
      graph_.inputs.push_back(add(run.inputs[i], other.inputs[i]));
      at(graph_.inputs.back()).depends_on_input = true;
    }
    for (std::size_t i = 0; i < run.records.size(); ++i) add_call(run.records[i], other.records[i]);
    for (std::size_t i = 0; i < run.outputs.size(); ++i) {
      graph_.outputs.push_back(find(run.outputs[i], other.outputs[i]));
    }
  }

  TracedGraph graph() && {
    drop_unread();
    return std::move(graph_);
  }

 private:
  TracedValue& at(int value) { return graph_.values[static_cast<std::size_t>(value)]; }

  int add(const Tensor& tensor, const Tensor& other) {
    graph_.values.push_back(make_value(tensor, other));
    const int index = static_cast<int>(graph_.values.size()) - 1;
    by_place_[place_of(tensor)] = index;
    return index;
  }

  /// The value of a tensor; one that no call has computed is a constant.
  int find(const Tensor& tensor, const Tensor& other) {
    if (!tensor.defined()) return -1;
    const auto found = by_place_.find(place_of(tensor));
    if (found != by_place_.end()) return found->second;
    const int constant = add(tensor, other);
    const auto name = names_.find(place_of(tensor));
    if (name != names_.end()) at(constant).name = name->second;
    return constant;
  }

  void add_call(const Record& record, const Record& other) {
    check(record.op == other.op && record.inputs.size() == other.inputs.size(),
          "export: one batch size runs ", record.op, " where another runs ", other.op);
    TracedCall call{record.op, record.attributes, {}, {}, {}};
    for (std::size_t i = 0; i < record.inputs.size(); ++i) {
      call.inputs.push_back(find(record.inputs[i], other.inputs[i]));
    }
    call.module = module_of(call.inputs);
    for (std::size_t i = 0; i < record.outputs.size(); ++i) {
      call.outputs.push_back(add(record.outputs[i], other.outputs[i]));
      at(call.outputs.back()).depends_on_input = true;
    }
    graph_.calls.push_back(std::move(call));
  }

  /// The module of the first parameter that is read or, without one, around the last module.
  std::string module_of(const std::vector<int>& inputs) {
    for (const int input : inputs) {
      if (input < 0) continue;
      if (at(input).name.empty()) continue;
      last_ = module_of_parameter(at(input).name);
      return last_;
    }
    return parent_module(last_);
  }

  void drop_unread() {
    std::vector<bool> is_read(graph_.values.size(), false);
    const auto mark = [&](int value) {
      if (value >= 0) is_read[static_cast<std::size_t>(value)] = true;
    };
    std::for_each(graph_.outputs.begin(), graph_.outputs.end(), mark);
    std::vector<TracedCall> read;
    for (auto call = graph_.calls.rbegin(); call != graph_.calls.rend(); ++call) {
      const bool is_needed =
          std::any_of(call->outputs.begin(), call->outputs.end(),
                      [&](int value) { return is_read[static_cast<std::size_t>(value)]; });
      if (!is_needed) continue;
      std::for_each(call->inputs.begin(), call->inputs.end(), mark);
      read.push_back(std::move(*call));
    }
    std::reverse(read.begin(), read.end());
    graph_.calls = std::move(read);
  }

  const std::map<Place, std::string>& names_;
  TracedGraph graph_;
  std::map<Place, int> by_place_;
  std::string last_;  ///< the last module that read a parameter
};

}  // namespace

TracedGraph trace_forward(const std::vector<Tensor>& inputs, const TracedForward& forward) {
  const TracedRun run(kTracedBatch, inputs, forward), other(kTracedBatch + 1, inputs, forward);
  check(run.records.size() == other.records.size(), "export: one batch size runs ",
        run.records.size(), " ops, another ", other.records.size());
  return GraphBuilder(run, other).graph();
}

}  // namespace fovea
