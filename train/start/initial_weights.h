// The initial weights of a new run.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "data/sources/packed/latent_source.h"
#include "engine/base/notices.h"
#include "models/model.h"
#include "train/run/run_context.h"
#include "train/settings/initial_weights.h"

namespace fovea {

/// The run that weights are loaded for.
struct NewRun {
  const RunContext& context;
  const std::vector<std::string>& classes;  ///< class names of the data set
  bool verbose = false;                     ///< errors list all names of tensors
  std::optional<LatentSource> latents{};    ///< that the model trains on; empty: pictures
};

/// Sets the weights of a new run. `notices` gets one line about copied, resized and kept tensors,
/// one if the weights were trained with another colour normalisation, and those of match_heads(). A
/// resumed run must not call this: its state has all weights, and the files may no longer exist.
void set_initial_weights(const InitialWeights& from, const NewRun& run, Model& model,
                         Notices& notices);

}  // namespace fovea
