// Averaged weights: an exponential moving average of everything that a model saves.
#pragma once

#include <map>
#include <string>

#include "models/scope.h"

namespace fovea {

/// average <- decay average + (1 - decay) value, over parameters and buffers, starting from the
/// values at construction; no warm-up (timm 0.3.2). Integer buffers are copied.
class Ema {
 public:
  Ema(const ParameterStore& store, double decay);

  void update(const ParameterStore& store);

  [[nodiscard]] double decay() const { return decay_; }
  /// The averages by parameter or buffer name: handles, not copies.
  [[nodiscard]] const std::map<std::string, Tensor>& averages() const { return averages_; }

 private:
  double decay_;
  std::map<std::string, Tensor> averages_;
};

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
