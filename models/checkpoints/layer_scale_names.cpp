// Renaming layer scales.
#include "models/checkpoints/layer_scale_names.h"

#include <array>
#include <string_view>

namespace fovea {

TensorMap with_layer_scales_of(const Model& model, TensorMap tensors) {
  struct Names {
    std::string_view plain, eva;
  };
  constexpr auto kNames =
      std::to_array<Names>({{"ls1.gamma", "gamma_1"}, {"ls2.gamma", "gamma_2"}});
  if (!model.store().find("blocks.0.gamma_1").defined()) return tensors;
  TensorMap named;
  for (auto& [name, tensor] : tensors) {
    std::string own = name;
    for (const auto& [plain, eva] : kNames) {
      if (!own.ends_with(plain) || !own.starts_with("blocks.")) continue;
      own.replace(own.size() - plain.size(), plain.size(), eva);
    }
    named.emplace(std::move(own), std::move(tensor));
  }
  return named;
}

}  // namespace fovea
