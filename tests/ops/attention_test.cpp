// Attention against loops in double precision, and what must not change its bits: the number of
// threads, the batch around an image, the memory layout.
#include "ops/attention.h"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <optional>
#include <sstream>

#include "engine/autograd.h"
#include "engine/parallel.h"
#include "engine/random.h"
#include "tests/support/values.h"

using namespace fovea;

namespace {

using BiasShape = std::optional<Shape>;

struct AttentionSizes {
  std::int64_t batch, heads, queries, keys, width, value_width;

  Shape q() const { return {batch, heads, queries, width}; }
  Shape k() const { return {batch, heads, keys, width}; }
  Shape v() const { return {batch, heads, keys, value_width}; }
  Shape y() const { return {batch, heads, queries, value_width}; }
  Shape scores() const { return {batch, heads, queries, keys}; }
};

std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

/// Inputs, output and gradients of one case.
struct Case {
  Tensor q, k, v, bias, dy;
};
struct Result {
  Values y, dq, dk, dv, dbias;
};

Tensor random(const Shape& shape, DType dtype, std::uint64_t seed, double size = 1) {
  return rand_uniform(shape, {-size, size}, {seed}, {DType::f64, {}}).to(dtype);
}

Case make_case(const AttentionSizes& s, const BiasShape& bias, DType dtype) {
  return {random(s.q(), dtype, 1, 2), random(s.k(), dtype, 2, 2), random(s.v(), dtype, 3),
          bias ? random(*bias, dtype, 4, 2) : Tensor(), random(s.y(), dtype, 5)};
}

/// softmax(scale q k^T + bias) v and its derivative as written in a textbook, one head at a time.
class Plain {
 public:
  Plain(const AttentionSizes& s, const Case& c)
      : s_(s),
        q_(c.q.to_vector()),
        k_(c.k.to_vector()),
        v_(c.v.to_vector()),
        dy_(c.dy.to_vector()) {
    if (c.bias.defined()) {
      bias_ =
          c.bias.alias(s.scores(), broadcast_strides(c.bias.shape(), c.bias.strides(), s.scores()))
              .to_vector();
    }
    r_.y.resize(at(s.y().numel()));
    r_.dq.resize(q_.size());
    r_.dk.resize(k_.size());
    r_.dv.resize(v_.size());
    r_.dbias.resize(at(s.scores().numel()));  // not yet summed
  }

  Result run() {
    for (std::int64_t head = 0; head < s_.batch * s_.heads; ++head)
      for (std::int64_t n = 0; n < s_.queries; ++n) row(head, n);
    return r_;
  }

 private:
  double dot(const Values& a, std::int64_t i, const Values& b, std::int64_t j, std::int64_t n) {
    double sum = 0;
    for (std::int64_t d = 0; d < n; ++d) sum += a[at(i * n + d)] * b[at(j * n + d)];
    return sum;
  }

  void row(std::int64_t head, std::int64_t n) {
    const std::int64_t query = head * s_.queries + n, D = s_.width, E = s_.value_width;
    const double scale = 1 / std::sqrt(static_cast<double>(D));
    Values p(at(s_.keys)), dp(at(s_.keys));
    double largest = -1e300, sum = 0, mean = 0;
    for (std::int64_t m = 0; m < s_.keys; ++m) {
      p[at(m)] = scale * dot(q_, query, k_, head * s_.keys + m, D);
      if (!bias_.empty()) p[at(m)] += bias_[at(query * s_.keys + m)];
      largest = std::max(largest, p[at(m)]);
    }
    for (double& x : p) sum += x = std::exp(x - largest);
    for (double& x : p) x /= sum;
    for (std::int64_t m = 0; m < s_.keys; ++m) {
      dp[at(m)] = dot(dy_, query, v_, head * s_.keys + m, E);
      mean += dp[at(m)] * p[at(m)];
    }
    for (std::int64_t m = 0; m < s_.keys; ++m) {
      const std::int64_t key = head * s_.keys + m;
      const double ds = p[at(m)] * (dp[at(m)] - mean);
      r_.dbias[at(query * s_.keys + m)] = ds;
      for (std::int64_t e = 0; e < E; ++e) {
        r_.y[at(query * E + e)] += p[at(m)] * v_[at(key * E + e)];
        r_.dv[at(key * E + e)] += p[at(m)] * dy_[at(query * E + e)];
      }
      for (std::int64_t d = 0; d < D; ++d) {
        r_.dq[at(query * D + d)] += scale * ds * k_[at(key * D + d)];
        r_.dk[at(key * D + d)] += scale * ds * q_[at(query * D + d)];
      }
    }
  }

