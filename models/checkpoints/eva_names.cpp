// Renaming layer scales, and dropping biases of zero.
#include "models/checkpoints/eva_names.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace fovea {
namespace {

/// The name in a model of timm's class Eva.
std::string eva_name(const std::string& name) {
  struct Names {
    std::string_view plain, eva;
  };
  constexpr auto kNames =
      std::to_array<Names>({{"ls1.gamma", "gamma_1"}, {"ls2.gamma", "gamma_2"}});
  std::string own = name;
  for (const auto& [plain, eva] : kNames) {
    if (!own.ends_with(plain) || !own.starts_with("blocks.")) continue;
    own.replace(own.size() - plain.size(), plain.size(), eva);
  }
  return own;
}

bool is_unused_bias(const Model& model, const std::string& name, const Tensor& tensor) {
  const bool is_bias = name.ends_with("attn.q_bias") || name.ends_with("attn.v_bias");
  if (!is_bias || model.store().find(name).defined()) return false;
  const std::vector<double> values = tensor.to_vector();
  return std::all_of(values.begin(), values.end(), [](double value) { return value == 0; });
}

}  // namespace

TensorMap with_names_of(const Model& model, TensorMap tensors) {
  const bool is_eva = model.store().find("blocks.0.gamma_1").defined();
  TensorMap named;
  for (auto& [name, tensor] : tensors) {
    if (is_unused_bias(model, name, tensor)) continue;
    named.emplace(is_eva ? eva_name(name) : name, std::move(tensor));
  }
  return named;
}

}  // namespace fovea
