// Mean and covariance of a set of feature vectors, summed in f64, and their files.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "engine/tensor.h"

namespace fovea {

/// Mean and covariance of N vectors of d features, for the Frechet distance.
struct FeatureStatistics {
  std::int64_t count = 0;  ///< N; 0: unknown, because most files lack it
  Tensor mean{};           ///< f64 [d]
  Tensor covariance{};     ///< f64 [d, d], with the divisor N - 1
  Tensor centred{};        ///< f64 [N, d], the vectors minus their mean, if N <= d; else undefined

  /// Description of the features, a JSON object in files of `measure`; empty for other files.
  std::string origin{};

  [[nodiscard]] std::int64_t features() const { return mean.size(0); }
};

/// Sums vectors as they arrive. The result does not depend on the sizes of the batches.
class StatisticsSum {
 public:
  /// Adds rows [n, d] of any float dtype on the CPU.
  void add(const Tensor& rows);
  [[nodiscard]] std::int64_t count() const { return merged_ + pending_rows_; }
  /// Throws unless at least two vectors were added.
  [[nodiscard]] FeatureStatistics finish();

 private:
  void start(std::int64_t features);
  void merge_pending();

  std::int64_t merged_ = 0, pending_rows_ = 0;
  Tensor pending_;         ///< f64 [block, d]
  Tensor mean_, scatter_;  ///< of the merged rows; scatter = sum of (x - mean)(x - mean)^T
  Tensor kept_;            ///< f64 [N, d] as long as N <= d
};

/// Reads the arrays `mu` [d] and `sigma` [d, d] of an .npz file, as published by pytorch-fid,
/// clean-fid and the ADM suite; the suffix "_s" selects the ADM suite's spatial features. Throws
/// Error, starting with the path, on anything else, including a sigma that is not a covariance.
[[nodiscard]] FeatureStatistics read_statistics(const std::filesystem::path& path,
                                                const std::string& suffix = "");
/// Writes such a file with two more arrays, `count` and `origin` (a JSON text as u8), which other
/// readers ignore.
void write_statistics(const std::filesystem::path& path, const FeatureStatistics& statistics);

}  // namespace fovea
