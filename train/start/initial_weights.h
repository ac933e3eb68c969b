// The weights that a new run starts with.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "data/transforms.h"
#include "models/model.h"
#include "settings/choices.h"

namespace fovea {

/// Applied in this order.
struct InitialWeights {
  InitialValues values = InitialValues::timm;
  std::uint64_t seed = 0;     ///< of values that are drawn
  std::string checkpoint{};   ///< a file or folder of weights
  std::string weights_key{};  ///< of that file, see read_weights()
  bool new_head = false;      ///< of those all but the head's, and at any image size (fine-tuning)
  Normalization colors{};     ///< of this run: a note is made where the weights expect others
  std::string pegs{};         ///< a file of weights whose position encoding generators are taken
  std::optional<double> head_scale{}, head_bias{};
};

/// `notices` gets a line with what was copied, resized or kept. A run that is resumed needs none of
/// it: its state has all weights, and the files may be gone.
void set_initial_weights(const InitialWeights& from, Model& model,
                         std::vector<std::string>& notices);

}  // namespace fovea
