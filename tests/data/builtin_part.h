// The first of the built-in training pictures.
#pragma once

#include <memory>

#include "data/sources/drawn/builtin.h"

namespace fovea::tests {

inline std::shared_ptr<const Dataset> builtin(std::int64_t size) {
  return std::make_shared<Builtin>(Split::train, BuiltinOptions{.train_size = size});
}

}  // namespace fovea::tests
