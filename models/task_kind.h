// What models are for. The registry's entry of a family says which of these trains it.
#pragma once

#include <string_view>

namespace fovea {

/// What a model is trained for.
enum class TaskKind { classification, masked_autoencoding };

/// "a classifier": what a model for that task is called.
[[nodiscard]] constexpr std::string_view noun_of(TaskKind task) {
  switch (task) {
    case TaskKind::classification:
      return "a classifier";
    case TaskKind::masked_autoencoding:
      return "a masked autoencoder";
  }
  return "";
}

}  // namespace fovea
