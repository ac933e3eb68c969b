// What classifiers without patch tokens answer.
#include "models/classifier.h"

#include "engine/base/error.h"

namespace fovea {

PatchTokens Classifier::patch_tokens(const Tensor& /*images*/, Context& /*ctx*/) {
  static_cast<void>(patch_channels());
  return {};
}

std::int64_t Classifier::patch_channels() const {
  fail(info().name, " has no patch tokens; expected a ViT, CPVT or PerViT");
}

}  // namespace fovea
