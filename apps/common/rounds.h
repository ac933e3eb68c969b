// Work on a list of items that several processes share: in rounds, in which each makes a part and
// the first process collects the parts.
#pragma once

#include <cstdint>

#include "engine/comm/communicator.h"
#include "engine/tensor.h"

namespace fovea {

/// The items [first, end) of all processes, and the part of this one.
struct Round {
  std::int64_t first = 0, end = 0;
  std::int64_t own_first = 0, own_end = 0;

  [[nodiscard]] std::int64_t own() const { return own_end - own_first; }
  friend bool operator==(const Round&, const Round&) = default;
};

/// The rounds of a list. They depend on the number of items and processes alone, so that all
/// processes agree.
struct Rounds {
  std::int64_t items = 0;
  std::int64_t batch = 1;  ///< items of a process in a round
  const Communicator& processes;
  /// So many items of each round are the first process's, if they fit its batch. It has always one.
  std::int64_t least_of_first = 1;

  /// The round that begins with item `first`: consecutive parts in the order of ranks. The items of
  /// the last round are divided equally; some processes may have none.
  [[nodiscard]] Round from(std::int64_t first) const;
};

/// The rows of all processes at the first one, in the order of ranks; the others get their own.
/// `mine`: [n, ...] on the CPU and contiguous, where n may be 0 and all else is equal in all
/// processes.
[[nodiscard]] Tensor gather_rows(Communicator& processes, const Tensor& mine);

}  // namespace fovea
