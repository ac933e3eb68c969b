// Rotary positions against loops in double precision: tables, rotations, and attention that turns
// its queries and keys itself.
#include "ops/rotary.h"

#include <doctest/doctest.h>

#include <cmath>

#include "engine/autograd.h"
#include "engine/parallel.h"
#include "engine/random.h"
#include "ops/arithmetic.h"
#include "ops/attention.h"
#include "ops/view.h"
#include "tests/support/errors.h"
#include "tests/support/f64.h"
#include "tests/support/values.h"

using namespace fovea;
using fovea::tests::check_error;

namespace {

Tensor random(const Shape& shape, DType dtype, std::uint64_t seed) {
  return rand_uniform(shape, {-1, 1}, {seed}, kF64).to(dtype);
}

/// A table of a grid of 2 x 3 with angles of all sizes.
Tensor some_table(std::int64_t groups, std::int64_t pairs) {
  return ops::rotary_table(
      {random({groups, pairs}, DType::f64, 21), random({groups, pairs}, DType::f64, 22)},
      {from_values({2}, {0, 3}, kF64), from_values({3}, {-1, 0, 40}, kF64)});
}

double cosine(const Tensor& table, std::int64_t group, std::int64_t row, std::int64_t pair) {
  return table.at((group * table.size(2) + row) * table.size(3) + pair);
}
double sine(const Tensor& table, std::int64_t group, std::int64_t row, std::int64_t pair) {
  return table.at(table.numel() / 2 + (group * table.size(2) + row) * table.size(3) + pair);
}

/// x [B, H, N, D] turned, one pair after the other.
Values turned(const Tensor& x, const ops::Rotation& r) {
  const Values in = x.to_vector();
  Values out = in;
  const std::int64_t H = x.size(1), N = x.size(2), D = x.size(3), P = D / 2;
  for (std::int64_t i = 0; i < x.numel() / D; ++i) {
    const std::int64_t image = i / (H * N), head = i / N % H, token = i % N;
    const std::int64_t place = token - r.prefix, group = r.table.size(1) == 1 ? 0 : head;
    if (place < 0) continue;
    const auto row = r.places.defined()
                         ? static_cast<std::int64_t>(r.places.at(image * r.places.size(1) + place))
                         : place;
    for (std::int64_t p = 0; p < P; ++p) {
      const auto a = static_cast<std::size_t>(i * D + (r.halves ? p : 2 * p));
      const auto b = static_cast<std::size_t>(i * D + (r.halves ? p + P : 2 * p + 1));
      const double c = cosine(r.table, group, row, p), s = sine(r.table, group, row, p);
      out[a] = in[a] * c - in[b] * s;
      out[b] = in[a] * s + in[b] * c;
    }
  }
  return out;
}

double error(const Values& a, const Values& b) {
  REQUIRE(a.size() == b.size());
  double difference = 0, norm = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    difference += (a[i] - b[i]) * (a[i] - b[i]);
    norm += b[i] * b[i];
  }
  return std::sqrt(difference) / std::max(std::sqrt(norm), 1e-30);
}
double error(const Tensor& a, const Tensor& b) { return error(a.to_vector(), b.to_vector()); }

/// All ways to turn sequences of `tokens` for two images and three heads of 2 `pairs` channels.
std::vector<ops::Rotation> rotations(std::int64_t pairs) {
  const Tensor one = some_table(1, pairs), many = some_table(3, pairs);
  const Tensor places = from_values({2, 4}, {5, 0, 2, 2, 3, 1, 4, 5}, {DType::i64, {}});
  return {{one, 0}, {many, 2}, {one, 1, {}, true}, {many, 0, {}, true}, {many, 1, places}};
}
std::int64_t tokens_of(const ops::Rotation& r) { return r.prefix + (r.places.defined() ? 4 : 6); }

struct Gradients {
  Tensor y, dq, dk, dv, dtable;
};

/// Attention of 2 images and 3 heads, turned by the op itself or before it.
Gradients attend(DType dtype, std::int64_t width, const ops::Rotation& rotation, bool inside) {
  const Shape shape{2, 3, tokens_of(rotation), width};
  const auto leaf = [&](std::uint64_t seed) {
    const Tensor t = random(shape, dtype, seed);
    t.set_requires_grad();
    return t;
  };
  const Tensor q = leaf(1), k = leaf(2), v = leaf(3);
  ops::Rotation r = rotation;
  r.table = rotation.table.to(acc_dtype(dtype)).clone();
  r.table.set_requires_grad();
  const Tensor y = inside ? ops::attention(q, k, v, {}, {.rotation = r})
                          : ops::attention(ops::rotate(q, r), ops::rotate(k, r), v);
  backward(y, random(shape, dtype, 4));
  return {y.detach(), q.grad(), k.grad(), v.grad(), r.table.grad()};
}

