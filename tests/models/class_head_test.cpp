// The head of MAE's linear probe against its formula.
#include "models/layers/class_head.h"

#include <doctest/doctest.h>

#include <cmath>
#include <vector>

#include "engine/autograd.h"
#include "engine/random.h"
#include "ops/arithmetic.h"
#include "tests/support/f64.h"

using namespace fovea;

namespace {

constexpr std::size_t kImages = 3, kChannels = 2;
constexpr double kEps = 1e-6;

/// Of one channel over the batch.
struct Statistics {
  double mean = 0, biased = 0, unbiased = 0;

  Statistics(const std::vector<double>& x, std::size_t channel) {
    for (std::size_t b = 0; b < kImages; ++b) mean += x[b * kChannels + channel] / kImages;
    double squares = 0;
    for (std::size_t b = 0; b < kImages; ++b) {
      squares += std::pow(x[b * kChannels + channel] - mean, 2);
    }
    biased = squares / kImages;
    unbiased = squares / (kImages - 1);
  }
};

void check_close(double value, double expected) {
  CHECK(value == doctest::Approx(expected).epsilon(1e-12));
}

}  // namespace

TEST_CASE("the probe's norm: batch statistics, eps 1e-6, momentum 0.1, nothing to train") {
  ParameterStore store(1, kF64);
  const BatchStatistics norm(Scope(store) / "0", kChannels);
  CHECK(store.parameters().empty());
  CHECK(store.buffers().size() == 3);
  // Values of the size of eps' root, so that eps is seen.
  const std::vector<double> batches[2] = {{0.001, 2, 0.003, -1, -0.002, 5}, {0.004, 1, 0, 0, 0, 3}};
  double mean[kChannels] = {0, 0}, variance[kChannels] = {1, 1};
  const NoGrad no_grad;
  Context training, evaluation;
  training.training = true;
  for (const std::vector<double>& x : batches) {
    const Tensor y = norm(from_values({kImages, kChannels}, x, kF64), training);
    for (std::size_t c = 0; c < kChannels; ++c) {
      const Statistics s(x, c);
      for (std::size_t b = 0; b < kImages; ++b) {
        check_close(y.at(static_cast<std::int64_t>(b * kChannels + c)),
                    (x[b * kChannels + c] - s.mean) / std::sqrt(s.biased + kEps));
      }
      mean[c] = 0.9 * mean[c] + 0.1 * s.mean;
      variance[c] = 0.9 * variance[c] + 0.1 * s.unbiased;
    }
  }
  CHECK(store.find("0.num_batches_tracked").item() == 2);
  const Tensor y = norm(from_values({kImages, kChannels}, batches[0], kF64), evaluation);
  for (std::size_t c = 0; c < kChannels; ++c) {
    check_close(store.find("0.running_mean").at(static_cast<std::int64_t>(c)), mean[c]);
    check_close(store.find("0.running_var").at(static_cast<std::int64_t>(c)), variance[c]);
    for (std::size_t b = 0; b < kImages; ++b) {
      check_close(y.at(static_cast<std::int64_t>(b * kChannels + c)),
                  (batches[0][b * kChannels + c] - mean[c]) / std::sqrt(variance[c] + kEps));
    }
  }
}

TEST_CASE("a head is one linear layer, of the probe behind its norm") {
  for (const bool batch_norm : {false, true}) {
    ParameterStore store(1, kF64);
    const ClassHead head(Scope(store) / "head", kChannels, {3, batch_norm});
    const Tensor weight = store.find(batch_norm ? "head.1.weight" : "head.weight");
    const Tensor x = rand_normal({kImages, kChannels}, {0, 1}, {4}, kF64);
    const NoGrad no_grad;
    Context ctx;
    const Tensor y = head(x, ctx);
    const double scale = batch_norm ? 1 / std::sqrt(1 + kEps) : 1;
    for (std::int64_t b = 0; b < 3; ++b) {
      for (std::int64_t k = 0; k < 3; ++k) {
        check_close(y.at(b * 3 + k), scale * (x.at(b * 2) * weight.at(k * 2) +
                                              x.at(b * 2 + 1) * weight.at(k * 2 + 1)));
      }
    }
  }
}
