// Averaged weights: an exponential moving average of everything that a model saves.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "models/scope.h"

namespace fovea {

/// average <- decay average + (1 - decay) value, over parameters and buffers, starting from the
/// values at construction (timm 0.3.2). Integer buffers are copied.
///
/// With a warm-up (timm's ModelEmaV3) the decay of update t = 1, 2, ... is at most 1 - t^(-2/3), so
/// that the first ones, in which the weights change most, are soon forgotten.
class Ema {
 public:
  explicit Ema(const ParameterStore& store, double decay, bool warmup = false);

  /// `step` is the number of updates with this one; only a warm-up asks for it.
  void update(const ParameterStore& store, std::int64_t step = 1);

  [[nodiscard]] double decay_at(std::int64_t step) const;
  /// The averages by parameter or buffer name: handles, not copies.
  [[nodiscard]] const std::map<std::string, Tensor>& averages() const { return averages_; }

 private:
  void write_decay(double decay);

  double decay_;
  bool warmup_;
  std::map<std::string, Tensor> averages_;
  Tensor now_;  ///< the decay of the update under way, where kernels read it
};

/// The share of an average that is its first values after so many updates: the product of their
/// decays. With a warm-up nothing is left, as the first update forgets all.
[[nodiscard]] double share_of_first_values(double decay, bool warmup, std::int64_t updates);

/// While it lives, the store holds the averages; then its own values again, bit for bit.
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
