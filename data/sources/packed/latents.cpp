// Samples of moments, and the drawing of latents.
#include "data/sources/packed/latents.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "data/sources/files/find_ignoring_case.h"
#include "data/sources/files/split_folders.h"
#include "engine/base/error.h"
#include "engine/base/program_call.h"

namespace fovea {
namespace {

namespace fs = std::filesystem;

fs::path in_folder(const DatasetOptions& options, Split split) {
  const std::string& wanted = wanted_split(options, split);
  const char* const usual = split == Split::train ? "train.safetensors" : "val.safetensors";
  return options.data_dir / (wanted.empty() ? usual : wanted);
}

fs::path require_latents(const DatasetOptions& options, Split split) {
  fs::path path = find_latents(options, split);
  if (!path.empty()) return path;
  std::error_code none;
  check(fs::exists(options.data_dir, none), options.data_dir.string(),
        ": does not exist, expected a file of latents or its folder; ", program_call("encode"),
        " writes one");
  fail(options.data_dir.string(), ": contains no latents, expected ",
       in_folder(options, split).filename().string(), ", or --data-dir FILE; ",
       program_call("encode"), " writes such files");
}

/// Writes planes [C, h, w] to `channels` of the pixels from `first` on.
void interleave(std::span<const float> planes, Image& image, std::int64_t first) {
  const std::int64_t area = image.height * image.width, all = image.format.channels;
  float* const to = image.values<float>(0, 0);
  const std::int64_t channels = std::ssize(planes) / area;
  for (std::int64_t c = 0; c < channels; ++c) {
    for (std::int64_t i = 0; i < area; ++i) to[i * all + first + c] = planes[c * area + i];
  }
}

}  // namespace

fs::path find_latents(const DatasetOptions& options, Split split) {
  if (is_file(options.data_dir)) return options.data_dir;
  const fs::path own = in_folder(options, split);
  if (is_file(own)) return own;
  return is_one_latent_file(options) ? options.data_dir / "latents.safetensors" : fs::path();
}

bool is_one_latent_file(const DatasetOptions& options) {
  if (is_file(options.data_dir)) return true;
  return !is_file(in_folder(options, Split::train)) && !is_file(in_folder(options, Split::test)) &&
         is_file(options.data_dir / "latents.safetensors");
}

Latents::Latents(const DatasetOptions& options, Split split)
    : file_(require_latents(options, split)) {}

Sample Latents::get(std::int64_t index) const {
  check_index(index, file_.name());
  const LatentInfo& info = file_.info();
  const std::int64_t moments = 2 * info.channels, sets = info.has_flipped ? 2 : 1;
  Image image(info.size.height, info.size.width,
              {PixelType::f32, static_cast<int>(moments * sets)});
  std::vector<float> planes(static_cast<std::size_t>(info.moments()));
  for (std::int64_t set = 0; set < sets; ++set) {
    try {
      file_.read(index, set == 1, planes);
    } catch (const Error& error) {
      throw ImageError(error.what());
    }
    const bool finite = std::ranges::all_of(planes, [](float v) { return std::isfinite(v); });
    if (!finite) throw ImageError(describe(index) + ": its moments are not finite");
    interleave(planes, image, set * moments);
  }
  return {std::move(image), file_.label(index), {}};
}

std::int64_t Latents::label(std::int64_t index) const {
  check_index(index, file_.name());
  return file_.label(index);
}

std::string Latents::describe(std::int64_t index) const {
  return file_.name() + ": image " + std::to_string(index);
}

/// The VAE is part of the name, so that latents of another one are other images.
void Latents::list_entry(std::int64_t index, ListEntry& entry) const {
  entry.name.append(file_.info().source.hash).append("/").append(std::to_string(index));
  entry.label = label(index);
}

Pipeline latent_pipeline(const LatentInfo& info, double flip) {
  const auto channels = static_cast<int>(info.channels);
  const double scale = info.source.scale, mirrored = info.has_flipped ? flip : 0;
  Pipeline pipeline;
  pipeline.normalization = {{0, 0, 0}, {1, 1, 1}};
  pipeline.steps.emplace_back([=](Sample sample, Rng& rng) {
    const Image moments = std::move(sample.image);
    sample.image = Image(moments.height, moments.width, {PixelType::f32, channels});
    const int first = rng.uniform() < mirrored ? 2 * channels : 0;
    const std::int64_t area = moments.height * moments.width;
    const float* from = moments.values<float>(0, 0) + first;
    float* to = sample.image.values<float>(0, 0);
    for (std::int64_t i = 0; i < area; ++i, from += moments.format.channels, to += channels) {
      for (int c = 0; c < channels; ++c) {
        const double deviation = std::exp(0.5 * double{from[channels + c]});
        to[c] = static_cast<float>(scale * (double{from[c]} + deviation * rng.normal()));
      }
    }
    return sample;
  });
  return pipeline;
}

}  // namespace fovea