struct Tolerance {
  DType dtype;
  double output, gradient;
};

}  // namespace

TEST_CASE("a rotary table holds the cosines and sines of its angles") {
  const Tensor fy = random({3, 5}, DType::f64, 21), fx = random({3, 5}, DType::f64, 22);
  const Tensor table = some_table(3, 5);
  CHECK(table.shape() == Shape{2, 3, 6, 5});
  const double y[] = {0, 3}, x[] = {-1, 0, 40};
  for (std::int64_t i = 0; i < 3 * 6 * 5; ++i) {
    const std::int64_t group = i / 30, row = i / 5 % 6, pair = i % 5;
    const double angle =
        fy.at(group * 5 + pair) * y[row / 3] + fx.at(group * 5 + pair) * x[row % 3];
    CHECK(cosine(table, group, row, pair) == doctest::Approx(std::cos(angle)).epsilon(1e-13));
    CHECK(sine(table, group, row, pair) == doctest::Approx(std::sin(angle)).epsilon(1e-13));
  }
}

TEST_CASE("rotate turns each pair of channels by the angle of its token's row") {
  for (const Tolerance& t :
       {Tolerance{DType::f64, 1e-14, 0}, {DType::f32, 1e-6, 0}, {DType::bf16, 4e-3, 0}}) {
    CAPTURE(std::string(to_string(t.dtype)));
    for (const std::int64_t pairs : {1, 5, 32}) {
      for (const ops::Rotation& r : rotations(pairs)) {
        const Tensor x = random({2, 3, tokens_of(r), 2 * pairs}, t.dtype, 7);
        CHECK(error(ops::rotate(x, r).to_vector(), turned(x, r)) < t.output);
      }
    }
  }
}

TEST_CASE("attention turns queries and keys as rotate does") {
  for (const Tolerance& t :
       {Tolerance{DType::f64, 1e-14, 1e-13}, {DType::f32, 2e-6, 5e-6}, {DType::bf16, 1e-2, 3e-2}}) {
    CAPTURE(std::string(to_string(t.dtype)));
    for (const std::int64_t width : {2, 10, 64, 88, 128}) {
      CAPTURE(width);
      for (const ops::Rotation& r : rotations(width / 2)) {
        const Gradients got = attend(t.dtype, width, r, true);
        const Gradients want = attend(t.dtype, width, r, false);
        CHECK(error(got.y, want.y) < t.output);
        CHECK(error(got.dq, want.dq) < t.gradient);
        CHECK(error(got.dk, want.dk) < t.gradient);
        CHECK(error(got.dv, want.dv) < t.gradient);
        CHECK(error(got.dtable, want.dtable) < t.gradient);
      }
    }
  }
}

TEST_CASE("attention turns the tokens of every tile by their own angles") {
  constexpr std::int64_t kSide = 28, kTokens = 1 + kSide * kSide, kWidth = 8;
  std::vector<double> places(kSide);
  for (std::size_t i = 0; i < places.size(); ++i) places[i] = static_cast<double>(i);
  const Tensor axis = from_values({kSide}, places, kF64);
  const ops::Rotation rotation{ops::rotary_table({random({1, kWidth / 2}, DType::f64, 1),
                                                  random({1, kWidth / 2}, DType::f64, 2)},
                                                 {axis, axis}),
                               1};
  const Tensor dy = random({1, kTokens, kWidth}, DType::f64, 4);
  const auto run = [&](const auto& attention) {
    const Tensor qkv = random({1, kTokens, 3 * kWidth}, DType::f64, 3);
    qkv.set_requires_grad();
    const Tensor y = attention(qkv);
    backward(y, dy);
    return std::pair{y.detach(), qkv.grad()};
  };
  const auto part = [&](const Tensor& qkv, int i) {
    return ops::reshape(ops::slice(qkv, 2, i * kWidth, (i + 1) * kWidth), {1, 1, kTokens, kWidth});
  };
  const auto [y, dqkv] = run(
      [&](const Tensor& qkv) { return ops::self_attention(qkv, 1, {}, {.rotation = rotation}); });
  const auto [plain_y, plain_dqkv] = run([&](const Tensor& qkv) {
    return ops::reshape(ops::attention(ops::rotate(part(qkv, 0), rotation),
                                       ops::rotate(part(qkv, 1), rotation), part(qkv, 2)),
                        {1, kTokens, kWidth});
  });
  CHECK(error(y, plain_y) < 1e-13);
  CHECK(error(dqkv, plain_dqkv) < 1e-12);
}

