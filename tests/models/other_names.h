// A ViT's weights under the names of other programs, for tests of translations.
#pragma once

#include <array>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "engine/random.h"
#include "models/checkpoints/official_names.h"
#include "models/checkpoints/pretrained.h"
#include "models/registry.h"
#include "ops/view.h"

namespace fovea::tests {

inline constexpr std::int64_t kWidth = 12;

inline TensorMap vit_state(const nlohmann::json& more = nlohmann::json::object()) {
  nlohmann::json config{{"family", "vit"},  {"img_size", {8, 8}},  {"patch_size", 4},
                        {"num_classes", 5}, {"embed_dim", kWidth}, {"depth", 2},
                        {"num_heads", 3}};
  config.update(more);
  return state_of(*make_model_from_config(config, 1));
}

inline Tensor normal_values(const Shape& shape, std::uint64_t seed) {
  return rand_normal(shape, {0, 1}, {seed, 1});
}

/// The names of `state` by a table from the beginnings of ours to theirs, the first that fits.
inline TensorMap renamed_back(const TensorMap& state,
                              const std::vector<std::pair<std::string, std::string>>& table) {
  TensorMap theirs;
  for (const auto& [name, tensor] : state) {
    std::string block, rest = name;
    if (name.starts_with("blocks.")) {
      block = name.substr(7, 1);
      rest = "blocks." + name.substr(9);
    }
    for (const auto& [ours, other] : table) {
      if (!rest.starts_with(ours)) continue;
      std::string given = other + rest.substr(ours.size());
      if (const std::size_t at = given.find('#'); at != std::string::npos)
        given.replace(at, 1, block);
      theirs[given] = tensor;
      break;
    }
  }
  return theirs;
}

/// Replaces a tensor by its three parts along the first axis.
inline void split_qkv(TensorMap& tensors, const std::string& joined,
                      const std::array<std::string, 3>& parts) {
  for (const char* end : {"weight", "bias"}) {
    const Tensor whole = tensors.at(joined + end);
    for (std::int64_t i = 0; i < 3; ++i) {
      tensors[parts[static_cast<std::size_t>(i)] + end] =
          ops::slice(whole, 0, i * kWidth, (i + 1) * kWidth).contiguous();
    }
    tensors.erase(joined + end);
  }
}

inline bool notes_say(const OfficialWeights& weights, const std::string& text) {
  for (const std::string& note : weights.notes) {
    if (note.find(text) != std::string::npos) return true;
  }
  return false;
}

}  // namespace fovea::tests
