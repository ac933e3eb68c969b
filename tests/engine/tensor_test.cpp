// Tensor handles: geometry, conversions, aliases, in-place writes, memory, printing.
#include "engine/tensor.h"

#include <doctest/doctest.h>
#include <unistd.h>

#include <cmath>

#include "engine/autograd.h"
#include "engine/copy.h"

using namespace fovea;

namespace {

Tensor counting(const Shape& shape, DType dtype = DType::f64) {
  std::vector<double> values(static_cast<std::size_t>(shape.numel()));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<double>(i);
  return from_values(shape, values, {dtype, {}});
}

}  // namespace

TEST_CASE("storage is aligned to 64 bytes") {
  for (const std::int64_t n : {1, 3, 1000, 3000000}) {
    const Tensor t = empty({n});
    CHECK(reinterpret_cast<std::uintptr_t>(t.raw()) % 64 == 0);
  }
}

TEST_CASE("freed storage is used again and counted") {
  release_cached_memory();
  { const Tensor t = empty({100000}); }
  const MemoryStats before = memory_stats();
  { const Tensor t = empty({100000}); }
  const MemoryStats after = memory_stats();
  CHECK(after.allocations == before.allocations);
  CHECK(after.current_bytes == before.current_bytes);
  reset_peak_memory();
  { const Tensor t = empty({100000}); }
  CHECK(memory_stats().peak_bytes >= memory_stats().current_bytes + 400000);
}

TEST_CASE("large blocks of many sizes are given back to the system") {
  release_cached_memory();
  reset_peak_memory();
  std::int64_t largest = 0;
  for (std::int64_t megabytes = 32; megabytes < 512; megabytes += megabytes / 8) {
    largest = megabytes << 20;
    (void)empty({largest}, {DType::u8, {}});
  }
  const MemoryStats after = memory_stats();
  CHECK(after.reserved_bytes - after.current_bytes <= largest + after.peak_bytes / 8);
}

TEST_CASE("conversions round as the dtypes do") {
  const Tensor x = from_values({4}, {1.0, 1.00390625, -2.75, 1e30}, {DType::f64, {}});
  const Tensor rounded = x.to(DType::bf16);
  CHECK(rounded.at(1) == 1.0);  // halfway, to even
  CHECK(rounded.at(2) == -2.75);
  CHECK(x.to(DType::i64).at(2) == -2);
  const Tensor far = from_values({5}, {1e30, -1e30, NAN, 300, -1}, {DType::f64, {}});
  CHECK(far.to(DType::i64).data<std::int64_t>()[0] == INT64_MAX);
  CHECK(far.to(DType::i64).data<std::int64_t>()[1] == INT64_MIN);
  CHECK(far.to(DType::u8).to_vector() == std::vector<double>{255, 0, 0, 255, 0});
  CHECK(std::isnan(static_cast<float>(bf16(NAN))));
  CHECK(std::isinf(static_cast<float>(bf16(3.4e38f))));
}

TEST_CASE("a copy within a storage reads every element before it is written") {
  const Tensor square = from_values({2, 2}, {1, 2, 3, 4});
  square.copy_(square.alias({2, 2}, {1, 2}));
  CHECK(square.to_vector() == std::vector<double>{1, 3, 2, 4});
  const Tensor line = from_values({5}, {1, 2, 3, 4, 5});
  line.alias({4}, {1}, 1).copy_(line.alias({4}, {1}));
  CHECK(line.to_vector() == std::vector<double>{1, 1, 2, 3, 4});
  const Tensor turned = from_values({3}, {1, 2, 3});
  turned.copy_(turned.alias({3}, {-1}, 2));
  CHECK(turned.to_vector() == std::vector<double>{3, 2, 1});
}

TEST_CASE("alias reads the same storage with its own geometry, and only inside it") {
  const Tensor x = counting({3, 5});
  const Tensor transposed = x.alias({5, 3}, {1, 5});
  CHECK(transposed.at(1) == 5);
  CHECK_FALSE(transposed.is_contiguous());
  CHECK(transposed.contiguous().to_vector()[4] == 6);
  CHECK_THROWS_AS((void)x.alias({5, 4}, {1, 5}), Error);
  CHECK_THROWS_AS((void)x.alias({2}, {-1}), Error);
  CHECK_THROWS_AS((void)x.alias({9, 2}, {std::int64_t{1} << 61, 1}), Error);  // wraps to 0
  CHECK_THROWS_AS((void)x.alias({2}, {INT64_MAX}, INT64_MAX), Error);
  CHECK_THROWS_AS((void)x.alias({2, 2}, {1}), Error);  // strides of another rank
}

