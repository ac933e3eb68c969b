// A place in the tree of names of a model's parameters, as Python holds it.
#pragma once

#include <memory>
#include <utility>

#include "models/scope.h"

namespace fovea::python {

/// The scope is valid as long as its store, which may belong to a model.
struct ParameterPlace {
  std::shared_ptr<ParameterStore> store;
  Scope scope;

  explicit ParameterPlace(std::shared_ptr<ParameterStore> of) : ParameterPlace(of, Scope(*of)) {}
  ParameterPlace(std::shared_ptr<ParameterStore> of, Scope at)
      : store(std::move(of)), scope(std::move(at)) {}
};

}  // namespace fovea::python
