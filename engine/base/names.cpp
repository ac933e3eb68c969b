// Closeness is the edit distance with swaps of neighbours (optimal string alignment).
#include "engine/base/names.h"

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <utility>

#include "engine/base/text.h"

namespace fovea {
namespace {

/// Distance from `a` to `b` by the standard table: row i, column j is the distance between their
/// first i and first j letters.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before, last(b.size() + 1), row(b.size() + 1);
  std::iota(last.begin(), last.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t changed = last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      row[j] = std::min({changed, last[j] + 1, row[j - 1] + 1});
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) row[j] = std::min(row[j], before[j - 2] + 1);
    }
    before = std::exchange(last, row);
  }
  return last.back();
}

}  // namespace

std::string nearest_name(std::string_view word, const std::vector<std::string>& candidates) {
  constexpr std::size_t kMinPart = 3;  // minimum letters for a substring match
  std::string nearest;
  std::size_t least = SIZE_MAX;
  for (const std::string& candidate : candidates) {
    const std::size_t distance = edit_distance(word, candidate);
    const std::size_t allowed =
        std::max<std::size_t>(1, std::max(word.size(), candidate.size()) / 3);
    if (distance > allowed || distance >= least) continue;
    least = distance;
    nearest = candidate;
  }
  if (!nearest.empty() || word.size() < kMinPart) return nearest;
  const auto whole = std::ranges::find_if(
      candidates, [&](const auto& candidate) { return candidate.find(word) != std::string::npos; });
  return whole == candidates.end() ? "" : *whole;
}

std::string did_you_mean(std::string_view word, const std::vector<std::string>& candidates) {
  const std::string nearest = nearest_name(word, candidates);
  return nearest.empty() ? "" : "; did you mean " + nearest + "?";
}

void refuse_name(std::string_view what, std::string_view name,
                 const std::vector<std::string>& known) {
  fail(what, ": got ", name.empty() ? "nothing" : name, ", expected one of ", join(known, ", "),
       did_you_mean(name, known));
}

}  // namespace fovea
