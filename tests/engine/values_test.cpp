// Tensors from and to vectors of any type of number.
#include "engine/values.h"

#include <doctest/doctest.h>

#include <array>
#include <cstdint>

#include "engine/base/error.h"

namespace fovea {

TEST_CASE("tensors are made from spans of any number, and give vectors of any") {
  const std::vector<float> floats{1.5F, -2.25F, 3.0F, 0.1F};
  const Tensor f32 = from_values({2, 2}, floats);
  CHECK(f32.dtype() == DType::f32);
  CHECK(to_vector<float>(f32) == floats);
  CHECK(to_vector<double>(f32) == f32.to_vector());
  CHECK(to_vector<int>(from_values({2}, std::vector<float>{7.0F, -3.0F})) ==
        std::vector<int>{7, -3});
  const std::array<std::uint16_t, 3> shorts{1, 2, 65535};
  const Tensor f64 = from_values({3}, std::span<const std::uint16_t>(shorts), {DType::f64, {}});
  CHECK(f64.to_vector() == std::vector<double>{1, 2, 65535});
  CHECK(to_vector<std::uint16_t>(f64) == std::vector<std::uint16_t>{1, 2, 65535});
  CHECK(to_vector<bf16>(f32).at(1).bits == bf16(-2.25F).bits);
  CHECK(to_vector<float>(zeros({0, 3})).empty());
}

TEST_CASE("integers keep every digit, also through a view") {
  const std::int64_t large = (std::int64_t{1} << 62) + 1;
  const std::vector<std::int64_t> values{large, -large, 5, 6};
  const Tensor t = from_values({2, 2}, values, {DType::i64, {}});
  CHECK(to_vector<std::int64_t>(t) == values);
  CHECK(to_vector<std::int64_t>(t.alias({2}, {2}, 1)) == std::vector<std::int64_t>{-large, 6});
}

TEST_CASE("too many values, and integers that a type cannot hold, are refused") {
  CHECK_THROWS_WITH_AS(static_cast<void>(from_values({3}, std::vector<int>{1, 2})),
                       "from_values: got 2 values for shape [3]", Error);
  const std::vector<std::uint64_t> huge{~std::uint64_t{0}};
  CHECK_THROWS_AS(static_cast<void>(from_values({1}, huge, {DType::i64, {}})), Error);
  const Tensor t = from_values({1}, std::vector<int>{300}, {DType::i64, {}});
  CHECK_THROWS_AS(static_cast<void>(to_vector<std::int8_t>(t)), Error);
  CHECK(to_vector<std::int16_t>(t) == std::vector<std::int16_t>{300});
}

TEST_CASE("values of a parameter are read without its tape") {
  const Tensor leaf = from_values({2}, std::vector<float>{1, 2}).set_requires_grad();
  CHECK(to_vector<float>(leaf) == std::vector<float>{1, 2});
}

}  // namespace fovea