  AttentionSizes s_;
  Values q_, k_, v_, bias_, dy_;
  Result r_;
};

/// Adds up what a broadcast repeated.
Values fold(const Values& full, const Shape& scores, const Shape& own) {
  Values sum(at(own.numel()));
  const Strides strides = broadcast_strides(own, contiguous_strides(own), scores);
  std::size_t i = 0;
  for (std::int64_t b = 0; b < scores[0]; ++b)
    for (std::int64_t h = 0; h < scores[1]; ++h)
      for (std::int64_t n = 0; n < scores[2]; ++n)
        for (std::int64_t m = 0; m < scores[3]; ++m)
          sum[at(b * strides[0] + h * strides[1] + n * strides[2] + m * strides[3])] += full[i++];
  return sum;
}

Result fused(const Case& c) {
  Case leaf{c.q.clone(), c.k.clone(), c.v.clone(), c.bias, c.dy};
  for (const Tensor& t : {leaf.q, leaf.k, leaf.v}) t.set_requires_grad();
  if (c.bias.defined()) (leaf.bias = c.bias.clone()).set_requires_grad();
  const Tensor y = ops::attention(leaf.q, leaf.k, leaf.v, leaf.bias);
  backward(y, leaf.dy);
  return {y.to_vector(), leaf.q.grad().to_vector(), leaf.k.grad().to_vector(),
          leaf.v.grad().to_vector(), c.bias.defined() ? leaf.bias.grad().to_vector() : Values{}};
}

/// ||a - b|| / max(||b||, floor).
double error(const Values& a, const Values& b, double floor = 1e-30) {
  REQUIRE(a.size() == b.size());
  double difference = 0, norm = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    difference += (a[i] - b[i]) * (a[i] - b[i]);
    norm += b[i] * b[i];
  }
  return std::sqrt(difference) / std::max(std::sqrt(norm), floor);
}

struct Tolerance {
  DType dtype;
  double output, gradient;
};
const Tolerance kTolerances[] = {
    {DType::f64, 1e-12, 1e-12}, {DType::f32, 2e-6, 5e-6}, {DType::bf16, 1e-2, 3e-2}};

std::string text(const Shape& shape) {
  std::ostringstream out;
  out << shape;
  return out.str();
}

void compare_with_plain(const AttentionSizes& sizes, const BiasShape& bias = {}) {
  for (const Tolerance& tolerance : kTolerances) {
    CAPTURE(std::string(to_string(tolerance.dtype)));
    CAPTURE(text(sizes.scores()));
    CAPTURE(bias ? text(*bias) : "no bias");
    const Case c = make_case(sizes, bias, tolerance.dtype);
    const Result want = Plain(sizes, c).run(), got = fused(c);
    CHECK(error(got.y, want.y) < tolerance.output);
    CHECK(error(got.dq, want.dq) < tolerance.gradient);
    CHECK(error(got.dk, want.dk) < tolerance.gradient);
    CHECK(error(got.dv, want.dv) < tolerance.gradient);
    if (!bias) continue;
    // A bias that is equal for all keys has no effect: its gradient is zero but for rounding.
    const double floor = 1e-2 * std::sqrt(static_cast<double>(sizes.scores().numel()));
    CHECK(error(got.dbias, fold(want.dbias, sizes.scores(), *bias), floor) < tolerance.gradient);
  }
}

/// Whether two tensors are equal bit for bit (numerically, NaN unequal).
bool same(const Tensor& a, const Tensor& b) {
  return a.shape() == b.shape() && a.to_vector() == b.to_vector();
}

/// Image `i` of a batch, on its own.
Tensor image(const Tensor& x, std::int64_t i) {
  Shape one = x.shape();
  one[0] = 1;
  return x.alias(one, x.strides(), i * x.strides()[0]).clone();
}

struct SelfResult {
  Tensor y, dqkv, dbias;
};

