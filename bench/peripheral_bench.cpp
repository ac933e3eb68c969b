// Compares three forms of PerViT's attention exp(s) sigmoid(z) / sum that are equal in exact
// arithmetic: fused with log sigmoid(z) as an additive bias (the form in models), the same unfused,
// and the paper's product. Prints times of forward and backward passes, measured in turns, and
// errors against f64 for moderate and for extreme z.
//
//   peripheral_bench [threads] [repetitions]
#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <string>
#include <vector>

#include "engine/autograd.h"
#include "engine/parallel.h"
#include "engine/random.h"
#include "ops/activation.h"
#include "ops/arithmetic.h"
#include "ops/attention.h"
#include "ops/matmul.h"
#include "ops/order.h"
#include "ops/reduce.h"
#include "ops/softmax.h"
#include "ops/view.h"

namespace {

using namespace fovea;

constexpr std::int64_t kTokens = 196, kHeads = 4, kWidth = 32;  // pervit_tiny_224, first stage

enum class PeripheralForm { fused, written_out, product };
constexpr std::array<const char*, 3> kNames{"fused, additive", "written out, additive",
                                            "written out, product"};

struct Inputs {
  Tensor qkv, z, dy;
};

Inputs make_inputs(std::int64_t batch, double spread, DType dtype) {
  const TensorOptions options{DType::f64, {}};
  Inputs in{rand_normal({batch, kTokens, 3 * kHeads * kWidth}, {0, 1}, {1}, options).to(dtype),
            rand_normal({kHeads, kTokens, kTokens}, {0, spread}, {2}, options).to(dtype),
            rand_normal({batch, kTokens, kHeads * kWidth}, {0, 1}, {3}, options).to(dtype)};
  in.qkv.set_requires_grad();
  in.z.set_requires_grad();
  return in;
}

/// One of the three parts of qkv: [B, H, N, d].
Tensor part(const Tensor& qkv, std::int64_t index) {
  constexpr std::int64_t kAll = kHeads * kWidth;
  const Tensor x = ops::slice(qkv, 2, index * kAll, (index + 1) * kAll);
  return ops::permute(ops::reshape(x, {x.size(0), kTokens, kHeads, kWidth}), {0, 2, 1, 3});
}

Tensor attention(PeripheralForm form, const Inputs& in) {
  if (form == PeripheralForm::fused)
    return ops::self_attention(in.qkv, kHeads, ops::logsigmoid(in.z));
  const Tensor q = part(in.qkv, 0), k = part(in.qkv, 1), v = part(in.qkv, 2);
  const Tensor s = ops::matmul(q, k, {.b = true}) * (1 / std::sqrt(static_cast<double>(kWidth)));
  const Tensor weights =
      form == PeripheralForm::written_out
          ? ops::softmax(s + ops::logsigmoid(in.z), -1)
          : ops::l1_normalize(ops::exp(s - ops::max(s, -1, true)) * ops::sigmoid(in.z), -1);
  const Tensor y = ops::permute(ops::matmul(weights, v), {0, 2, 1, 3});
  return ops::reshape(y.contiguous(), {y.size(0), kTokens, kHeads * kWidth});
}

double seconds_of_step(PeripheralForm form, const Inputs& in) {
  in.qkv.set_grad({});
  in.z.set_grad({});
  const auto start = std::chrono::steady_clock::now();
  backward(attention(form, in), in.dy);
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

double error_of(const Tensor& got, const Tensor& expected) {
  const std::vector<double> a = got.to_vector(), b = expected.to_vector();
  double difference = 0, norm = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    difference += (a[i] - b[i]) * (a[i] - b[i]);
    norm += b[i] * b[i];
  }
  return std::sqrt(difference / norm);
}

void print_times(std::int64_t batch, int repetitions) {
  const Inputs in = make_inputs(batch, 3, DType::f32);
  std::array<std::vector<double>, 3> times;
  for (int i = -1; i < repetitions; ++i) {  // the first round warms up
    for (const PeripheralForm form :
         {PeripheralForm::fused, PeripheralForm::written_out, PeripheralForm::product}) {
      const double seconds = seconds_of_step(form, in);
      if (i >= 0) times[static_cast<std::size_t>(form)].push_back(seconds);
    }
  }
  for (std::vector<double>& t : times) std::sort(t.begin(), t.end());
  const auto median = [](const std::vector<double>& t) { return t[t.size() / 2]; };
  for (std::size_t form = 0; form < times.size(); ++form) {
    std::printf("  %-22s %7.1f ms  %.2fx the speed of the product form\n", kNames[form],
                median(times[form]) * 1e3, median(times[2]) / median(times[form]));
  }
}

void print_errors(double spread) {
  const Inputs exact = make_inputs(2, spread, DType::f64),
               rounded = make_inputs(2, spread, DType::f32);
  const Tensor expected = attention(PeripheralForm::written_out, exact);
  backward(expected, exact.dy);
  for (const PeripheralForm form :
       {PeripheralForm::fused, PeripheralForm::written_out, PeripheralForm::product}) {
    rounded.qkv.set_grad({});
    rounded.z.set_grad({});
    const Tensor got = attention(form, rounded);
    backward(got, rounded.dy);
    std::printf("  %-22s output %.1e  d qkv %.1e  d z %.1e\n",
                kNames[static_cast<std::size_t>(form)], error_of(got, expected),
                error_of(rounded.qkv.grad(), exact.qkv.grad()),
                error_of(rounded.z.grad(), exact.z.grad()));
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1) set_num_threads(std::stoi(argv[1]));
  const int repetitions = argc > 2 ? std::stoi(argv[2]) : 9;
  std::printf("forward and backward, batch 32, %d threads\n", num_threads());
  print_times(32, repetitions);
  for (const double spread : {3.0, 30.0}) {
    std::printf("relative errors in f32, std of z %g\n", spread);
    print_errors(spread);
  }
}
