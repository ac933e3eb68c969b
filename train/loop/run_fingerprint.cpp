// When fingerprints are due, and the images of a step.
#include "train/loop/run_fingerprint.h"

#include <vector>

namespace fovea {

void RunFingerprint::add_step(FingerprintChain& chain, Loader& loader, Cursor first,
                              std::int64_t batches) const {
  if (!options_.computes) return;
  if (options_.only_first_batch) {
    add_images(chain, 0, loader.images_of({}, 1));
  } else {
    add_images(chain, first.epoch, loader.images_of(first, batches));
  }
}

bool RunFingerprint::is_due(const Progress& progress) const {
  const std::int64_t interval = options_.interval;
  return interval > 0 ? progress.step % interval == 0 : progress.cursor.batch == 0;
}

std::string RunFingerprint::finish(FingerprintChain& chain, const ParameterStore& weights) const {
  if (!options_.computes) return {};
  add_weights(chain, weights);
  return chain.last;
}

}  // namespace fovea
