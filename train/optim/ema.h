// Averaged weights: an exponential moving average (EMA) of every tensor that a model saves.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "models/scope.h"
#include "ops/update.h"
#include "train/optim/portion.h"

namespace fovea {

/// average <- decay average + (1 - decay) value, over parameters and buffers, initialised with the
/// values at construction (timm 0.3.2). Integer buffers are copied.
///
/// With warm-up (timm's ModelEmaV3) the decay of update t = 1, 2, ... is at most 1 - t^(-2/3), so
/// the weight of the early values, which change most, soon drops.
class Ema {
 public:
  explicit Ema(const ParameterStore& store, double decay, bool warmup = false);

  /// From now on keeps the averages of these parts of the parameters alone; buffers stay whole.
  void shard_state(const ParameterStore& store, const PortionOf& portion_of);

  /// This part's average, for the caller to update in place of the next update(); or undefined.
  [[nodiscard]] Tensor lend(const std::string& name, const Tensor& part);
  /// `step` is the number of updates including this one; only the warm-up uses it.
  void update(const ParameterStore& store, std::int64_t step = 1);
  /// The same with the decay in the memory of an update, for work that is recorded and repeated.
  void update(const ParameterStore& store, const ops::UpdateStep& now);

  [[nodiscard]] double decay_at(std::int64_t step) const;
  [[nodiscard]] ops::AverageDecay decay() const { return {decay_, warmup_}; }
  /// The averages by parameter or buffer name, as handles that share storage; after shard_state(),
  /// of the parts that are kept.
  [[nodiscard]] const std::map<std::string, Tensor>& averages() const { return averages_; }

 private:
  void write_decay(double decay);
  [[nodiscard]] std::vector<ops::Average> averages_to_update(const ParameterStore& store);

  double decay_;
  bool warmup_;
  std::map<std::string, Tensor> averages_;
  /// Set by shard_state(); a tensor without one is whole.
  std::map<std::string, Portion> portions_;
  std::set<std::string> lent_{};  ///< since the last update()
  Tensor now_;                    ///< decay of the current update, in the memory that kernels read
};

/// Weight of the initial values in an average after `updates` updates: the product of the decays.
/// It is 0 with warm-up, because the first update has decay 0.
[[nodiscard]] double share_of_first_values(double decay, bool warmup, std::int64_t updates);

/// While an object of this class is alive, the store contains `values`, such as the averages. The
/// destructor restores the store's own values bit for bit.
class SwappedWeights {
 public:
  SwappedWeights(const ParameterStore& store, const std::map<std::string, Tensor>& values);
  ~SwappedWeights();
  SwappedWeights(const SwappedWeights&) = delete;
  SwappedWeights& operator=(const SwappedWeights&) = delete;

 private:
  const ParameterStore& store_;
  std::map<std::string, Tensor> own_;
};

}  // namespace fovea
