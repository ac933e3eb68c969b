// Casts a Model to the class of a task. No other code tests for a model's class.
#pragma once

#include <memory>
#include <utility>

#include "models/model.h"

namespace fovea {

/// Throws an Error such as "mae_vit_tiny_patch4_32 is a masked autoencoder; expected a classifier
/// (family vit, pit, ...)".
[[noreturn]] void refuse_kind(const ModelInfo& model, TaskKind expected);

/// Casts a model to the class that a task works with: model_as<Classifier>(model). Throws if the
/// model is of another kind.
template <class Kind>
[[nodiscard]] Kind& model_as(Model& model) {
  auto* const same = dynamic_cast<Kind*>(&model);
  if (same == nullptr) refuse_kind(model.info(), Kind::kTask);
  return *same;
}

/// Casts an owned model.
template <class Kind>
[[nodiscard]] std::unique_ptr<Kind> model_as(std::unique_ptr<Model> model) {
  Kind& same = model_as<Kind>(*model);
  static_cast<void>(model.release());
  return std::unique_ptr<Kind>(&same);
}

}  // namespace fovea