TEST_CASE("products of turned queries and keys depend on differences of places alone") {
  const ops::RotaryFrequencies f{random({1, 4}, DType::f64, 5), random({1, 4}, DType::f64, 6)};
  const Tensor x = random({1, 2, 6, 8}, DType::f64, 7);
  const auto attended = [&](double dy, double dx) {
    const ops::RotaryAxes axes{from_values({2}, {dy, 1 + dy}, kF64),
                               from_values({3}, {dx, 1 + dx, 2 + dx}, kF64)};
    return ops::attention(x, x, x, {}, {.rotation = {ops::rotary_table(f, axes)}});
  };
  CHECK(error(attended(0.7, -11), attended(0, 0)) < 1e-12);
}

TEST_CASE("a quarter turn of the grid and of the frequencies turns the result") {
  constexpr std::int64_t kHeight = 2, kWidth = 3;
  const Tensor fy = random({1, 4}, DType::f64, 5), fx = random({1, 4}, DType::f64, 6);
  const Tensor rows = from_values({kHeight}, {0, 1}, kF64);
  const Tensor columns = from_values({kWidth}, {0, 1, 2}, kF64);
  const Tensor x = random({1, 2, kHeight * kWidth, 8}, DType::f64, 7);
  const auto turned = [&](const Tensor& of) {  // the patch (y, x) goes to (x, height - 1 - y)
    Tensor to = empty(of.shape(), of.options());
    for (std::int64_t i = 0; i < kHeight * kWidth; ++i) {
      const std::int64_t place = i % kWidth * kHeight + kHeight - 1 - i / kWidth;
      ops::select(to, 2, place).copy_(ops::select(of, 2, i));
    }
    return to;
  };
  const auto attended = [](const Tensor& of, const ops::RotaryFrequencies& f,
                           const ops::RotaryAxes& axes) {
    return ops::attention(of, of, of, {}, {.rotation = {ops::rotary_table(f, axes)}});
  };
  const Tensor upright = attended(x, {fy, fx}, {rows, columns});
  const Tensor lying = attended(turned(x), {fx, fy * -1.0}, {columns, rows});
  CHECK(error(lying, turned(upright)) < 1e-12);
}

TEST_CASE("coordinates are shifted, then scaled, by numbers of the key alone") {
  static constexpr RandomKey kKey{42, 9};
  const ops::CoordinateMoves moves{.shift = 0.5, .jitter = 1.5, .rescale = 2};
  const auto drawn = [](std::uint64_t i) {  // in [-1, 1)
    return 2.0 * to_uniform(philox(kKey.seed, kKey.stream, i / 4).v[i % 4]) - 1;
  };
  const Tensor x = from_values({3}, {-1, 0, 2.5}, kF64);
  for (const int axis : {0, 1}) {
    const auto own = static_cast<std::uint64_t>(axis);
    const double factor = std::pow(1.5, drawn(2 + own)) * std::pow(2, drawn(4));
    const Tensor moved = ops::moved_coordinates(x, axis, kKey, moves);
    for (std::int64_t i = 0; i < 3; ++i)
      CHECK(moved.at(i) == doctest::Approx((x.at(i) + 0.5 * drawn(own)) * factor).epsilon(1e-14));
  }
  const Tensor same = ops::moved_coordinates(x, 0, kKey, {.rescale = 2});
  CHECK(same.to_vector() == ops::moved_coordinates(x, 1, kKey, {.rescale = 2}).to_vector());
  CHECK(ops::moved_coordinates(x, 1, kKey, {}).to_vector() == x.to_vector());

  const StepNumber step(5);
  const StepKey key(42, 3, step);
  const auto at = [&](RandomKey fixed) {
    return ops::moved_coordinates(x, 0, fixed, moves).to_vector();
  };
  CHECK(ops::moved_coordinates(x, 0, key, moves).to_vector() == at({42, stream_of(5, 3)}));
  step.write(6);
  CHECK(ops::moved_coordinates(x, 0, key, moves).to_vector() == at({42, stream_of(6, 3)}));
}

TEST_CASE("moves of coordinates fill their ranges") {
  double least = 9, most = 0;
  for (std::uint64_t stream = 0; stream < 500; ++stream) {
    const Tensor one = ops::moved_coordinates(ones({1}, kF64), 0, {1, stream}, {.jitter = 3});
    least = std::min(least, one.item());
    most = std::max(most, one.item());
  }
  CHECK(least >= 1.0 / 3);
  CHECK(least < 0.34);
  CHECK(most < 3);
  CHECK(most > 2.97);
}

