// Sums in blocks of a fixed size, merged by Chan's formula: no cancellation, whatever the mean.
#include "report/measures/statistics.h"

#include <algorithm>
#include <cmath>

#include "engine/base/error.h"
#include "engine/base/lists.h"
#include "engine/base/text.h"
#include "engine/formats/numpy/npz.h"
#include "engine/formats/numpy/npz_writer.h"
#include "ops/arithmetic.h"
#include "ops/matmul.h"
#include "ops/reduce.h"
#include "ops/view.h"
#include "report/measures/matrix_roots.h"

namespace fovea {
namespace {

constexpr std::int64_t kBlockRows = 1024;  // a block is one matrix product
constexpr TensorOptions kF64{DType::f64, {}};

void require_finite(const Tensor& values, const std::string& what) {
  const double* const v = values.data<double>();
  check(std::all_of(v, v + values.numel(), [](double x) { return std::isfinite(x); }), what,
        ": contains values that are not finite");
}

/// "images and labels", the arrays of a file.
std::string names_of(const NpzFile& arrays) {
  std::vector<std::string> names;
  for (const StoredEntry& entry : arrays.entries()) names.push_back(visible_text(entry.name));
  return names.empty() ? "no array of numbers" : first_few(names, 8);
}

}  // namespace

void StatisticsSum::start(std::int64_t features) {
  pending_ = empty({kBlockRows, features}, kF64);
  mean_ = zeros({features}, kF64);
  scatter_ = zeros({features, features}, kF64);
  kept_ = zeros({0, features}, kF64);
}

void StatisticsSum::add(const Tensor& rows) {
  check(rows.rank() == 2 && rows.size(1) > 0, "statistics: got vectors of shape ", rows.shape(),
        ", expected [N, d]");
  if (!pending_.defined()) start(rows.size(1));
  check(rows.size(1) == pending_.size(1), "statistics: got vectors of ", rows.size(1),
        " features, expected ", pending_.size(1));
  for (std::int64_t done = 0; done < rows.size(0);) {
    const std::int64_t count = std::min(kBlockRows - pending_rows_, rows.size(0) - done);
    ops::slice(pending_, 0, pending_rows_, pending_rows_ + count)
        .copy_(ops::slice(rows, 0, done, done + count));
    done += count;
    pending_rows_ += count;
    if (pending_rows_ == kBlockRows) merge_pending();
  }
}

void StatisticsSum::merge_pending() {
  if (pending_rows_ == 0) return;
  const Tensor block = ops::slice(pending_, 0, 0, pending_rows_);
  const auto n = static_cast<double>(merged_), m = static_cast<double>(pending_rows_);
  const Tensor mean = ops::mean(block, {0});
  const Tensor centred = block - mean;
  const Tensor delta = mean - mean_;
  const Tensor outer = ops::unsqueeze(delta, 1) * ops::unsqueeze(delta, 0);
  scatter_ = scatter_ + ops::matmul(centred, centred, {.a = true}) + outer * (n * m / (n + m));
  mean_ = mean_ + delta * (m / (n + m));
  merged_ += pending_rows_;
  pending_rows_ = 0;
  if (!kept_.defined()) return;  // once N > d, the covariance alone is needed
  kept_ = merged_ <= kept_.size(1) ? ops::cat({kept_, block}, 0) : Tensor();
}

FeatureStatistics StatisticsSum::finish() {
  merge_pending();
  check(merged_ >= 2, "statistics: got ", merged_, " vectors, expected at least 2");
  FeatureStatistics result;
  result.count = merged_;
  result.mean = mean_;
  result.covariance = scatter_ / static_cast<double>(merged_ - 1);
  if (merged_ <= mean_.size(0)) result.centred = kept_ - mean_;
  return result;
}

FeatureStatistics read_statistics(const std::filesystem::path& path, const std::string& suffix) {
  const InputFile file(path);
  const NpzFile arrays(file, path.string());
  const auto array = [&](const char* name) {
    check(arrays.find(name + suffix) != nullptr, path.string(), ": has no array ", name, suffix,
          ", but ", names_of(arrays),
          "; expected mu and sigma (statistics) or arr_0 (pictures u8 [N, H, W, 3])");
    return arrays.read(name + suffix).to(DType::f64).contiguous();
  };
  FeatureStatistics result;
  result.mean = array("mu");
  result.covariance = array("sigma");
  const std::int64_t d = result.mean.numel();
  check(result.mean.rank() == 1 && d > 0, path.string(), ": mu: got shape ", result.mean.shape(),
        ", expected [d]");
  check(result.covariance.shape() == Shape({d, d}), path.string(), ": sigma: got shape ",
        result.covariance.shape(), ", expected [", d, ", ", d, "] to fit mu");
  if (arrays.find("count")) result.count = static_cast<std::int64_t>(arrays.read("count").item());
  if (arrays.find("origin")) {
    for (const double c : arrays.read("origin").to_vector()) result.origin += static_cast<char>(c);
  }
  require_finite(result.mean, path.string() + ": mu");
  require_finite(result.covariance, path.string() + ": sigma");
  require_covariance(result.covariance, path.string() + ": sigma");
  return result;
}

void write_statistics(const std::filesystem::path& path, const FeatureStatistics& statistics) {
  NpzWriter file(path);
  file.add("mu", statistics.mean);
  file.add("sigma", statistics.covariance);
  file.add("count", scalar(static_cast<double>(statistics.count), {DType::i64, {}}));
  const std::span<const char> origin(statistics.origin);
  file.add("origin", from_bytes({std::ssize(statistics.origin)}, DType::u8, std::as_bytes(origin)));
  file.finish();
}

}  // namespace fovea
