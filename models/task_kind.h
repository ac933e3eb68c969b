// The tasks that models are trained for. The registry assigns one to each family.
#pragma once

#include <string_view>

namespace fovea {

/// A training task.
enum class TaskKind {
  classification,
  masked_autoencoding,
  diffusion,
  autoencoding,
  detection,
  depth
};

/// Noun for a model of that task, such as "a classifier".
[[nodiscard]] constexpr std::string_view noun_of(TaskKind task) {
  switch (task) {
    case TaskKind::classification:
      return "a classifier";
    case TaskKind::masked_autoencoding:
      return "a masked autoencoder";
    case TaskKind::diffusion:
      return "a diffusion model";
    case TaskKind::autoencoding:
      return "an image autoencoder";
    case TaskKind::depth:
      return "a depth model";
    case TaskKind::detection:
      return "a detector";
  }
  return "";
}

}  // namespace fovea
