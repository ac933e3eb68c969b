// What a model says of images, and how far two answers lie apart.
#pragma once

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "engine/autograd.h"
#include "models/classifier.h"
#include "models/model.h"
#include "models/model_as.h"
#include "ops/arithmetic.h"
#include "ops/reduce.h"

namespace fovea::tests {

/// In evaluation, with activations of the images' dtype.
inline std::vector<double> logits_of(Model& model, const Tensor& images) {
  const NoGrad no_grad;
  Context ctx;
  ctx.activations = images.dtype();
  return model_as<Classifier>(model).forward(images, ctx).logits.to_vector();
}

/// max |a - b|.
inline double worst_difference(const std::vector<double>& a, const std::vector<double>& b) {
  REQUIRE(a.size() == b.size());
  double worst = 0;
  for (std::size_t i = 0; i < a.size(); ++i) worst = std::max(worst, std::abs(a[i] - b[i]));
  return worst;
}

/// The same, of tensors; NaN if either has one.
inline double largest_difference(const Tensor& a, const Tensor& b) {
  return ops::amax(ops::abs(a - b)).item();
}

}  // namespace fovea::tests
