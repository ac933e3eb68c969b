// Data sets that are read in their order.
#pragma once

#include "data/dataset.h"

namespace fovea {

/// The samples of a data set that derives from this, too, can only be read one after the other,
/// from the first on: they are not shuffled, and one worker reads them.
class Sequential {
 public:
  virtual ~Sequential() = default;

 protected:
  Sequential() = default;
  Sequential(const Sequential&) = default;
  Sequential& operator=(const Sequential&) = default;
};

[[nodiscard]] inline bool is_sequential(const Dataset& dataset) {
  return dynamic_cast<const Sequential*>(&dataset) != nullptr;
}

}  // namespace fovea
