// Evaluation of one row of the gradient-check table.
#include "tests/support/op_case.h"

#include <cstring>

#include "engine/autograd.h"
#include "engine/random.h"

namespace fovea::tests {

std::vector<Tensor> draw_inputs(const OpCase& c) {
  std::vector<Tensor> inputs;
  for (std::size_t i = 0; i < c.inputs.size(); ++i) {
    const In& in = c.inputs[i];
    const Tensor t = in.values.empty()
                         ? rand_uniform(in.shape, {in.lo, in.hi}, {17, i}, {DType::f64, {}})
                         : from_values(in.shape, in.values, {DType::f64, {}});
    inputs.push_back(t.to(in.dtype));
  }
  return inputs;
}

std::vector<Tensor> rounded(std::vector<Tensor> inputs, DType dtype) {
  for (Tensor& t : inputs) {
    if (t.dtype() == DType::f64) t = t.to(dtype).to(DType::f64);
  }
  return inputs;
}

std::vector<Tensor> as_leaves(const OpCase& c, const std::vector<Tensor>& inputs,
                              TensorOptions options) {
  std::vector<Tensor> leaves;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const Tensor& t = inputs[i];
    const bool converts = c.inputs[i].dtype == DType::f64;
    leaves.push_back((converts ? t.to(options.dtype) : t).to(options.device).clone());
    if (c.inputs[i].grad) leaves.back().set_requires_grad();
  }
  return leaves;
}

std::vector<Tensor> value_and_gradients(const OpCase& c, const std::vector<Tensor>& leaves) {
  for (const Tensor& leaf : leaves) leaf.set_grad({});
  std::vector<Tensor> results{c.run(leaves)};
  if (results[0].requires_grad()) {
    const Tensor cotangent = rand_normal(results[0].shape(), {0, 1}, {99}, {DType::f64, {}});
    backward(results[0], cotangent.to(results[0].device()));
  }
  for (const Tensor& leaf : leaves) results.push_back(leaf.grad());
  for (Tensor& result : results) {
    if (result.defined()) result = result.detach().to(Device{}).contiguous();
  }
  return results;
}

namespace {
bool same_bits(const Tensor& a, const Tensor& b) {
  if (!a.defined() || !b.defined()) return a.defined() == b.defined();
  const std::size_t bytes = static_cast<std::size_t>(a.numel()) * size_of(a.dtype());
  return a.shape() == b.shape() && (bytes == 0 || std::memcmp(a.raw(), b.raw(), bytes) == 0);
}
}  // namespace

bool same_bits(const std::vector<Tensor>& a, const std::vector<Tensor>& b) {
  bool same = a.size() == b.size();
  for (std::size_t i = 0; i < a.size() && same; ++i) same = same_bits(a[i], b[i]);
  return same;
}

}  // namespace fovea::tests
