// Measures of hand-made sets, whose values follow from their definitions.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "engine/base/error.h"
#include "engine/parallel.h"
#include "engine/random.h"
#include "engine/tensor.h"
#include "ops/arithmetic.h"
#include "ops/matmul.h"
#include "ops/view.h"
#include "report/measures/frechet.h"
#include "report/measures/inception_score.h"
#include "report/measures/kernel_distance.h"
#include "report/measures/matrix_roots.h"
#include "report/measures/neighbours.h"
#include "report/measures/pair_blocks.h"
#include "tests/support/f64.h"

namespace fovea {
namespace {

Tensor vectors(const Shape& shape, std::initializer_list<double> values) {
  return from_values(shape, values, kF64);
}

Tensor random_vectors(std::int64_t count, std::int64_t features, std::uint64_t seed) {
  return rand_normal({count, features}, {0.5, 1.5}, {seed, 1}, kF64);
}

FeatureStatistics statistics_of(const Tensor& rows) {
  StatisticsSum sum;
  sum.add(rows);
  return sum.finish();
}

double frechet(const Tensor& a, const Tensor& b) {
  return frechet_distance(statistics_of(a), statistics_of(b));
}

}  // namespace

TEST_CASE("the covariance divides by N - 1") {
  const FeatureStatistics s = statistics_of(vectors({3, 1}, {1, 2, 6}));
  CHECK(s.count == 3);
  CHECK(s.mean.at(0) == doctest::Approx(3).epsilon(1e-15));
  CHECK(s.covariance.at(0) == doctest::Approx(7).epsilon(1e-15));
}

TEST_CASE("statistics do not depend on batches, not even in the last bit") {
  const Tensor all = random_vectors(3000, 7, 4);
  StatisticsSum whole, parts;
  whole.add(all);
  for (std::int64_t i = 0; i < 3000; i += 77) parts.add(ops::slice(all, 0, i, i + 77));
  const FeatureStatistics a = whole.finish(), b = parts.finish();
  CHECK(a.mean.to_vector() == b.mean.to_vector());
  CHECK(a.covariance.to_vector() == b.covariance.to_vector());
}

TEST_CASE("blocks of different means are merged: their distance is variance too") {
  Tensor x = zeros({2048, 1}, kF64);
  ops::slice(x, 0, 1024, 2048).fill_(2);
  const FeatureStatistics s = statistics_of(x);
  CHECK(s.mean.at(0) == doctest::Approx(1).epsilon(1e-14));
  CHECK(s.covariance.at(0) == doctest::Approx(2048.0 / 2047).epsilon(1e-13));
}

TEST_CASE("a mean far from 0 costs the covariance no digits") {
  const Tensor x = random_vectors(2500, 3, 9);
  const Tensor near = statistics_of(x).covariance, far = statistics_of(x + 1e6).covariance;
  for (std::int64_t i = 0; i < 9; ++i)
    CHECK(far.at(i) == doctest::Approx(near.at(i)).epsilon(1e-7));
}

TEST_CASE("vectors are kept centred as long as their covariance has no full rank") {
  const FeatureStatistics few = statistics_of(vectors({2, 3}, {1, 2, 3, 3, 2, 1}));
  CHECK(few.centred.to_vector() == std::vector<double>{-1, 0, 1, 1, 0, -1});
  CHECK(statistics_of(random_vectors(3, 3, 1)).centred.defined());
  CHECK_FALSE(statistics_of(random_vectors(4, 3, 1)).centred.defined());
  CHECK_FALSE(statistics_of(random_vectors(2000, 3, 1)).centred.defined());
}

TEST_CASE("statistics refuse what they cannot sum") {
  StatisticsSum sum;
  CHECK_THROWS_WITH_AS((void)sum.finish(), "statistics: got 0 vectors, expected at least 2", Error);
  sum.add(random_vectors(1, 3, 1));
  CHECK_THROWS_WITH_AS(sum.add(random_vectors(1, 4, 1)),
                       "statistics: got vectors of 4 features, expected 3", Error);
}

TEST_CASE("the Frechet distance of two numbers' Gaussians is (m1 - m2)^2 + (s1 - s2)^2") {
  // {0, 2, 4}: mean 2, deviation 2; {4, 5, 6}: mean 5, deviation 1.
  const double distance = frechet(vectors({3, 1}, {0, 2, 4}), vectors({3, 1}, {4, 5, 6}));
  CHECK(distance == doctest::Approx(9 + 1).epsilon(1e-14));
}

TEST_CASE("the Frechet distance of a set to itself is 0, and moving it adds the squared move") {
  for (const std::int64_t count : {40, 8}) {  // more vectors than features, and fewer
    const Tensor x = random_vectors(count, 12, 2);
    CHECK(std::abs(frechet(x, x)) < 1e-10);
    CHECK(frechet(x, x + 2.0) == doctest::Approx(12 * 4).epsilon(1e-12));
  }
}

TEST_CASE("the root of a product that does not commute has the trace of its eigenvalues' roots") {
  // S1 = [[2, 1], [1, 1]], S2 = diag(1, 4): S1 S2 has trace 6 and determinant 4, so the trace of
  // its root is sqrt(6 + 2 sqrt(4)).
  FeatureStatistics a{10, zeros({2}, kF64), vectors({2, 2}, {2, 1, 1, 1}), {}};
  FeatureStatistics b{10, zeros({2}, kF64), vectors({2, 2}, {1, 0, 0, 4}), {}};
  CHECK(frechet_distance(a, b) == doctest::Approx(3 + 5 - 2 * std::sqrt(10.0)).epsilon(1e-13));
}

TEST_CASE(
    "with fewer vectors than features both forms agree, and the nuclear norm is the sharper") {
  const Tensor few = random_vectors(10, 30, 5), many = random_vectors(100, 30, 6);
  FeatureStatistics a = statistics_of(few), b = statistics_of(many);
  const double exact = frechet_distance(a, b);
  CHECK(frechet_distance(b, a) == doctest::Approx(exact).epsilon(1e-12));
  a.centred = {};
  CHECK(frechet_distance(a, b) == doctest::Approx(exact).epsilon(1e-5));
}

TEST_CASE("equal statistics have the distance 0, and rounding makes none negative") {
  for (const std::int64_t count : {5, 300}) {  // without and with full rank
    CAPTURE(count);
    const Tensor rows = random_vectors(count, 20, 3);
    CHECK(frechet(rows, rows) == 0);
    const Tensor turned = ops::cat({ops::slice(rows, 0, 1, count), ops::slice(rows, 0, 0, 1)}, 0);
    CHECK(frechet(rows, turned) >= 0);
    CHECK(frechet(rows, turned) < 1e-9);
  }
}

TEST_CASE("a covariance is symmetric without negative eigenvalues, up to rounding to f32") {
  const auto refusal = [](const Tensor& matrix) {
    try {
      require_covariance(matrix, "sigma");
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  const Tensor low_rank = statistics_of(random_vectors(5, 40, 3)).covariance;
  CHECK(refusal(low_rank).empty());
  CHECK(refusal(low_rank.to(DType::f32).to(DType::f64)).empty());
  CHECK(refusal(zeros({3, 3}, kF64)).empty());
  CHECK(refusal(vectors({2, 2}, {2, 1, 1, 2})).empty());
  CHECK(refusal(vectors({2, 2}, {2, 1, 0.5, 2})).find("sigma: is not symmetric") == 0);
  CHECK(refusal(vectors({2, 2}, {1, 2, 2, 1})).find("sigma: has negative eigenvalues") == 0);
  CHECK(refusal(vectors({2, 2}, {1, 0, 0, -0.01})).find("negative") != std::string::npos);
}

TEST_CASE("the Frechet distance refuses features of another network") {
  CHECK_THROWS_AS((void)frechet(random_vectors(5, 3, 1), random_vectors(5, 4, 1)), Error);
}

TEST_CASE("roots of matrices") {
  const Tensor root = symmetric_root(vectors({2, 2}, {5, 4, 4, 5}));  // eigenvalues 9, 1
  const std::vector<double> expected{2, 1, 1, 2};
  for (std::int64_t i = 0; i < 4; ++i) {
    CHECK(root.at(i) == doctest::Approx(expected[static_cast<std::size_t>(i)]).epsilon(1e-14));
  }
  CHECK(sum_of_root_eigenvalues(vectors({2, 2}, {5, 4, 4, 5})) ==
        doctest::Approx(4).epsilon(1e-14));
  CHECK(sum_of_root_eigenvalues(vectors({2, 2}, {4, 0, 0, -1})) == doctest::Approx(2));
  CHECK(nuclear_norm(vectors({2, 3}, {3, 0, 0, 0, -4, 0})) == doctest::Approx(7).epsilon(1e-14));
}

TEST_CASE("KID leaves out each vector's pair with itself") {
  // One feature: kernel (x y + 1)^3. Within {0, 1}: 1; within {1, 2}: 27; between: 1, 1, 8, 27.
  const double kid = kernel_distance(vectors({2, 1}, {0, 1}), vectors({2, 1}, {1, 2}));
  CHECK(kid == doctest::Approx(1 + 27 - 2 * (1 + 1 + 8 + 27) / 4.0).epsilon(1e-14));
  CHECK_THROWS_AS((void)kernel_distance(vectors({1, 1}, {0}), vectors({2, 1}, {1, 2})), Error);
}

TEST_CASE("KID divides the product by the number of features") {
  const Tensor x = vectors({2, 2}, {1, 1, 1, 1}), y = vectors({2, 2}, {2, 2, 2, 2});
  // Kernels: within x (2/2 + 1)^3, within y (8/2 + 1)^3, between (4/2 + 1)^3.
  CHECK(kernel_distance(x, y) == doctest::Approx(8 + 125 - 2 * 27).epsilon(1e-14));
}

TEST_CASE("a ball reaches to the k-th other vector and contains its surface") {
  const Tensor real = vectors({4, 1}, {0, 1, 3, 7});
  CHECK(squared_radii(real, 1) == std::vector<double>{1, 1, 4, 16});
  CHECK(squared_radii(real, 2) == std::vector<double>{9, 4, 9, 36});
  // With k = 1 the balls are [-1, 1], [0, 2], [1, 5], [3, 11]: 11 is inside, 11.5 and -1.5 are not.
  const Tensor fake = vectors({4, 1}, {11, 11.5, -1.5, 4});
  CHECK(precision_recall(real, fake, 1).precision == 0.5);
  // The samples' balls: [10.5, 11.5], [11, 12], [-7, 4], [-1.5, 9.5].
  CHECK(precision_recall(real, fake, 1).recall == 1);
}

TEST_CASE("equal vectors have balls of radius 0 that contain each other") {
  const Tensor same = vectors({5, 2}, {0.1, 0.7, 0.1, 0.7, 0.1, 0.7, 0.1, 0.7, 0.1, 0.7});
  CHECK(squared_radii(same, 3) == std::vector<double>(5, 0.0));
  CHECK(precision_recall(same, same, 3).precision == 1);
  CHECK(precision_recall(same, same + 1e-9, 3).precision == 0);
}

TEST_CASE("precision and recall need more than k vectors") {
  const Tensor few = random_vectors(3, 2, 1), enough = random_vectors(4, 2, 1);
  CHECK_THROWS_WITH_AS((void)precision_recall(enough, few, 3),
                       "precision and recall: got 3 vectors, expected more than k = 3", Error);
  CHECK(precision_recall(enough, enough, 3).recall == 1);
  CHECK_THROWS_AS((void)precision_recall(enough, enough, 0), Error);
}

/// What the blocks must equal, from all pairs at once.
PrecisionRecall by_all_pairs(const Tensor& real, const Tensor& fake, std::size_t k) {
  const auto distance = [](const Tensor& a, std::int64_t i, const Tensor& b, std::int64_t j) {
    double sum = 0;
    for (std::int64_t c = 0; c < a.size(1); ++c) {
      const double d = a.data<double>()[i * a.size(1) + c] - b.data<double>()[j * a.size(1) + c];
      sum += d * d;
    }
    return sum;
  };
  const auto covered = [&](const Tensor& points, const Tensor& centres) {
    std::vector<double> radii;
    for (std::int64_t i = 0; i < centres.size(0); ++i) {
      std::vector<double> all;
      for (std::int64_t j = 0; j < centres.size(0); ++j) {
        if (j != i) all.push_back(distance(centres, i, centres, j));
      }
      std::sort(all.begin(), all.end());
      radii.push_back(all[k - 1]);
    }
    double inside = 0;
    for (std::int64_t i = 0; i < points.size(0); ++i) {
      bool is_inside = false;
      for (std::int64_t j = 0; j < centres.size(0); ++j) {
        is_inside |= distance(points, i, centres, j) <= radii[static_cast<std::size_t>(j)];
      }
      inside += is_inside ? 1 : 0;
    }
    return inside / static_cast<double>(points.size(0));
  };
  return {covered(fake, real), covered(real, fake)};
}

TEST_CASE("blocks decide as all pairs at once do, on any number of threads") {
  const Tensor real = random_vectors(kPairBlockRows + 300, 6, 11);
  const Tensor fake = random_vectors(kPairBlockRows + 100, 6, 12) * 0.8;
  const PrecisionRecall expected = by_all_pairs(real, fake, 3);
  const double kid = kernel_distance(real, fake);
  const int threads = num_threads();
  for (const int count : {1, 2}) {
    set_num_threads(count);
    const PrecisionRecall got = precision_recall(real, fake, 3);
    CHECK(got.precision == expected.precision);
    CHECK(got.recall == expected.recall);
    CHECK(kernel_distance(real, fake) == kid);
  }
  set_num_threads(threads);
  CHECK(expected.precision < 1);
}

TEST_CASE("in f32 too, where rounding could change a decision, it does not") {
  // Many vectors at exactly equal distances, far from 0: products in f32 alone cannot tell them.
  Tensor grid = empty({400, 2}, kF64);
  for (std::int64_t i = 0; i < 400; ++i) {
    grid.data<double>()[2 * i] = 3000 + static_cast<double>(i % 20);
    grid.data<double>()[2 * i + 1] = 5000 + static_cast<double>(i / 20);
  }
  const Tensor moved = ops::slice(grid + 0.5, 0, 0, 300).contiguous();
  for (const std::int64_t k : {1, 4, 5}) {
    const PrecisionRecall expected = by_all_pairs(grid, moved, static_cast<std::size_t>(k));
    const PrecisionRecall got = precision_recall(grid.to(DType::f32), moved.to(DType::f32), k);
    CHECK(got.precision == expected.precision);
    CHECK(got.recall == expected.recall);
    CHECK(squared_radii(grid.to(DType::f32), k) == squared_radii(grid, k));
  }
}

TEST_CASE("blocks of 50,000 x 50,000 with 2048 features stay far below 2 GB") {
  CHECK(pair_block_bytes(2048) < std::int64_t{64} << 20);
}

TEST_CASE("a sample on the surface of a ball is inside, whatever the rounding") {
  const Tensor real = random_vectors(200, 33, 3);  // products that are not exact
  CHECK(precision_recall(real, real, 1).precision == 1);
  // Each vector's nearest neighbour lies on the surface of its ball, so a set without one vector
  // still covers it unless nothing has it as the nearest.
  const PrecisionRecall all = by_all_pairs(real, ops::slice(real, 0, 0, 100), 2);
  const PrecisionRecall got = precision_recall(real, ops::slice(real, 0, 0, 100).contiguous(), 2);
  CHECK(got.precision == all.precision);
  CHECK(got.recall == all.recall);
}

TEST_CASE("the inception score counts the classes that sure predictions cover") {
  InceptionScore sure, unsure, one;
  sure.add(vectors({4, 4}, {1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1}));
  CHECK(sure.mean() == doctest::Approx(4).epsilon(1e-14));
  unsure.add(full({3, 4}, 0.25, kF64));
  CHECK(unsure.mean() == doctest::Approx(1).epsilon(1e-14));
  one.add(vectors({2, 2}, {1, 0, 1, 0}));
  CHECK(one.mean() == doctest::Approx(1).epsilon(1e-14));
}

TEST_CASE("the inception score is the mean over splits in order, a short last one included") {
  InceptionScore score(2);
  score.add(vectors({3, 2}, {1, 0, 0, 1, 1, 0}));  // 2 and, for the last alone, 1
  score.add(vectors({2, 2}, {0, 1, 0, 1}));        // (1, 0), (0, 1): 2; then 1
  CHECK(score.mean() == doctest::Approx((2 + 2 + 1) / 3.0).epsilon(1e-14));
  InceptionScore none;
  CHECK_THROWS_AS((void)none.mean(), Error);
}

TEST_CASE("logits give the same score as their softmax, however large") {
  InceptionScore by_logits, by_shares;
  by_logits.add_logits(vectors({2, 2}, {1000, 1000 + std::log(3.0), -5, -5 + std::log(3.0)}));
  by_shares.add(vectors({2, 2}, {0.25, 0.75, 0.25, 0.75}));
  CHECK(by_logits.mean() == doctest::Approx(by_shares.mean()).epsilon(1e-13));
}

}  // namespace fovea
