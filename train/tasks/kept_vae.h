// The weights of a VAE with which latents were made. A run of train_vae that is continued replaces
// its weights, and models of these latents would have no decoder; so a copy stays in its folder.
#pragma once

#include <filesystem>
#include <string>

namespace fovea {

/// Keeps the weights that load_vae(`vae`) took as vae-HASH.safetensors in their folder (as a hard
/// link if the file system has them), if they are of a run. `hash` is that of the weights. Returns
/// why that failed, or "".
[[nodiscard]] std::string keep_vae(const std::filesystem::path& vae, const std::string& hash);

/// The kept weights with this hash in the folder of `vae`; `vae` itself if there are none.
[[nodiscard]] std::filesystem::path vae_with_hash(const std::filesystem::path& vae,
                                                  const std::string& hash);

}  // namespace fovea