SelfResult run_self(const Tensor& qkv, std::int64_t heads, const Tensor& bias, const Tensor& dy) {
  const Tensor x = qkv.clone(), b = bias.defined() ? bias.clone() : Tensor();
  x.set_requires_grad();
  if (b.defined()) b.set_requires_grad();
  const Tensor y = ops::self_attention(x, heads, b);
  backward(y, dy);
  return {y.detach(), x.grad(), b.defined() ? b.grad() : Tensor()};
}

const double kInfinity = std::numeric_limits<double>::infinity();

}  // namespace

TEST_CASE("attention equals the textbook: sizes around vectors and tiles") {
  compare_with_plain({1, 1, 1, 1, 1, 1});
  compare_with_plain({2, 3, 5, 7, 5, 3});
  compare_with_plain({1, 2, 16, 16, 16, 16});
  compare_with_plain({1, 2, 65, 65, 64, 64});
  compare_with_plain({2, 1, 73, 33, 48, 7});
  compare_with_plain({1, 1, 37, 131, 32, 81});
}

TEST_CASE("attention equals the textbook: many tiles of keys and queries") {
  compare_with_plain({1, 1, 197, 197, 16, 16});
  compare_with_plain({1, 2, 259, 1025, 7, 5});
  compare_with_plain({3, 6, 1100, 3, 2, 2});
}

TEST_CASE("attention equals the textbook: every way to broadcast a bias") {
  const AttentionSizes sizes{2, 3, 11, 19, 5, 4};
  for (const Shape& bias : {Shape{2, 3, 11, 19},
                            {1, 3, 11, 19},
                            {2, 1, 11, 19},
                            {1, 1, 11, 19},
                            {11, 19},
                            {2, 1, 1, 19},
                            {3, 1, 19},
                            {19},
                            {2, 3, 11, 1},
                            {1, 11, 1},
                            {3, 1, 1},
                            {1},
                            {}}) {
    compare_with_plain(sizes, bias);
  }
  compare_with_plain({5, 2, 80, 270, 3, 3}, Shape{2, 80, 270});
  compare_with_plain({5, 2, 80, 270, 3, 3}, Shape{5, 1, 1, 270});
}

TEST_CASE("scores of 1e4 keep value and gradient exact to f32") {
  const AttentionSizes sizes{1, 2, 9, 70, 8, 8};
  for (const Tolerance& tolerance : {Tolerance{DType::f64, 1e-9, 1e-9}, {DType::f32, 2e-5, 2e-4}}) {
    const Case c = make_case(sizes, Shape{1, 2, 9, 70}, tolerance.dtype);
    for (std::int64_t i = 0; i < c.bias.numel(); ++i) {  // integers, which no rounding touches
      const double score = 9984 + static_cast<double>(i % 7);
      c.bias.alias({}, {}, i).fill_(i % 2 == 0 ? score : -score);
    }
    c.q.fill_(0);
    const Result want = Plain(sizes, c).run(), got = fused(c);
    CHECK(error(got.y, want.y) < tolerance.output);
    CHECK(error(got.dq, want.dq) < tolerance.gradient);
    CHECK(error(got.dv, want.dv) < tolerance.gradient);
    CHECK(error(got.dbias, want.dbias) < tolerance.gradient);
  }
}

TEST_CASE("attention of two keys in f32 is exact to 3 ulp and three roundings") {
  Values differences;
  for (double x = 0; x > -87; x -= 0.00137) differences.push_back(static_cast<float>(x));
  const auto queries = static_cast<std::int64_t>(differences.size());
  const Tensor q = from_values({1, 1, queries, 1}, differences);
  const Tensor keys = from_values({1, 1, 2, 1}, {0, 1});
  const Values got = ops::attention(q, keys, keys).to_vector();
  double worst = 0;
  for (std::size_t i = 0; i < got.size(); ++i) {
    const double exact = 1 / (1 + std::exp(-differences[i]));
    worst = std::max(worst, std::abs(got[i] - exact) / exact);
  }
  // The exponential; then the sum, its inverse and the product with it.
  CHECK(worst < 3 * std::ldexp(1, -23) + 3 * std::ldexp(1, -24));
}

