// Rows of numbers are sent as one list, each with its length before it.
#include "train/loop/batch_numbers.h"

#include <cstddef>

#include "engine/base/error.h"

namespace fovea {

std::vector<std::vector<double>> BatchNumbers::all(Communicator& processes) const {
  if (processes.size() == 1) return own_;
  std::vector<double> mine;
  for (const std::vector<double>& row : own_) {
    mine.push_back(static_cast<double>(row.size()));
    mine.insert(mine.end(), row.begin(), row.end());
  }
  std::vector<std::vector<double>> rows;
  for (const std::vector<double>& theirs : all_gather(processes, mine)) {
    for (auto at = theirs.begin(); at != theirs.end();) {
      const auto length = static_cast<std::ptrdiff_t>(*at++);
      rows.emplace_back(at, at + length);
      at += length;
    }
  }
  return rows;
}

std::vector<double> BatchNumbers::sums(Communicator& processes, std::size_t count) const {
  std::vector<double> sums(count);
  for (const std::vector<double>& row : all(processes)) {
    check(row.size() == count, "batch numbers: got ", row.size(), ", expected ", count);
    for (std::size_t i = 0; i < count; ++i) sums[i] += row[i];
  }
  return sums;
}

}  // namespace fovea
