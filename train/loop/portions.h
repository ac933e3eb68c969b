// Sharded optimizer state: each process updates a part of every bucket of parameters and keeps the
// moments and averages of that part alone.
//
// Rajbhandari et al., "ZeRO: Memory Optimizations Toward Training Trillion Parameter Models", 2020,
// stage 1.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "engine/comm/communicator.h"
#include "models/scope.h"
#include "train/loop/gradient_buckets.h"
#include "train/optim/portion.h"

namespace fovea {

/// The parts of all processes, and the messages between them. All processes call the same
/// functions.
class Portions {
 public:
  /// Both must outlive the object.
  Portions(const GradientBuckets& buckets, Communicator& processes)
      : buckets_(buckets), processes_(processes) {}

  /// This process's part of a parameter; all of one that is not trained.
  [[nodiscard]] Portion of(const Tensor& parameter) const;
  /// gradient_squares() of the store, whose gradients are right in each process's own parts.
  [[nodiscard]] Tensor squares(const ParameterStore& store) const;
  /// The wholes of tensors like the parameters, on the CPU. `parts` are by name: the parameter's
  /// after `prefix` letters, such as 2 in "m/head.bias". Other processes than the first get them
  /// only `everywhere`, else an empty map.
  using Tensors = std::map<std::string, Tensor>;
  [[nodiscard]] Tensors gather(const ParameterStore& store, const Tensors& parts,
                               std::size_t prefix, bool everywhere) const;

 private:
  [[nodiscard]] Tensor gather(const Tensor& parameter, const Tensor& part) const;

  const GradientBuckets& buckets_;
  Communicator& processes_;
};

}  // namespace fovea
