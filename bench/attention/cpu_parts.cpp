// The parts of attention's forward kernel on one tile of PiT: 18 queries of width 16, 352 keys (a
// third of 1,025), f32 and bf16. Compiled once per instruction set, as attention_parts_<set>.
// Usage: attention_parts_v4 [repetitions]
#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <iomanip>
#include <iostream>
#include <vector>

#include "ops/attention/cpu_factor.h"
#include "ops/attention/cpu_rows.h"

namespace fovea::ops::cpu::FOVEA_ISA::attention {
namespace {

constexpr std::int64_t kQueries = 18, kKeys = 352, kWidth = 16;
constexpr int kCalls = 200;  // per repetition

/// Nanoseconds per 16 scores of the fastest repetition.
template <class F>
double time_of(int repetitions, const F& part) {
  double best = 1e30;
  for (int i = 0; i < repetitions; ++i) {
    const auto start = std::chrono::steady_clock::now();
    for (int call = 0; call < kCalls; ++call) part();
    const std::chrono::duration<double, std::nano> time = std::chrono::steady_clock::now() - start;
    best = std::min(best, time.count());
  }
  return best * 16 / (kCalls * kQueries * kKeys);
}

template <class E>
class Tile {
 public:
  Tile(std::int64_t rows, std::int64_t columns)
      : pitch_(padded<float>(columns)), data_(static_cast<std::size_t>(rows * pitch_)) {}
  PitchedTile<E> view() { return {data_.data(), pitch_}; }

 private:
  std::int64_t pitch_;
  std::vector<E> data_;
};

template <class T>
void measure(const char* name, int repetitions) {
  using E = FactorOf<T>;
  Tile<E> q(kQueries, steps<E>(kWidth)), keys(steps<E>(kWidth), kKeys);
  Tile<E> v(steps<E>(kKeys), kWidth), p(kQueries, steps<E>(kKeys));
  Tile<float> s(kQueries, kKeys), out(kQueries, kWidth);
  const PitchedTile<float> scores = s.view();
  const auto each_row = [&](const auto& f) {
    for (std::int64_t i = 0; i < kQueries; ++i) f(scores.row(i));
  };
  const auto print = [](const char* part, double time) {
    std::cout << "  " << std::left << std::setw(36) << part << std::fixed << std::setprecision(2)
              << time << '\n';
  };
  std::cout << name << ", ns per 16 scores\n";
  print("q k^T, depth 16", time_of(repetitions, [&] {
          multiply<E>({.rows = kQueries,
                       .columns = kKeys,
                       .depth = steps<E>(kWidth),
                       .a = q.view().data,
                       .a_row = q.view().pitch,
                       .b = keys.view(),
                       .c = scores});
        }));
  print("scores written and read", time_of(repetitions, [&] {
          each_row([](float* row) {
            for (std::int64_t j = 0; j < kKeys; j += kLanes<float>)
              store(row + j, load<Vector<float>>(row + j) * 0.5f);
          });
        }));
  float most = 0;
  print("maximum", time_of(repetitions, [&] {
          each_row([&](float* row) {
            most += bias_and_max_row<float>(row, nullptr, 0, kKeys, kMinusInfinity<float>);
          });
        }));
  float sum = most * 0;
  print("exponential and sum", time_of(repetitions, [&] {
          each_row([&](float* row) { sum += exp_and_sum_row<T>(row, 1.0f, kKeys); });
        }));
  print("rounding to pairs of bf16", time_of(repetitions, [&] {
          (void)as_rows<E>(scores, {kQueries, kKeys}, p.view());
        }));
  const PitchedTile<E> weights = as_rows<E>(scores, {kQueries, kKeys}, p.view());
  print("p v, 16 columns", time_of(repetitions, [&] {
          multiply<E>({.rows = kQueries,
                       .columns = kWidth,
                       .depth = steps<E>(kKeys),
                       .a = weights.data,
                       .a_row = weights.pitch,
                       .b = v.view(),
                       .c = out.view()});
        }));
  std::cout << (sum < 0 ? "!" : "");  // keeps the sums
}

}  // namespace

void measure_parts(int repetitions) {
  measure<float>("f32", repetitions);
  measure<bf16>("bf16", repetitions);
}

}  // namespace fovea::ops::cpu::FOVEA_ISA::attention

int main(int argc, char** argv) {
  fovea::ops::cpu::FOVEA_ISA::attention::measure_parts(argc > 1 ? std::atoi(argv[1]) : 30);
}
