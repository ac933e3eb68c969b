// The checks behind one row of the op table.
#include "tests/gradcheck/suite.h"

#include <algorithm>
#include <cmath>
#include <sstream>

#include "engine/copy.h"
#include "engine/parallel.h"
#include "tests/gradcheck/direction.h"
#include "tests/support/op_names.h"

namespace fovea::tests {
namespace {

// Relative to f64, for values and for gradients: norms of differences over norms.
struct Bounds {
  double value, gradient;
};
constexpr Bounds kF32{2e-5, 2e-4};
constexpr Bounds kBf16{3e-2, 2e-1};

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

/// Leaves that are stored like that.
std::vector<Tensor> as_strided_leaves(const OpCase& c, const std::vector<Tensor>& inputs,
                                      Device device) {
  std::vector<Tensor> leaves;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    leaves.push_back(strided(inputs[i].to(device)));
    if (c.inputs[i].grad) leaves.back().set_requires_grad();
  }
  return leaves;
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

/// Compares a low-precision run with the CPU's f64 on the same, rounded inputs.
double compare_precision(const OpCase& c, const std::vector<Tensor>& inputs, TensorOptions options,
                         Bounds bounds, std::string& failure) {
  const std::vector<Tensor> values = rounded(inputs, options.dtype);
  const std::vector<Tensor> low = value_and_gradients(c, as_leaves(c, values, options));
  const std::vector<Tensor> reference =
      value_and_gradients(c, as_leaves(c, values, {DType::f64, {}}));
  double worst = relative_error(low[0], reference[0], 1e-30);
  double largest = 0;
  for (std::size_t i = 1; i < reference.size(); ++i) {
    if (reference[i].defined()) largest = std::max(largest, norm(reference[i].to_vector()));
  }
  const auto note = [&](const char* what, double error, double bound) {
    if (error <= bound || !failure.empty()) return;
    std::ostringstream out;
    out << to_string(options.dtype) << ' ' << what << ": error " << error << " > " << bound;
    failure = out.str();
  };
  note("value", worst, bounds.value);
  for (std::size_t i = 1; i < low.size(); ++i) {
    const double error = relative_error(low[i], reference[i], 1e-2 * largest);
    note(("gradient of input " + std::to_string(i - 1)).c_str(), error, bounds.gradient);
    worst = std::max(worst, error);
  }
  return worst;
}

/// 1 thread and 2 threads must give the same bits.
bool thread_independent(const OpCase& c, const std::vector<Tensor>& inputs, Device device) {
  const int before = num_threads();
  const auto run = [&](int threads) {
    set_num_threads(threads);
    return value_and_gradients(c, as_leaves(c, inputs, {DType::f32, device}));
  };
  const std::vector<Tensor> one = run(1), two = run(2);
  set_num_threads(before);
  return same_bits(one, two);
}

void check_f64(const OpCase& c, const std::vector<Tensor>& inputs, const CheckOptions& options,
               CheckRow& row) {
  const GradcheckOptions which{.most_entries = options.most_entries};
  for (const bool make_strided : {false, true}) {
    const std::vector<Tensor> leaves = make_strided
                                           ? as_strided_leaves(c, inputs, options.device)
                                           : as_leaves(c, inputs, {DType::f64, options.device});
    const GradcheckResult r = options.along_a_direction ? check_direction(c.run, leaves, which)
                                                        : gradcheck(c.run, leaves, which);
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
  const Tensor value = c.run(as_leaves(c, inputs, {dtype, {}}));
  const std::vector<std::string> names = op_names(value);
  if (std::find(names.begin(), names.end(), c.op) == names.end() && row.failure.empty()) {
    row.failure = "the row never puts '" + c.op + "' on the tape";
  }
}

}  // namespace

CheckRow check_case(const OpCase& c, const CheckOptions& options) {
  CheckRow row;
  row.op = c.op;
  row.what = c.what;
  std::ostringstream shapes;
  for (const In& in : c.inputs) shapes << (shapes.tellp() > 0 ? " " : "") << in.shape;
  row.shapes = shapes.str();
  try {
    const std::vector<Tensor> inputs = draw_inputs(c);
    check_f64(c, inputs, options, row);
    check_recorded(c, inputs, row);
    if (!c.low_precision) return row;
    row.f32_error = compare_precision(c, inputs, {DType::f32, options.device}, kF32, row.failure);
    row.bf16_error =
        compare_precision(c, inputs, {DType::bf16, options.device}, kBf16, row.failure);
    if (!thread_independent(c, inputs, options.device) && row.failure.empty()) {
      row.failure = "1 thread and 2 threads give different bits";
    }
  } catch (const std::exception& e) {
    if (row.failure.empty()) row.failure = e.what();
  }
  return row;
}

}  // namespace fovea::tests