TEST_CASE("copy_into broadcasts and converts") {
  const Tensor y = zeros({2, 3});
  y.copy_(from_values({3}, {1, 2, 3}, {DType::i64, {}}));
  CHECK(y.to_vector() == std::vector<double>{1, 2, 3, 1, 2, 3});
  CHECK_THROWS_AS(y.copy_(zeros({2})), Error);
}

TEST_CASE("sum_to undoes a broadcast over any axes") {
  const Tensor x = counting({2, 3, 5});
  CHECK(sum_to(x, {3, 1}).to_vector() == std::vector<double>{95, 145, 195});
  CHECK(sum_to(x, {}).item() == 435);
  CHECK(sum_to(x, {2, 1, 5}).at(0) == 15);
  CHECK(sum_to(zeros({0, 3}), {3}).to_vector() == std::vector<double>{0, 0, 0});
}

TEST_CASE("all_finite sees one bad value, also in a view") {
  const Tensor x = counting({1000});
  CHECK(all_finite(x));
  x.data<double>()[777] = NAN;
  CHECK_FALSE(all_finite(x));
  CHECK(all_finite(x.alias({500}, {2})));
}

TEST_CASE("writing in place bumps the version of every view") {
  const Tensor x = zeros({4});
  const Tensor view = x.alias({2}, {1});
  const std::uint64_t before = view.version();
  x.fill_(3);
  CHECK(view.version() > before);
  CHECK(view.at(1) == 3);
}

TEST_CASE("an integer that a double may not hold is refused, with the exact way to read it") {
  const std::int64_t exact = std::int64_t{1} << 53;
  std::int64_t values[2] = {-exact, exact + 1};
  const Tensor ids = from_bytes({2}, DType::i64, std::as_bytes(std::span(values)));
  CHECK(ids.at(0) == -static_cast<double>(exact));
  CHECK_THROWS_WITH_AS((void)ids.at(1), doctest::Contains("data<std::int64_t>()"), Error);
  CHECK_THROWS_AS((void)ids.alias({1}, {1}, 1).item(), Error);
  CHECK(ids.data<std::int64_t>()[1] == exact + 1);
}

TEST_CASE("misuse is named") {
  CHECK_THROWS_WITH_AS((void)Tensor().shape(), "tensor: used before a value was assigned", Error);
  CHECK_THROWS_AS((void)zeros({2}).item(), Error);
  CHECK_THROWS_WITH_AS((void)zeros({2}).data<double>(), "data: got a tensor of f32, expected f64",
                       Error);
  CHECK_THROWS_AS((void)from_values({3}, {1.0}), Error);
}

TEST_CASE("printing shows shape, corners and what is not finite") {
  const Tensor x = counting({8, 9});
  x.data<double>()[0] = NAN;
  const std::string text = to_string(x);
  CHECK(text.find("tensor [8, 9] f64 cpu") == 0);
  CHECK(text.find("...") != std::string::npos);
  CHECK(text.find("1 NaN, 0 infinite") != std::string::npos);
}

TEST_CASE("devices are parsed, and CUDA is refused with a reason where there is none") {
  CHECK(parse_device("cuda:3") == Device{DeviceType::cuda, 3});
  CHECK(parse_device("cpu").is_cpu());
  CHECK_THROWS_AS((void)parse_device("gpu"), Error);
  CHECK_THROWS_AS((void)parse_device("cuda:x"), Error);
}

TEST_CASE("memory that the machine does not have is refused before it is used") {
  const std::int64_t bytes = std::int64_t{sysconf(_SC_PHYS_PAGES)} * sysconf(_SC_PAGE_SIZE);
  CHECK_THROWS_AS(static_cast<void>(empty({bytes / 4}, {DType::f32, {}})), OutOfMemory);
}
