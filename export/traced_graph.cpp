// From two or three traces to one graph.
#include "export/traced_graph.h"

#include <algorithm>
#include <map>
#include <optional>
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

/// An op that ran.
struct Record {
  std::string op;
  bool depends_on_input = false;
  std::vector<OpAttribute> attributes;
  std::vector<Tensor> inputs, outputs;
};

/// One run of the pass. It keeps all values alive, so no two share an address.
class TracedRun {
 public:
  /// Ops that depend on no input are recorded if they may depend on the size of one.
  TracedRun(std::int64_t batch, const std::vector<Tensor>& examples, const TracedForward& forward,
            bool records_all)
      : records_all_(records_all) {
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
                  false,
                  {attributes.begin(), attributes.end()},
                  {op.inputs.begin(), op.inputs.end()},
                  {op.output}};
    record.outputs.insert(record.outputs.end(), op.further.begin(), op.further.end());
    std::string name;
    for (const Tensor& input : record.inputs) {
      if (!input.defined()) continue;
      if (!input.name().empty()) names.try_emplace(place_of(input), input.name());
      record.depends_on_input |= dependent_.contains(place_of(input));
      const auto known = names.find(place_of(input));
      if (name.empty() && known != names.end()) name = known->second;
    }
    if (record.depends_on_input) {
      for (const Tensor& output : record.outputs) dependent_.insert(place_of(output));
    } else {
      if (!name.empty()) names[place_of(op.output)] = name;
      constants_.insert(constants_.end(), record.outputs.begin(), record.outputs.end());
    }
    if (record.depends_on_input || records_all_) records.push_back(std::move(record));
  }

  bool records_all_;
  std::set<Place> dependent_;
  std::vector<Tensor> constants_;
};

/// A tensor in each run.
struct Versions {
  Tensor tensor;   ///< with kTracedBatch images
  Tensor more;     ///< with more images
  Tensor resized;  ///< with larger images
};

TracedValue make_value(const Versions& of) {
  TracedValue value{of.tensor, of.resized, false, -1, 1, {}};
  check(of.tensor.rank() == of.more.rank() && of.tensor.rank() == of.resized.rank(),
        "export: got shapes ", of.tensor.shape(), ", ", of.more.shape(), " and ",
        of.resized.shape(), " for different batches, expected the same axes");
  for (int axis = 0; axis < of.tensor.rank(); ++axis) {
    if (of.tensor.size(axis) == of.more.size(axis)) continue;
    check(value.batch_axis < 0, "export: shape ", of.tensor.shape(),
          " has more than one axis that grows with the batch");
    value.batch_axis = axis;
    value.unit = of.tensor.size(axis) / kTracedBatch;
  }
  return value;
}

/// Whether a constant depends on the size of images.
bool is_sized(const Tensor& tensor, const Tensor& resized) {
  if (tensor.raw() == resized.raw()) return false;
  return tensor.shape() != resized.shape() || tensor.to_vector() != resized.to_vector();
}

bool is_equal(const std::vector<OpAttribute>& a, const std::vector<OpAttribute>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), is_same);
}

/// "blocks.0.attn.qkv" of its weight, or the name itself of a parameter without a module.
std::string module_of_parameter(const std::string& name) {
  const std::string module = parent_module(name);
  return module.empty() ? name : module;
}

/// The runs to compare; without larger images, `resized` is the first one again.
struct TracedRuns {
  const TracedRun &run, &more, &resized;

  [[nodiscard]] Versions inputs(std::size_t i) const {
    return {run.inputs[i], more.inputs[i], resized.inputs[i]};
  }
  [[nodiscard]] Versions outputs(std::size_t i) const {
    return {run.outputs[i], more.outputs[i], resized.outputs[i]};
  }
};

/// An op in each run.
struct RecordVersions {
  const Record &record, &more, &resized;

