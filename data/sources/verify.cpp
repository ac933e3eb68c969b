// Verifies in blocks, to report progress between them.
#include "data/sources/verify.h"

#include <algorithm>

#include "engine/parallel.h"

namespace fovea {

std::vector<BrokenImage> verify_dataset(const Dataset& dataset,
                                        const std::function<bool(std::int64_t done)>& on_progress) {
  constexpr std::int64_t piece = 256;
  std::vector<BrokenImage> broken;
  for (std::int64_t first = 0; first < dataset.size(); first += piece) {
    const std::int64_t count = std::min(piece, dataset.size() - first);
    std::vector<std::string> messages(static_cast<std::size_t>(count));
    parallel_for(count, 1, [&](std::int64_t i, std::int64_t) {
      try {
        dataset.verify(first + i);
      } catch (const ImageError& error) {
        messages[i] = error.what();
      }
    });
    for (std::int64_t i = 0; i < count; ++i)
      if (!messages[i].empty()) broken.push_back({first + i, messages[i]});
    if (on_progress && !on_progress(first + count)) break;
  }
  return broken;
}

}  // namespace fovea
