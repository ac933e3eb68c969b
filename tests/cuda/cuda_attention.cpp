// cuda_attention [FLAGS]: self-attention on the CUDA device at many numbers of tokens and widths,
// with and without a bias, in f32 and bf16: value and derivatives against the CPU's f64, and equal
// bits under other orders of threads and for an image alone. Without flags it runs a cover: each
// pair of a number of tokens, a width, a dtype and bias or not occurs.
#include <cmath>
#include <cstdio>
#include <sstream>
#include <string>
#include <vector>

#include "apps/common/app.h"
#include "apps/common/cli.h"
#include "engine/autograd.h"
#include "engine/random.h"
#include "ops/attention.h"
#include "tests/cuda/seeds.h"
#include "tests/cuda/units.h"

using namespace fovea;
using namespace fovea::tests;

namespace {

constexpr Device kCuda{DeviceType::cuda, 0};
constexpr std::int64_t kHeads = 1;

struct Size {
  std::int64_t images, tokens, width;
  DType dtype;
  bool has_bias;
};

/// qkv [B, N, 3 H D], bias [H, N, N] (undefined without), dy [B, N, H D].
struct Inputs {
  Tensor qkv, bias, dy;
};

Inputs draw(const Size& size) {
  const auto uniform = [&](const Shape& shape, std::uint64_t stream) {
    return rand_uniform(shape, {-1, 1}, {3, stream}, {DType::f64, {}}).to(size.dtype);
  };
  const std::int64_t n = size.tokens, columns = kHeads * size.width;
  return {uniform({size.images, n, 3 * columns}, 1),
          size.has_bias ? uniform({kHeads, n, n}, 2) : Tensor(),
          uniform({size.images, n, columns}, 3)};
}

/// The value and the derivatives, on the CPU.
std::vector<Tensor> differentiate(const Inputs& in, TensorOptions options) {
  const auto leaf = [&](const Tensor& t) {
    if (!t.defined()) return t;
    return t.to(options.dtype).to(options.device).clone().set_requires_grad();
  };
  const Tensor qkv = leaf(in.qkv), bias = leaf(in.bias);
  const Tensor y = ops::self_attention(qkv, kHeads, bias);
  backward(y, in.dy.to(options.dtype).to(options.device));
  std::vector<Tensor> results{y.detach().to(Device{}), qkv.grad().to(Device{})};
  if (bias.defined()) results.push_back(bias.grad().to(Device{}));
  return results;
}

Tensor last_image(const Tensor& x) {
  Shape one = x.shape();
  one[0] = 1;
  return x.alias(one, x.strides(), (x.size(0) - 1) * x.strides()[0]).clone();
}

bool same(const Tensor& a, const Tensor& b) { return a.to_vector() == b.to_vector(); }

double norm(const Tensor& x) {
  double squares = 0;
  for (const double v : x.to_vector()) squares += v * v;
  return std::sqrt(squares);
}

/// Part 0, 1 or 2 of dqkv: dq, dk or dv.
Tensor part(const Tensor& dqkv, std::int64_t index) {
  const std::int64_t columns = dqkv.size(2) / 3;
  return dqkv.alias({dqkv.size(0), dqkv.size(1), columns}, dqkv.strides(), index * columns);
}

struct Finding {
  std::string wrong;  ///< empty: nothing
  double units = 0;   ///< the largest difference from f64
};

/// A row of scores with one key has no derivative; what rounding leaves of it is bounded by dv.
void check_one_key(const std::vector<Tensor>& got, Finding& finding) {
  const double bound = 1e-6 * norm(part(got[1], 2));
  const bool vanishes = norm(part(got[1], 0)) <= bound && norm(part(got[1], 1)) <= bound &&
                        (got.size() < 3 || norm(got[2]) <= bound);
  if (!vanishes) finding.wrong = "one key has a derivative";
}

void check_units(const std::vector<Tensor>& got, const std::vector<Tensor>& expected,
                 const Bound& bound, Finding& finding) {
  const bool has_one_key = got[0].size(1) == 1;
  if (has_one_key) check_one_key(got, finding);
  for (std::size_t i = 0; i < (has_one_key ? 2 : got.size()); ++i) {
    const double off = worst_units(got[i], expected[i], bound.epsilon);
    finding.units = std::max(finding.units, off);
    if (!(off <= bound.units)) finding.wrong = "result " + std::to_string(i) + " is off";
  }
}

/// With the rounding of a seed: the results under all orders of threads, and of an image alone.
void check_bits(const Size& size, std::int64_t seeds, const Inputs& in,
                const std::vector<Tensor>& first, Finding& finding) {
  for (std::int64_t seed = 2; seed <= seeds; ++seed) {
    use_seed(static_cast<std::uint64_t>(seed));
    const std::vector<Tensor> got = differentiate(in, {size.dtype, kCuda});
    for (std::size_t i = 0; i < got.size(); ++i) {
      if (!same(first[i], got[i])) finding.wrong = "other bits under seed " + std::to_string(seed);
    }
  }
  const Inputs alone{last_image(in.qkv), in.bias, last_image(in.dy)};
  const std::vector<Tensor> one = differentiate(alone, {size.dtype, kCuda});
  for (std::size_t i = 0; i < 2; ++i) {
    if (!same(one[i], last_image(first[i]))) finding.wrong = "other bits for an image alone";
  }
}

Finding check_size(const Size& size, std::int64_t seeds, bool all) {
  Finding finding;
  const Inputs in = draw(size);
  const std::vector<Tensor> expected = differentiate(in, {DType::f64, {}});
  for (const bool worst : {false, true}) {
    use_worst_rounding(worst);
    use_seed(1);
    const std::vector<Tensor> got = differentiate(in, {size.dtype, kCuda});
    check_units(got, expected, kBounds[size.dtype == DType::f32 ? 1 : 2], finding);
    if (size.images > 1 && (all || !worst)) check_bits(size, seeds, in, got, finding);
  }
  for (const std::string& text : take_findings()) finding.wrong = text;
  return finding;
}

std::vector<std::int64_t> numbers_of(const std::string& text) {
  std::vector<std::int64_t> numbers;
  std::istringstream in(text);
  for (std::string part; std::getline(in, part, ',');) numbers.push_back(std::stoll(part));
  return numbers;
}

/// All sizes, or one for each number of tokens and width: then dtype and bias alternate so that
/// each meets all of these, and each other, and many tokens make one image, whose bits are left
/// unchecked.
std::vector<Size> sizes_of(const std::vector<std::int64_t>& tokens,
                           const std::vector<std::int64_t>& widths, bool all) {
  std::vector<Size> sizes;
  for (std::size_t n = 0; n < tokens.size(); ++n) {
    for (std::size_t w = 0; w < widths.size(); ++w) {
      for (std::size_t kind = 0; kind < 4; ++kind) {
        if (!all && kind != (n + w + n / 2 + w / 2) % 4) continue;
        const DType dtype = kind % 2 == 0 ? DType::f32 : DType::bf16;
        const std::int64_t images = all || tokens[n] < 150 ? 2 : 1;
        sizes.push_back({images, tokens[n], widths[w], dtype, kind / 2 % 2 != 0});
      }
    }
  }
  return sizes;
}

int main_body(int argc, char** argv) {
  std::string tokens = "1,7,16,17,63,64,65,127,129,197,257", widths = "16,26,32,39,48,64,70,96,128";
  std::int64_t seeds = 2;
  bool all = false;
  CommandSpec spec;
  spec.name = "cuda_attention";
  spec.description = "Self-attention of many sizes on the CUDA device, against f64 on the CPU.";
  FieldGroup checks(spec.fields, "Checks");
  checks.add("tokens", &tokens, "numbers of tokens, separated by commas");
  checks.add("widths", &widths, "columns per head, separated by commas");
  checks.add("all", &all, "all combinations with both dtypes, with and without a bias");
  checks.add("seeds", &seeds, "orders of threads under which the bits must be equal");
  parse_into_fields(argc, argv, spec);
  require_device(kCuda);
  int failed = 0;
  const std::vector<Size> sizes = sizes_of(numbers_of(tokens), numbers_of(widths), all);
  for (const Size& size : sizes) {
    const Finding finding = check_size(size, seeds, all);
    failed += !finding.wrong.empty();
    const std::string dtype(to_string(size.dtype));
    std::printf("%5lld tokens, width %3lld, %-4s %-7s %9.2g  %s %s\n",
                static_cast<long long>(size.tokens), static_cast<long long>(size.width),
                dtype.c_str(), size.has_bias ? "bias" : "no bias", finding.units,
                finding.wrong.empty() ? "PASS" : "FAIL", finding.wrong.c_str());
    std::fflush(stdout);
  }
  std::printf("%zu sizes, %d failed\n", sizes.size(), failed);
  return failed > 0 ? 1 : 0;
}

}  // namespace

int main(int argc, char** argv) { return run_app(argc, argv, main_body); }
