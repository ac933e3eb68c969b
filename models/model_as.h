// From any model to one of a kind: the only place that asks a model for its class.
#pragma once

#include <memory>
#include <utility>

#include "models/model.h"

namespace fovea {

/// Throws Error: "mae_vit_tiny_patch4_32 is a masked autoencoder; expected a classifier (family
/// vit, pit, ...)".
[[noreturn]] void refuse_kind(const ModelInfo& model, TaskKind expected);

/// The model as what a task works with: model_as<Classifier>(model). Throws where it is of another
/// kind.
template <class Kind>
[[nodiscard]] Kind& model_as(Model& model) {
  auto* const same = dynamic_cast<Kind*>(&model);
  if (same == nullptr) refuse_kind(model.info(), Kind::kTask);
  return *same;
}

/// The same of a model that is handed over.
template <class Kind>
[[nodiscard]] std::unique_ptr<Kind> model_as(std::unique_ptr<Model> model) {
  Kind& same = model_as<Kind>(*model);
  static_cast<void>(model.release());
  return std::unique_ptr<Kind>(&same);
}

}  // namespace fovea
