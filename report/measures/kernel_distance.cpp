// Means of the kernel over pairs, summed row by row in a fixed order.
#include "report/measures/kernel_distance.h"

#include <numeric>
#include <vector>

#include "engine/base/error.h"
#include "engine/parallel.h"
#include "report/measures/pair_blocks.h"

namespace fovea {
namespace {

/// The sum of the kernel over a block, or with `upper` over its pairs i < j alone, for a diagonal
/// block of a set's own pairs.
double kernel_sum(const PairBlock& block, double features, bool upper) {
  std::vector<double> sums(static_cast<std::size_t>(block.rows()));
  parallel_for(block.rows(), 16, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      double sum = 0;
      for (std::int64_t j = upper ? i + 1 : 0; j < block.columns(); ++j) {
        const double inner = block.at(i, j) / features + 1;
        sum += inner * inner * inner;
      }
      sums[static_cast<std::size_t>(i)] = sum;
    }
  });
  return std::accumulate(sums.begin(), sums.end(), 0.0);
}

/// The mean over the pairs of different vectors of a set.
double mean_within(const Tensor& x) {
  double sum = 0;
  for_each_inner_block(x, DType::f64, [&](const PairBlock& block) {
    sum += kernel_sum(block, static_cast<double>(x.size(1)), block.row == block.column);
  });
  const auto n = static_cast<double>(x.size(0));
  return 2 * sum / (n * (n - 1));
}

}  // namespace

double kernel_distance(const Tensor& a, const Tensor& b) {
  check(a.size(0) >= 2 && b.size(0) >= 2, "KID: got ", a.size(0), " and ", b.size(0),
        " vectors, expected at least 2 of each");
  double between = 0;
  for_each_pair_block(a, b, DType::f64, [&](const PairBlock& block) {
    between += kernel_sum(block, static_cast<double>(a.size(1)), /*upper=*/false);
  });
  const double pairs = static_cast<double>(a.size(0)) * static_cast<double>(b.size(0));
  return mean_within(a) + mean_within(b) - 2 * between / pairs;
}

}  // namespace fovea
