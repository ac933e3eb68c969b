// Comparison of the tensors of two models or files.
#pragma once

#include <doctest/doctest.h>

#include "engine/formats/weights_file.h"

namespace fovea::tests {

/// Checks that names, shapes and values are equal.
inline void check_same(const TensorMap& found, const TensorMap& expected) {
  CHECK(found.size() == expected.size());
  for (const auto& entry : expected) {
    CAPTURE(entry.first);
    REQUIRE(found.contains(entry.first));
    const Tensor& tensor = found.at(entry.first);
    CHECK(tensor.shape() == entry.second.shape());
    CHECK(tensor.to_vector() == entry.second.to_vector());
  }
}

}  // namespace fovea::tests
