// What each op of a ViT must move, and the kinds of kernels.
#include "tests/cuda/least_bytes.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <string_view>
#include <utility>

#include "engine/autograd.h"
#include "engine/base/error.h"

namespace fovea::tests {
namespace {

constexpr const char *kProducts = "products", *kAttention = "attention", *kNorms = "norms",
                     *kGelu = "GELU", *kUpdate = "optimizer", *kLosses = "losses",
                     *kOthers = "copies, sums";

double bytes_of(const Tensor& t) {
  return t.defined() ? static_cast<double>(t.numel()) * static_cast<double>(size_of(t.dtype())) : 0;
}
double bytes_of(std::int64_t count, DType dtype) {
  return static_cast<double>(count) * static_cast<double>(size_of(dtype));
}

using Kinds = std::map<std::string, double>;
/// x, weight, bias, residual, as far as an op has them.
using Inputs = std::span<const Tensor>;

Tensor input(Inputs inputs, std::size_t i) { return i < inputs.size() ? inputs[i] : Tensor(); }

/// y = x w^T + b (+ residual). Backward: dx = dy w and dw = dy^T x, with dy in x's dtype.
void add_linear(Kinds& kinds, Inputs inputs, const Tensor& y) {
  const Tensor &x = inputs[0], &w = inputs[1];
  const DType dtype = x.dtype();
  const double weight = bytes_of(w.numel(), dtype), dy = bytes_of(y.numel(), dtype);
  kinds[kProducts] += bytes_of(x) + weight + bytes_of(input(inputs, 3)) + bytes_of(y);
  if (x.requires_grad()) kinds[kProducts] += dy + weight + bytes_of(x);
  kinds[kProducts] += dy + bytes_of(x) + bytes_of(w);  // dw has w's dtype
}

/// z = x w^T + b, and y = gelu(z) in a pass of its own. Backward: y again for the next layer's dw,
/// and dz from z and dy.
void add_linear_gelu(Kinds& kinds, Inputs inputs, const Tensor& y) {
  add_linear(kinds, inputs, y);
  kinds[kGelu] += (2 + 2 + 3) * bytes_of(y);
}

/// Patches are gathered from the images, in y's dtype, then as linear without dx.
void add_patch_embed(Kinds& kinds, Inputs inputs, const Tensor& y) {
  kinds[kOthers] += 2 * bytes_of(inputs[0]);
  add_linear(kinds, inputs, y);
}

/// Backward in one pass: dx is added to what other ops gave x, and written again in y's dtype if
/// that is another one.
void add_norm(Kinds& kinds, Inputs inputs, const Tensor& y) {
  const Tensor& x = inputs[0];
  const bool in_stream = x.dtype() != y.dtype();
  kinds[kNorms] += bytes_of(x) + bytes_of(y);
  kinds[kNorms] += bytes_of(x) + bytes_of(y) + bytes_of(x);
  if (in_stream) kinds[kNorms] += bytes_of(x) + bytes_of(y);
}

/// Of q, k, v and y. Backward in two passes: dq from q, k, v, y and dy, then dk and dv from q, k, v
/// and dy.
void add_attention(Kinds& kinds, double q, double kv, double y) {
  kinds[kAttention] += q + kv + y;
  kinds[kAttention] += q + kv + 2 * y + q;
  kinds[kAttention] += q + kv + y + kv;
}
void add_self_attention(Kinds& kinds, Inputs inputs, const Tensor& y) {
  const double qkv = bytes_of(inputs[0]);
  add_attention(kinds, qkv / 3, qkv * 2 / 3, bytes_of(y));
}
void add_split_attention(Kinds& kinds, Inputs inputs, const Tensor& y) {
  add_attention(kinds, bytes_of(inputs[0]), bytes_of(inputs[1]) + bytes_of(inputs[2]), bytes_of(y));
}

/// Backward of these is a copy, or nothing.
void add_copy(Kinds& kinds, Inputs inputs, const Tensor& y) {
  for (const Tensor& t : inputs) kinds[kOthers] += bytes_of(t);
  kinds[kOthers] += bytes_of(y);
  if (y.requires_grad()) kinds[kOthers] += bytes_of(y) + bytes_of(inputs[0]);
}
void add_sum(Kinds& kinds, Inputs inputs, const Tensor& y) {
  for (const Tensor& t : inputs) kinds[kOthers] += bytes_of(t);
  kinds[kOthers] += bytes_of(y);
}
/// Logits and targets are read for the loss, and again for the derivative.
void add_loss(Kinds& kinds, Inputs inputs, const Tensor& /*y*/) {
  kinds[kLosses] += 5 * bytes_of(inputs[0]);
}
void add_nothing(Kinds&, Inputs, const Tensor&) {}

using Add = void (*)(Kinds&, Inputs, const Tensor&);
constexpr std::pair<std::string_view, Add> kOps[] = {
    {"linear", add_linear},
    {"linear_gelu", add_linear_gelu},
    {"patch_embed", add_patch_embed},
    {"layer_norm", add_norm},
    {"self_attention", add_self_attention},
    {"attention", add_split_attention},
    {"to", add_copy},
    {"cat", add_sum},
    {"add", add_sum},
    {"soft_cross_entropy", add_loss},
    {"log_softmax", add_nothing},
    {"slice", add_nothing},
    {"select", add_nothing},
    {"reshape", add_nothing},
    {"permute", add_nothing},
    {"expand", add_nothing},
    {"clone", add_nothing},
    {"to_device", add_nothing},
};

/// Parts of kernels' names, and their kinds; the first that fits counts.
constexpr std::pair<std::string_view, const char*> kKernels[] = {
    {"attention", kAttention},
    {"mma_dq", kAttention},
    {"mma_dkv", kAttention},
    {"layer_norm", kNorms},
    {"Gelu", kGelu},
    {"gelu", kGelu},
    {"AdamWElement", kUpdate},
    {"AverageElement", kUpdate},
    {"squares_kernel", kUpdate},
    {"limit_kernel", kUpdate},
    {"softmax", kLosses},
    {"loss", kLosses},
    {"total_kernel", kLosses},
};

}  // namespace

void LeastBytes::recorded(const OpLabel& op, std::span<const Tensor> inputs, const Tensor& output) {
  if (!counts_ || !grad_enabled()) return;  // ops of derivatives are counted with their op
  const auto found = std::find_if(std::begin(kOps), std::end(kOps), [&](const auto& known) {
    return known.first == std::string_view(op.name());
  });
  check(found != std::end(kOps), "least bytes: got the op ", op.name(),
        ", expected one of the table in tests/cuda/least_bytes.cpp");
  found->second(by_kind_, inputs, output);
}

void LeastBytes::add_pixels(std::int64_t values) {
  by_kind_[kOthers] += bytes_of(values, DType::u8) + bytes_of(values, DType::f32);
}

/// Clipping reads the gradients. AdamW reads them again, and reads and writes weights, moments and
/// averages; the weights' bf16 copies are written.
void LeastBytes::add_update(const ParameterStore& store) {
  for (const Parameter& parameter : store.parameters()) {
    const double own = bytes_of(parameter.tensor);
    if (!parameter.tensor.grad().defined()) continue;
    by_kind_[kUpdate] += 2 * own + 2 * 4 * own;
    if (parameter.tensor.rank() >= 2) by_kind_[kUpdate] += own / 2;
  }
}

std::string kind_of_kernel(const std::string& name) {
  for (const auto& [part, kind] : kKernels) {
    if (name.find(part) != std::string::npos) return kind;
  }
  return kOthers;
}

}  // namespace fovea::tests