TEST_CASE("where each query sees one key alone, no gradient reaches queries, keys and bias") {
  for (const std::int64_t keys : {1, 70, 700}) {
    for (const DType dtype : {DType::f64, DType::f32}) {
      CAPTURE(keys);
      const AttentionSizes sizes{1, 2, 83, keys, 24, 37};
      Case c = make_case(sizes, {}, dtype);
      Values bias(at(83 * keys), -1e4);
      for (std::int64_t i = 0; i < 83; ++i) bias[at(i * keys + 7 * i % keys)] = 0;
      c.bias = from_values({83, keys}, bias, {dtype, {}});
      const Result got = fused(c);
      for (const Values& gradient : {got.dq, got.dk, got.dbias})
        CHECK(gradient == Values(gradient.size(), 0.0));
    }
  }
}

TEST_CASE("strided inputs give the bits of contiguous ones") {
  const AttentionSizes s{2, 3, 37, 41, 5, 9};
  const Case c = make_case(s, {}, DType::f32);
  const auto swapped = [](const Tensor& t) {  // the same values with the axes stored in reverse
    const Tensor store = empty({t.size(3), t.size(2), t.size(1), t.size(0)}, t.options());
    const Strides& a = store.strides();
    const Tensor view = store.alias(t.shape(), {a[3], a[2], a[1], a[0]});
    view.copy_(t);
    return view;
  };
  const Tensor y = ops::attention(c.q, c.k, c.v);
  CHECK(same(ops::attention(swapped(c.q), swapped(c.k), swapped(c.v)), y));
}

TEST_CASE("self_attention equals attention on its parts") {
  constexpr std::int64_t B = 2, N = 67, H = 3, D = 5;
  for (const DType dtype : {DType::f64, DType::f32, DType::bf16}) {
    const Tensor qkv = random({B, N, 3 * H * D}, dtype, 1), bias = random({H, N, N}, dtype, 2);
    const Tensor dy = random({B, N, H * D}, dtype, 3);
    const SelfResult self = run_self(qkv, H, bias, dy);

    const Strides part{N * 3 * H * D, D, 3 * H * D, 1};
    const auto leaf = [&](std::int64_t offset) {
      const Tensor t = qkv.alias({B, H, N, D}, part, offset).clone();
      t.set_requires_grad();
      return t;
    };
    const Tensor q = leaf(0), k = leaf(H * D), v = leaf(2 * H * D), b = bias.clone();
    b.set_requires_grad();
    const Tensor y = ops::attention(q, k, v, b);
    const Strides heads{N * H * D, D, H * D, 1};
    backward(y, dy.alias({B, H, N, D}, heads).contiguous());
    CHECK(same(self.y.alias({B, H, N, D}, heads), y));
    CHECK(same(self.dqkv.alias({B, H, N, D}, part), q.grad()));
    CHECK(same(self.dqkv.alias({B, H, N, D}, part, H * D), k.grad()));
    CHECK(same(self.dqkv.alias({B, H, N, D}, part, 2 * H * D), v.grad()));
    CHECK(same(self.dbias, b.grad()));
  }
}

TEST_CASE("the number of threads and the batch around an image change no bit") {
  constexpr std::int64_t B = 8, H = 3, D = 7;
  const int threads = num_threads();
  for (const std::int64_t N : {5, 65, 530}) {
    CAPTURE(N);
    const Tensor qkv = random({B, N, 3 * H * D}, DType::f32, 1);
    const Tensor bias = random({H, N, N}, DType::f32, 2), dy = random({B, N, H * D}, DType::f32, 3);
    set_num_threads(1);
    const SelfResult one = run_self(qkv, H, bias, dy);
    set_num_threads(3);
    const SelfResult three = run_self(qkv, H, bias, dy);
    CHECK(same(one.y, three.y));
    CHECK(same(one.dqkv, three.dqkv));
    CHECK(same(one.dbias, three.dbias));
    const SelfResult alone = run_self(image(qkv, 3), H, bias, image(dy, 3));
    CHECK(same(alone.y, image(one.y, 3)));
    CHECK(same(alone.dqkv, image(one.dqkv, 3)));
    set_num_threads(threads);
  }
}

