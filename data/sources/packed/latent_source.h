// Where latents come from: the VAE and what it was shown. Recorded in files of latents and in the
// weights of models that were trained on them.
#pragma once

#include <optional>
#include <string>

#include "engine/formats/metadata.h"

namespace fovea {

struct LatentSource {
  std::string vae;            ///< name of the model
  std::string hash;           ///< of its weights
  double scale = 0.18215;     ///< factor that makes the latents' deviation about 1
  std::string preparation{};  ///< how images became the VAE's input: size and crop

  friend bool operator==(const LatentSource&, const LatentSource&) = default;
};

/// Adds the source to a file's metadata.
void add_latent_source(Metadata& metadata, const LatentSource& source);
/// Reads it back; empty if the metadata have none. Throws Error, starting with `context`, if it is
/// incomplete or the scale is not a positive number.
[[nodiscard]] std::optional<LatentSource> latent_source(const Metadata& metadata,
                                                        const std::string& context);

/// A source and the file or flag that names it, for messages.
struct NamedSource {
  LatentSource source;
  std::string name;
};
/// Throws Error unless both are of the same weights and scale. The preparation may differ: models
/// continue at other image sizes.
void require_same_vae(const NamedSource& expected, const NamedSource& got);

}  // namespace fovea
