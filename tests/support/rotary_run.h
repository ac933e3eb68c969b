// A run of a ViT with rotary positions whose coordinates move in training.
#pragma once

#include "tests/support/tiny_run.h"

namespace fovea {

inline TrainConfig tiny_rotary_config(const std::string& rope = "axial") {
  TrainConfig c = tiny_config();
  c.model.settings["num_heads"] = "3";
  c.model.settings["rope"] = rope;
  c.model.settings["model_args"] =
      R"({"rope_shift_coords": 0.3, "rope_jitter_coords": 1.5, "rope_rescale_coords": 2})";
  return c;
}

}  // namespace fovea
