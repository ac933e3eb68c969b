// The checks behind one row of the op table.
#include "tests/gradcheck/suite.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <sstream>

#include "engine/autograd.h"
#include "engine/copy.h"
#include "engine/graph_dump.h"
#include "engine/parallel.h"

namespace fovea::tests {
namespace {

// Relative to f64, for values and for gradients: norms of differences over norms.
struct Bounds {
  double value, gradient;
};
constexpr Bounds kF32{2e-5, 2e-4};
constexpr Bounds kBf16{3e-2, 2e-1};

std::vector<Tensor> draw_inputs(const OpCase& c) {
  std::vector<Tensor> inputs;
  for (std::size_t i = 0; i < c.inputs.size(); ++i) {
    const In& in = c.inputs[i];
    Tensor t = in.values.empty() ? rand_uniform(in.shape, {in.lo, in.hi}, {17, i}, {DType::f64, {}})
                                 : from_values(in.shape, in.values, {DType::f64, {}});
    inputs.push_back(t.to(in.dtype));
  }
  return inputs;
}

/// The same values with the axes stored in reverse order and a gap after each element.
Tensor strided(const Tensor& x) {
  Shape reversed;
  for (int axis = x.rank() - 1; axis >= 0; --axis) reversed.push_back(x.shape()[axis]);
  const Strides packed = contiguous_strides(reversed);
  Strides strides = x.shape();
  for (int axis = 0; axis < x.rank(); ++axis) strides[axis] = 2 * packed[x.rank() - 1 - axis];
  const Tensor room = zeros({2 * x.numel() + 3}, x.options());
  const Tensor view = room.alias(x.shape(), strides, x.numel() > 0 ? 3 : 0);
  copy_into(view, x);
  return view;
}

std::vector<Tensor> as_leaves(const OpCase& c, const std::vector<Tensor>& inputs, DType dtype,
                              bool make_strided) {
  std::vector<Tensor> leaves;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    Tensor t = inputs[i];
    if (c.inputs[i].dtype == DType::f64) t = t.to(dtype);
    t = make_strided ? strided(t) : t.clone();
    if (c.inputs[i].grad) t.set_requires_grad();
    leaves.push_back(t);
  }
  return leaves;
}

/// The value of a case and its gradients for a fixed cotangent.
struct Result {
  Tensor value;
  std::vector<Tensor> grads;
};

Result run(const OpCase& c, const std::vector<Tensor>& leaves) {
  for (const Tensor& leaf : leaves) leaf.set_grad({});
  Result result{c.run(leaves), {}};
  if (result.value.requires_grad()) {
    const Tensor w = rand_normal(result.value.shape(), {0, 1}, {99}, {DType::f64, {}});
    backward(result.value, w);
  }
  for (const Tensor& leaf : leaves) result.grads.push_back(leaf.grad());
  return result;
}

double norm(const std::vector<double>& v) {
  double sum = 0;
  for (const double x : v) sum += x * x;
  return std::sqrt(sum);
}

double distance(const Tensor& a, const Tensor& b) {
  std::vector<double> difference = a.to_vector();
  const std::vector<double> reference = b.to_vector();
  for (std::size_t i = 0; i < difference.size(); ++i) {
    if (difference[i] == reference[i]) {
      difference[i] = 0;  // equal infinities
    } else {
      difference[i] -= reference[i];
    }
  }
  return norm(difference);
}

/// ||a - b|| / max(||b||, floor), infinite when it is NaN or one of the two is missing.
double relative_error(const Tensor& a, const Tensor& b, double floor) {
  if (!a.defined() && !b.defined()) return 0;
  if (!a.defined() || !b.defined()) return INFINITY;
  const double d = distance(a, b);
  if (d == 0) return 0;
  const double error = d / std::max(norm(b.to_vector()), floor);
  return std::isnan(error) ? INFINITY : error;
}

/// Compares a low-precision run with f64 on the same, rounded inputs.
double compare_precision(const OpCase& c, const std::vector<Tensor>& inputs, DType dtype,
                         Bounds bounds, std::string& failure) {
  std::vector<Tensor> rounded;
  for (const Tensor& t : inputs) {
    rounded.push_back(t.dtype() == DType::f64 ? t.to(dtype).to(DType::f64) : t);
  }
  const Result low = run(c, as_leaves(c, rounded, dtype, false));
  const Result reference = run(c, as_leaves(c, rounded, DType::f64, false));
  double worst = relative_error(low.value, reference.value, 1e-30);
  double largest = 0;
  for (const Tensor& g : reference.grads) {
    if (g.defined()) largest = std::max(largest, norm(g.to_vector()));
  }
  const auto note = [&](const char* what, double error, double bound) {
    if (error <= bound || !failure.empty()) return;
    std::ostringstream out;
    out << to_string(dtype) << ' ' << what << ": error " << error << " > " << bound;
    failure = out.str();
  };
  note("value", worst, bounds.value);
  for (std::size_t i = 0; i < low.grads.size(); ++i) {
    const double error = relative_error(low.grads[i], reference.grads[i], 1e-2 * largest);
    note(("gradient of input " + std::to_string(i)).c_str(), error, bounds.gradient);
    worst = std::max(worst, error);
  }
  return worst;
}

bool same_bits(const Tensor& a, const Tensor& b) {
  if (!a.defined() || !b.defined()) return a.defined() == b.defined();
  const Tensor x = a.detach().contiguous(), y = b.detach().contiguous();
  const std::size_t bytes = static_cast<std::size_t>(x.numel()) * size_of(x.dtype());
  return x.shape() == y.shape() && (bytes == 0 || std::memcmp(x.raw(), y.raw(), bytes) == 0);
}

/// 1 thread and 2 threads must give the same bits.
bool thread_independent(const OpCase& c, const std::vector<Tensor>& inputs) {
  const int before = num_threads();
  set_num_threads(1);
  const Result one = run(c, as_leaves(c, inputs, DType::f32, false));
  set_num_threads(2);
  const Result two = run(c, as_leaves(c, inputs, DType::f32, false));
  set_num_threads(before);
  bool same = same_bits(one.value, two.value);
  for (std::size_t i = 0; i < one.grads.size(); ++i) same &= same_bits(one.grads[i], two.grads[i]);
  return same;
}

void check_f64(const OpCase& c, const std::vector<Tensor>& inputs, CheckRow& row) {
  for (const bool make_strided : {false, true}) {
    const GradcheckResult r = gradcheck(c.run, as_leaves(c, inputs, DType::f64, make_strided));
    row.f64_error = std::max(row.f64_error, r.worst);
    row.entries += r.entries;
    if (!r.ok && row.failure.empty()) {
      row.failure = (make_strided ? "f64, strided inputs: " : "f64: ") + r.message;
    }
  }
}

/// A row must exercise the op it names, or op coverage would mean nothing.
void check_recorded(const OpCase& c, const std::vector<Tensor>& inputs, CheckRow& row) {
  const DType dtype = c.low_precision ? DType::f32 : DType::f64;
  const Tensor value = c.run(as_leaves(c, inputs, dtype, false));
  const std::vector<std::string> names = graph_op_names(value);
  if (std::find(names.begin(), names.end(), c.op) == names.end() && row.failure.empty()) {
    row.failure = "the row never puts '" + c.op + "' on the tape";
  }
}

}  // namespace

CheckRow check_case(const OpCase& c) {
  CheckRow row;
  row.op = c.op;
  row.what = c.what;
  std::ostringstream shapes;
  for (const In& in : c.inputs) shapes << (shapes.tellp() > 0 ? " " : "") << in.shape;
  row.shapes = shapes.str();
  try {
    const std::vector<Tensor> inputs = draw_inputs(c);
    check_f64(c, inputs, row);
    check_recorded(c, inputs, row);
    if (!c.low_precision) return row;
    row.f32_error = compare_precision(c, inputs, DType::f32, kF32, row.failure);
    row.bf16_error = compare_precision(c, inputs, DType::bf16, kBf16, row.failure);
    if (!thread_independent(c, inputs) && row.failure.empty()) {
      row.failure = "1 thread and 2 threads give different bits";
    }
  } catch (const std::exception& e) {
    if (row.failure.empty()) row.failure = e.what();
  }
  return row;
}

}  // namespace fovea::tests