TEST_CASE("a row that is masked whole gives zeros and no gradient") {
  for (const std::int64_t keys : {3, 700}) {  // one tile; two, the first of them masked elsewhere
    const AttentionSizes sizes{1, 1, 3, keys, 4, 4};
    const Case c = make_case(sizes, Shape{3, keys}, DType::f32);
    c.bias.alias({keys}, {1}, keys).fill_(-kInfinity);          // query 1: all keys
    c.bias.alias({keys - 1}, {1}, 2 * keys).fill_(-kInfinity);  // query 2: all but the last
    const Result got = fused(c);
    for (std::size_t d = 0; d < 4; ++d) {
      CHECK(got.y[4 + d] == 0);
      CHECK(got.dq[4 + d] == 0);
      CHECK(got.y[8 + d] == c.v.at((keys - 1) * 4 + static_cast<std::int64_t>(d)));
      CHECK(std::isfinite(got.dk[d]));
      CHECK(std::isfinite(got.dv[d]));
    }
    for (std::int64_t m = 0; m < keys; ++m) CHECK(got.dbias[at(keys + m)] == 0);
  }
}

TEST_CASE("NaN in an input reaches the output") {
  const Case c = make_case({1, 1, 20, 20, 4, 4}, {}, DType::f32);
  c.k.alias({}, {}, 17 * 4).fill_(std::nan(""));
  const Values y = ops::attention(c.q, c.k, c.v).to_vector();
  for (const double x : y) CHECK(std::isnan(x));
}

TEST_CASE("a bias in f32 beside bf16 gets its gradient in f32") {
  const Case c = make_case({2, 2, 5, 5, 4, 4}, Shape{2, 5, 5}, DType::bf16);
  const Tensor bias = c.bias.to(DType::f32).clone();
  bias.set_requires_grad();
  const Tensor y = ops::attention(c.q, c.k, c.v, bias);
  CHECK(y.dtype() == DType::bf16);
  CHECK(same(y.detach(), ops::attention(c.q, c.k, c.v, c.bias)));
  backward(y, c.dy);
  CHECK(bias.grad().dtype() == DType::f32);
}

TEST_CASE("long sequences hold no matrix of pairs") {
  constexpr std::int64_t N = 2048;
  const Tensor qkv = random({1, N, 3 * 4}, DType::f32, 1), dy = random({1, N, 4}, DType::f32, 2);
  qkv.set_requires_grad();
  reset_peak_memory();
  const std::int64_t before = memory_stats().peak_bytes;
  backward(ops::self_attention(qkv, 1), dy);
  CHECK(memory_stats().peak_bytes - before < N * N / 4);  // of 4 N^2 bytes
}

TEST_CASE("no keys give zeros; no queries give no gradient to the keys") {
  const Result no_keys = fused(make_case({2, 1, 3, 0, 4, 2}, {}, DType::f32));
  CHECK(no_keys.y == Values(12));
  CHECK(no_keys.dq == Values(24));
  const Result no_queries = fused(make_case({2, 1, 0, 3, 4, 2}, Shape{3}, DType::f32));
  CHECK(no_queries.dk == Values(24));
  CHECK(no_queries.dv == Values(12));
  CHECK(no_queries.dbias == Values(3));
  CHECK(ops::self_attention(zeros({0, 5, 12}), 2).shape() == Shape{0, 5, 4});
}

TEST_CASE("attention refuses what does not fit") {
  const auto message = [](auto&& f) -> std::string {
    try {
      f();
    } catch (const Error& e) {
      return e.what();
    }
    return "";
  };
  const Tensor q = zeros({2, 3, 5, 4}), k = zeros({2, 3, 7, 4});
  CHECK(message([&] {
          (void)ops::attention(q, k, zeros({2, 3, 6, 4}));
        }) ==
        "attention: got q [2, 3, 5, 4], k [2, 3, 7, 4], v [2, 3, 6, 4], expected [B, H, N, D], "
        "[B, H, M, D], [B, H, M, E]");
  CHECK(message([&] {
          (void)ops::attention(q, k, k, zeros({2, 7}));
        }) == "attention: bias [2, 7] does not broadcast to the scores [2, 3, 5, 7]");
  CHECK(message([&] { (void)ops::attention(q, k.to(DType::f64), k); }) ==
        "attention: q, k, v are f32, f64, f32, expected one dtype");
  CHECK(message([&] {
          (void)ops::self_attention(zeros({2, 5, 12}), 3);
        }) == "self_attention: got qkv [2, 5, 12] and 3 heads, expected [B, N, 3 H D]");
  CHECK(message([&] {
          (void)ops::self_attention(zeros({2, 5, 12}), 2, {}, {.scale = kInfinity});
        }).find("scale is inf") != std::string::npos);
}
