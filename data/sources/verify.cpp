// Images are verified in parallel; what is wrong with them is collected in their order.
#include "data/sources/verify.h"

#include <string>

#include "engine/parallel.h"

namespace fovea {

std::vector<BrokenImage> verify_images(const Dataset& dataset, std::int64_t first,
                                       std::int64_t end) {
  std::vector<std::string> messages(static_cast<std::size_t>(end - first));
  parallel_for(end - first, 1, [&](std::int64_t i, std::int64_t) {
    try {
      dataset.verify(first + i);
    } catch (const ImageError& error) {
      messages[static_cast<std::size_t>(i)] = error.what();
    }
  });
  std::vector<BrokenImage> broken;
  for (std::int64_t i = first; i < end; ++i) {
    const std::string& message = messages[static_cast<std::size_t>(i - first)];
    if (!message.empty()) broken.push_back({i, message});
  }
  return broken;
}

}  // namespace fovea
