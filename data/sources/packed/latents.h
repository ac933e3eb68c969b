// Stored latents as a data set: `encode` writes them, and diffusion models train on them.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "data/dataset.h"
#include "data/pipeline.h"
#include "data/sources/packed/latent_file.h"

namespace fovea {

/// A sample's image has f32 values in 2C channels, the moments, or 4C with those of the mirrored
/// image behind; latent_pipeline() draws the latent.
class Latents : public Dataset {
 public:
  Latents(const DatasetOptions& options, Split split);

  using Dataset::get;
  [[nodiscard]] std::int64_t size() const override { return file_.size(); }
  [[nodiscard]] const std::vector<std::string>& class_names() const override {
    return file_.info().classes;
  }
  [[nodiscard]] Sample get(std::int64_t index) const override;
  [[nodiscard]] std::int64_t label(std::int64_t index) const override;
  [[nodiscard]] std::string describe(std::int64_t index) const override;
  void list_entry(std::int64_t index, ListEntry& entry) const override;
  [[nodiscard]] ImageSize image_size() const override { return file_.info().size; }
  [[nodiscard]] const LatentInfo* latents() const override { return &file_.info(); }

 private:
  LatentFile file_;
};

/// The file of a split: options.data_dir itself, or below it options.train_split or val_split, by
/// default train.safetensors or val.safetensors, or latents.safetensors if there is neither. Empty
/// if there is none.
[[nodiscard]] std::filesystem::path find_latents(const DatasetOptions& options, Split split);
/// Whether one file holds the images of both splits.
[[nodiscard]] bool is_one_latent_file(const DatasetOptions& options);

/// Draws latents from the moments of `info`'s data set: scale * (mean + exp(log-variance / 2) *
/// noise), of the mirrored image with probability `flip` if the set has those. Nothing is
/// normalised.
[[nodiscard]] Pipeline latent_pipeline(const LatentInfo& info, double flip);

}  // namespace fovea
