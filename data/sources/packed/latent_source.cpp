// The metadata of latents, and their comparison.
#include "data/sources/packed/latent_source.h"

#include <cmath>

#include "engine/base/error.h"
#include "engine/base/json.h"
#include "engine/base/text.h"

namespace fovea {
namespace {

constexpr const char *kVae = "vae", *kHash = "vae_hash", *kScale = "scaling_factor",
                     *kPreparation = "preparation";

std::string described(const LatentSource& source) {
  return in_quotes(source.vae) + " (weights " + visible_text(source.hash) + ", scale " +
         shortest_text(source.scale) + ")";
}

}  // namespace

void add_latent_source(Metadata& metadata, const LatentSource& source) {
  metadata[kVae] = source.vae;
  metadata[kHash] = source.hash;
  metadata[kScale] = shortest_text(source.scale);
  metadata[kPreparation] = source.preparation;
}

std::optional<LatentSource> latent_source(const Metadata& metadata, const std::string& context) {
  if (!metadata.contains(kHash)) return {};
  const std::string scale = value_or(metadata, kScale, "");
  const std::optional<double> number = parse_real(scale);
  check(number && std::isfinite(*number) && *number > 0, context, ": its ", kScale, " is ",
        in_quotes(scale), ", expected a positive number");
  return LatentSource{value_or(metadata, kVae, "unknown"), metadata.at(kHash), *number,
                      value_or(metadata, kPreparation, "")};
}

void require_same_vae(const NamedSource& expected, const NamedSource& got) {
  const bool same_weights = expected.source.hash == got.source.hash;
  if (same_weights && expected.source.scale == got.source.scale) return;
  fail(got.name, ": is of the VAE ", described(got.source), ", but ", expected.name, " is of ",
       described(expected.source), "; latents of ", same_weights ? "another scale" : "another VAE",
       " mean other images: use the same VAE for encoding, training and sampling");
}

}  // namespace fovea
