// Times of sums, divisions, random numbers and copies, for sums_bench.py, which compares two
// builds. For each line of standard input, the name of a case, it prints the seconds of one run;
// "list" prints the names.
//
//   sums_bench [threads]
#include <chrono>
#include <cstdio>
#include <functional>
#include <iostream>
#include <map>
#include <string>

#include "engine/autograd.h"
#include "engine/parallel.h"
#include "engine/random.h"
#include "ops/ops.h"

namespace {

using namespace fovea;
using Run = std::function<void()>;

Tensor drawn(const Shape& shape, std::uint64_t stream) {
  return rand_normal(shape, {0, 1}, {1, stream});
}

/// Forward and backward passes of f, whose tensors are made once.
Run differentiated(const std::function<Tensor()>& f) {
  const Tensor dy = drawn(f().shape(), 9);
  return [=] { backward(f(), dy); };
}

Run convolution(const Shape& image, const Shape& filters, const ops::Conv2dOptions& options) {
  const Tensor x = drawn(image, 1), w = drawn(filters, 2).set_requires_grad();
  const Tensor b = zeros({filters[0]}).set_requires_grad();
  return differentiated([=] { return ops::conv2d(x, w, b, options); });
}

Run lookup(std::int64_t rows, std::int64_t count) {
  const Tensor table = drawn({rows, 192}, 1).set_requires_grad();
  const Tensor ids = rand_uniform({count}, {0, static_cast<double>(rows)}, {3}, {DType::i64, {}});
  return differentiated([=] { return ops::embedding(table, ids); });
}

constexpr int kCalls = 10'000;  // of an op on four elements, whose time is that of the call

void add_calls(std::map<std::string, Run>& all) {
  const Tensor a = drawn({4}, 6), b = drawn({4}, 7);
  const Tensor leaf = drawn({4}, 8).set_requires_grad();
  all["calls_of_add"] = [=] {
    for (int i = 0; i < kCalls; ++i) (void)ops::add(a, b);
  };
  all["calls_of_add_and_backward"] = [=] {
    for (int i = 0; i < kCalls; ++i) backward(ops::add(leaf, b), a);
  };
}

/// Cases of shapes that training has.
std::map<std::string, Run> cases() {
  const Tensor x = drawn({64, 197, 192}, 1), image = drawn({32, 64, 56, 56}, 2);
  const Tensor leaf = drawn({32, 64, 28, 28}, 3).set_requires_grad();
  const Tensor tokens = drawn({32, 197, 192}, 4).set_requires_grad();
  const Tensor filter = drawn({192, 1, 3, 3}, 5).set_requires_grad();
  const Tensor buffer = zeros({64, 197, 192}), narrow = zeros(x.shape(), {DType::bf16, {}});
  return {
      {"division", [=] { (void)(x / 3.0); }},
      {"mean", [=] { (void)ops::mean(x, {1}); }},
      {"mean_all", [=] { (void)ops::mean(x); }},
      {"variance", [=] { (void)ops::var(x, {2}); }},
      {"uniform_f32",
       [] {
         (void)rand_uniform({1 << 20}, {-1, 1}, {1});
       }},
      {"uniform_i64",
       [] {
         (void)rand_uniform({1 << 20}, {0, 1000}, {1}, {DType::i64, {}});
       }},
      {"copy", [=] { buffer.copy_(x); }},
      {"copy_to_bf16", [=] { narrow.copy_(x); }},
      {"copy_transposed", [=] { ops::transpose(buffer, 0, 1).copy_(ops::transpose(x, 0, 1)); }},
      {"copy_rows",
       [=] {
         for (int i = 0; i < 64; ++i) ops::select(buffer, 0, i).fill_(i);
       }},
      {"average_pooling",
       [=] {
         (void)ops::avg_pool2d(image, {.kernel = {7, 7}, .stride = {7, 7}});
       }},
      {"global_pooling",
       [=] {
         (void)ops::avg_pool2d(image, {.kernel = {56, 56}});
       }},
      {"upsampling", differentiated([=] { return ops::upsample_nearest(leaf, 2); })},
      {"dense_convolution", convolution({8, 64, 56, 56}, {64, 64, 3, 3}, {.padding = {1, 1}})},
      {"deep_convolution", convolution({8, 512, 14, 14}, {64, 512, 3, 3}, {.padding = {1, 1}})},
      {"depthwise_convolution",
       convolution({8, 192, 28, 28}, {192, 1, 3, 3}, {.padding = {1, 1}, .groups = 192})},
      {"depthwise_stride_2", convolution({8, 192, 56, 56}, {192, 1, 3, 3},
                                         {.stride = {2, 2}, .padding = {1, 1}, .groups = 192})},
      {"depthwise_tokens", differentiated([=] {
         return ops::depthwise_tokens(tokens, filter, {},
                                      {.grid = {14, 14}, .prefix = 1, .padding = 1});
       })},
      {"class_embedding", lookup(1001, 256)},
      {"position_table", lookup(169, 2401)},
      {"long_lookup", lookup(1001, 20000)},
  };
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1) set_num_threads(std::stoi(argv[1]));
  std::map<std::string, Run> all = cases();
  add_calls(all);
  for (std::string name; std::getline(std::cin, name);) {
    if (name == "list") {
      for (const auto& [each, run] : all) std::printf("%s ", each.c_str());
      std::printf("\n");
    } else {
      const auto start = std::chrono::steady_clock::now();
      for (int i = 0; i < 5; ++i) all.at(name)();
      const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
      std::printf("%.9f\n", taken.count());
    }
    std::fflush(stdout);
  }
}
