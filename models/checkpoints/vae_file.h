// A VAE with its weights, from whatever the user has: a run of train_vae, a folder of diffusers, or
// a weights file alone.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "engine/formats/weights_file.h"
#include "models/vae.h"

namespace fovea {

struct LoadedVae {
  std::unique_ptr<Vae> model;
  std::filesystem::path weights;  ///< the file
  std::string hash{};  ///< SHA-256 of names and values, the same for every form of the same weights
  std::vector<std::string> notes{};  ///< messages for the user
};

/// Loads a VAE from a run folder, a folder of diffusers (or one with such a folder `vae`), or a
/// weights file in any of the forms of translations/vae.cpp. A file that does not describe its
/// model is described by the shapes of its tensors, with the scaling factor of Stable Diffusion.
/// Throws Error, starting with the path.
[[nodiscard]] LoadedVae load_vae(const std::filesystem::path& given, TensorOptions options = {});

/// The settings that the shapes of a VAE's tensors imply. Throws Error if they are not a VAE's.
[[nodiscard]] VaeConfig vae_config_of(const TensorMap& tensors);

/// SHA-256 of a model's parameters: their names and f32 values in order of name.
[[nodiscard]] std::string weights_hash(const Model& model);

}  // namespace fovea