  [[nodiscard]] Versions input(std::size_t i) const {
    return {record.inputs[i], more.inputs[i], resized.inputs[i]};
  }
  [[nodiscard]] Versions output(std::size_t i) const {
    return {record.outputs[i], more.outputs[i], resized.outputs[i]};
  }
  void require_same() const {
    for (const Record* const other : {&more, &resized}) {
      check(record.op == other->op && record.inputs.size() == other->inputs.size(),
            "export: one batch runs ", record.op, " where another runs ", other->op);
    }
  }
};

class GraphBuilder {
 public:
  explicit GraphBuilder(const TracedRuns& runs) : names_(runs.run.names) {
    for (std::size_t i = 0; i < runs.run.inputs.size(); ++i) {
      graph_.inputs.push_back(add(runs.inputs(i)));
      at(graph_.inputs.back()).is_computed = true;
    }
    for (std::size_t i = 0; i < runs.run.records.size(); ++i) {
      add_call({runs.run.records[i], runs.more.records[i], runs.resized.records[i]});
    }
    for (std::size_t i = 0; i < runs.run.outputs.size(); ++i) {
      graph_.outputs.push_back(find(runs.outputs(i)));
    }
  }

  TracedGraph graph() && {
    drop_unread();
    return std::move(graph_);
  }

 private:
  TracedValue& at(int value) { return graph_.values[static_cast<std::size_t>(value)]; }

  int add(const Versions& of) {
    graph_.values.push_back(make_value(of));
    const int index = static_cast<int>(graph_.values.size()) - 1;
    by_place_[place_of(of.tensor)] = index;
    return index;
  }

  /// The value of a tensor; one that no call has computed is a constant.
  int find(const Versions& of) {
    if (!of.tensor.defined()) return -1;
    const auto found = by_place_.find(place_of(of.tensor));
    if (found != by_place_.end()) return found->second;
    const int constant = add(of);
    const auto name = names_.find(place_of(of.tensor));
    if (name != names_.end()) at(constant).name = name->second;
    return constant;
  }

  /// Whether an op reads an input or depends on its size.
  bool is_computed(const RecordVersions& of) {
    if (of.record.depends_on_input || !is_equal(of.record.attributes, of.resized.attributes)) {
      return true;
    }
    if (of.record.outputs[0].shape() != of.resized.outputs[0].shape()) return true;
    for (std::size_t i = 0; i < of.record.inputs.size(); ++i) {
      const Tensor& input = of.record.inputs[i];
      if (!input.defined()) continue;
      const auto known = by_place_.find(place_of(input));
      if (known != by_place_.end() && at(known->second).is_computed) return true;
      if (is_sized(input, of.resized.inputs[i])) return true;
    }
    return false;
  }

  void add_call(const RecordVersions& of) {
    of.require_same();
    if (!is_computed(of)) return;
    TracedCall call{of.record.op, of.record.attributes, of.resized.attributes, {}, {}, {}};
    for (std::size_t i = 0; i < of.record.inputs.size(); ++i) {
      call.inputs.push_back(find(of.input(i)));
    }
    call.module = module_of(call.inputs);
    for (std::size_t i = 0; i < of.record.outputs.size(); ++i) {
      call.outputs.push_back(add(of.output(i)));
      at(call.outputs.back()).is_computed = true;
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

bool is_sized(const TracedValue& constant) {
  return !constant.is_computed && is_sized(constant.tensor, constant.resized);
}

bool is_same(const OpAttribute& a, const OpAttribute& b) { return concat(a) == concat(b); }

TracedGraph trace_forward(const std::vector<Tensor>& inputs, const std::vector<Tensor>& resized,
                          const TracedForward& forward) {
  const bool has_sizes = !resized.empty();
  const TracedRun run(kTracedBatch, inputs, forward, has_sizes);
  const TracedRun more(kTracedBatch + 1, inputs, forward, has_sizes);
  std::optional<TracedRun> larger;
  if (has_sizes) larger.emplace(kTracedBatch, resized, forward, has_sizes);
  for (const TracedRun* const other : {&more, larger ? &*larger : &run}) {
    check(run.records.size() == other->records.size(), "export: one batch runs ",
          run.records.size(), " ops, another ", other->records.size());
  }
  return GraphBuilder({run, more, larger ? *larger : run}).graph();
}

}  // namespace fovea
