// Numbers measured on each batch of an evaluation pass, over all processes.
#pragma once

#include <vector>

#include "engine/comm/communicator.h"

namespace fovea {

/// Each process adds the numbers of its own batches, which come after those of the process before
/// it. Sums are taken over the batches in order, so they do not depend on the number of processes.
class BatchNumbers {
 public:
  void add(std::vector<double> numbers) { own_.push_back(std::move(numbers)); }

  /// The numbers of all batches, in the data set's order.
  [[nodiscard]] std::vector<std::vector<double>> all(Communicator& processes) const;
  /// The sum of each number over all batches, which must have `count` numbers each.
  [[nodiscard]] std::vector<double> sums(Communicator& processes, std::size_t count) const;

 private:
  std::vector<std::vector<double>> own_;
};

}  // namespace fovea
