// Assignment of a model's parameters to losses and optimizers.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "models/scope.h"
#include "train/optim/optimizer.h"

namespace fovea {

/// Parameters with their own loss and their own optimizer.
struct ParameterGroup {
  std::string name{};   ///< name in the run's state; optional for the first group
  double lr_scale = 1;  ///< factor on the run's learning rate
  std::optional<OptimizerOptions> optimizer{};  ///< replaces the run's optimizer options
};

/// Partition of all trainable parameters into groups.
struct ParameterSplit {
  std::vector<ParameterGroup> groups{{}};
  /// Index in `groups` of a parameter's group; empty: all are in the first group.
  std::function<std::size_t(const Parameter&)> group_of{};

  [[nodiscard]] std::size_t of(const Parameter& parameter) const {
    return group_of ? group_of(parameter) : 0;
  }
};

}  // namespace fovea
