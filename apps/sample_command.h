// Settings of `sample`.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "apps/common/loading.h"
#include "engine/base/fields.h"
#include "models/checkpoints/vae_file.h"
#include "train/tasks/sampling.h"

namespace fovea {

struct SampleCommand {
  LoadRequest load;
  SamplingOptions sampling{.guidance = {.scale = 4}};
  std::vector<double> scales{4};     ///< of the guidance: the samples are made with each
  std::string schedule;              ///< empty: see complete()
  std::int64_t diffusion_steps = 0;  ///< 0: see complete()
  std::string classes, output, npz, vae, precision = "f32";
  bool film = false;
  std::int64_t count = 0;  ///< 0: see complete()
  std::int64_t first = 0, batch_size = 16, threads = 0;
  std::uint64_t seed = 0;
  std::set<std::string> given{};  ///< names of the flags on the command line

  // Set by complete():
  ProcessOptions process{};            ///< that the model was trained on
  std::vector<std::int64_t> labels{};  ///< the classes to sample in turn

  /// These samples of the call, counted from 0. Class and noise of a sample follow from its index.
  [[nodiscard]] SampleRequest request_for(std::span<const std::int64_t> places) const;
  /// The number of steps from noise to picture.
  [[nodiscard]] std::int64_t steps() const;
};

[[nodiscard]] Fields fields_of(SampleCommand& command);
/// Parses the command line. Throws UsageError if settings contradict each other.
[[nodiscard]] SampleCommand read_sample_command(int argc, char** argv);

/// Sets what follows from the model: the process, the clipping and the VAE of its run, or the
/// process of the official models; no guidance for a model without a null class; four samples of
/// each class, at most forty. Throws UsageError if flags contradict the model.
void complete(SampleCommand& command, const LoadedModel& trained);

/// Notes about a model whose training makes samples doubtful: averages that are mostly initial
/// values, or of a run whose state cannot be read, and labels that were all dropped.
[[nodiscard]] std::vector<std::string> notes_on_training(const SampleCommand& command,
                                                         const LoadedModel& trained);

/// The classes that `text` lists, numbers or names, in its order; empty: all. Throws UsageError on
/// unknown ones.
[[nodiscard]] std::vector<std::int64_t> chosen_classes(const std::string& text,
                                                       const ModelClasses& classes);

/// A JSON object about how the samples are made, for measures and for the user. `vae` may be null.
[[nodiscard]] std::string settings_text(const SampleCommand& command, const LoadedModel& trained,
                                        const LoadedVae* vae);

}  // namespace fovea