TEST_CASE("moves that are none are refused") {
  const Tensor x = zeros({3}, kF64);
  const auto refused = [&](const ops::CoordinateMoves& moves, int axis, const std::string& part) {
    check_error([&] { static_cast<void>(ops::moved_coordinates(x, axis, {1, 2}, moves)); }, part);
  };
  refused({.shift = -1}, 0, "got shift -1, jitter 1 and rescale 1, expected at least 0, 1 and 1");
  refused({.jitter = 0.5}, 0, "expected at least 0, 1 and 1");
  refused({.rescale = 0}, 1, "expected at least 0, 1 and 1");
  refused({}, 2, "moved_coordinates: got axis 2, expected 0 or 1");
  check_error(
      [&] {
        static_cast<void>(ops::moved_coordinates(zeros({3}), 0, {1, 2}, {}));
      },
      "coordinates must be f64 of 1 axes, got [3] of f32");
}

TEST_CASE("fewer queries than keys turn as the first tokens do") {
  const ops::Rotation r{some_table(3, 4), 1};
  const Tensor q = random({2, 3, 7, 8}, DType::f32, 1), k = random({2, 3, 7, 8}, DType::f32, 2);
  const Tensor all = ops::attention(q, k, k, {}, {.rotation = r});
  const Tensor some = ops::attention(ops::slice(q, 2, 0, 3), k, k, {}, {.rotation = r});
  CHECK(error(some, ops::slice(all, 2, 0, 3)) < 1e-6);
}

TEST_CASE("the number of threads changes no bit of a rotation and its gradients") {
  const int threads = num_threads();
  for (const DType dtype : {DType::f32, DType::bf16}) {
    for (const ops::Rotation& r : rotations(16)) {
      set_num_threads(1);
      const Gradients one = attend(dtype, 32, r, true), apart = attend(dtype, 32, r, false);
      set_num_threads(3);
      const Gradients three = attend(dtype, 32, r, true), others = attend(dtype, 32, r, false);
      CHECK(one.y.to_vector() == three.y.to_vector());
      CHECK(one.dq.to_vector() == three.dq.to_vector());
      CHECK(one.dtable.to_vector() == three.dtable.to_vector());
      CHECK(apart.y.to_vector() == others.y.to_vector());
      CHECK(apart.dtable.to_vector() == others.dtable.to_vector());
    }
  }
  set_num_threads(threads);
}

TEST_CASE("a rotation that does not fit the sequence is refused") {
  const Tensor x = zeros({2, 3, 7, 8}), qkv = zeros({2, 7, 72}), table = some_table(1, 4);
  check_error(
      [&] {
        (void)ops::rotate(x, {some_table(2, 4), 1});
      },
      "rotate: got rotary table [2, 2, 6, 4] for 3 heads of 8 channels, expected [2, 1 or 3, "
      "tokens, channels / 2]");
  check_error([&] { (void)ops::rotate(x, {some_table(1, 3), 1}); }, "for 3 heads of 8 channels");
  check_error(
      [&] {
        (void)ops::self_attention(qkv, 3, {}, {.rotation = {table, 2}});
      },
      "self_attention: got a rotary table of 6 tokens and a prefix of 2 for 7 tokens");
  check_error([&] { (void)ops::rotate(x, {table, -1}); }, "rotary prefix is -1");
  const auto places = [](const Shape& shape, double value) {
    return full(shape, value, {DType::i64, {}});
  };
  check_error(
      [&] {
        (void)ops::rotate(x, {table, 1, places({2, 5}, 0)});
      },
      "got rotary places [2, 5] of i64 for 2 images of 7 tokens and a prefix of 1");
  check_error(
      [&] {
        (void)ops::rotate(x, {table, 1, places({2, 6}, 6)});
      },
      "rotary place 6 is out of range, expected 0 to 5");
  check_error(
      [&] {
        (void)ops::attention(x, zeros({2, 3, 6, 8}), zeros({2, 3, 6, 8}), {},
                             {.rotation = {table}});
      },
      "attention: got 7 queries and 6 keys, expected at most as many queries");
  check_error(
      [&] {
        (void)ops::rotary_table({zeros({1, 4}), zeros({1, 4})},
                                {zeros({2}, kF64), zeros({3}, kF64)});
      },
      "rotary_table: frequencies must be f64 of 2 axes, got [1, 4] of f32");
}
