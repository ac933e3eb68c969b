// What training costs: time by stage, and floating-point operations of the products that it
// computes (linear layers, other matrix multiplications, convolutions, attention; a multiply-add
// counts as two).
#pragma once

#include <chrono>
#include <cstdint>
#include <string_view>

#include "engine/profile.h"
#include "engine/tape_watch.h"

namespace fovea {

/// Seconds by stage, and the products of the passes in this process.
struct StageTimes {
  double wait = 0;  ///< waiting for the loader; without workers, preparing batches too
  double forward = 0, backward = 0, optimizer = 0;
  double exchange = 0;  ///< adding up shards; with several processes, waiting for the others too
  /// Buckets of gradients were on their way, during the backward pass or after it.
  double sending = 0;
  double evaluate = 0;
  double flop = 0;

  [[nodiscard]] double in_stages() const {
    return wait + forward + backward + exchange + optimizer;
  }
  friend StageTimes operator-(const StageTimes& a, const StageTimes& b) {
    return {a.wait - b.wait,           a.forward - b.forward,   a.backward - b.backward,
            a.optimizer - b.optimizer, a.exchange - b.exchange, a.sending - b.sending,
            a.evaluate - b.evaluate,   a.flop - b.flop};
  }
};

/// Adds its lifetime to `seconds`; in a profile it is a span named `stage`.
class StageTimer {
 public:
  StageTimer(double& seconds, std::string_view stage) : seconds_(seconds), span_(stage, "stage") {}
  ~StageTimer() {
    seconds_ += std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  }
  StageTimer(const StageTimer&) = delete;
  StageTimer& operator=(const StageTimer&) = delete;

 private:
  double& seconds_;
  ProfileScope span_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

/// Adds to `flop` what the forward passes of this thread compute while it is alive, also without a
/// tape (frozen layers, a teacher).
class ForwardProducts final : public TapeWatcher {
 public:
  explicit ForwardProducts(double& flop) : flop_(flop) {}

 private:
  void recorded(const OpLabel& op, std::span<const Tensor> inputs, const Tensor& output) override;

  double& flop_;
};

/// Adds to `flop` what the backward passes of this thread need while it is alive: for each factor
/// of a product that gets a gradient, as much as the product. The model FLOPs utilisation of the
/// literature does not count what is computed again, scores of attention and recomputed blocks,
/// nor does this.
class BackwardProducts final : public TapeWatcher {
 public:
  explicit BackwardProducts(double& flop) : flop_(flop) {}

 private:
  void differentiated(const Node& node, std::span<const Tensor> gradients) override;
  [[nodiscard]] bool reads_gradients() const override { return false; }

  double& flop_;
};

/// Training time since a starting point, for throughput. Evaluation is excluded.
struct Stopwatch {
  std::chrono::steady_clock::time_point start = std::chrono::steady_clock::now();
  StageTimes before{};  ///< the clocks at the start
  std::int64_t images = 0, steps = 0;

  [[nodiscard]] double seconds(const StageTimes& now) const {
    const auto passed = std::chrono::steady_clock::now() - start;
    return std::chrono::duration<double>(passed).count() - (now - before).evaluate;
  }
};

/// An interval's seconds for logs: stages and the remainder (averages, logging, saving).
struct TimeShares {
  double seconds = 0;
  StageTimes stages{};
  [[nodiscard]] double other() const {
    const double rest = seconds - stages.in_stages();
    return rest > 0 ? rest : 0;
  }
  /// Training is data-bound if it waits for data more than this fraction of the time.
  static constexpr double kDataBound = 0.2;
  [[nodiscard]] bool data_bound() const {
    return seconds > 0 && stages.wait > kDataBound * seconds;
  }
};

}  // namespace fovea
