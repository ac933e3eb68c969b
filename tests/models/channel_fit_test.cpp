// Weights for RGB in models of other channels, as timm adapts them.
#include "models/checkpoints/channel_fit.h"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "models/checkpoints/pretrained.h"
#include "models/registry.h"
#include "tests/support/temporary_folder.h"

using namespace fovea;

namespace {

std::unique_ptr<Model> with_channels(std::int64_t channels, std::uint64_t seed) {
  return make_model_from_config({{"family", "vit"},
                                 {"img_size", {4, 4}},
                                 {"patch_size", 2},
                                 {"num_classes", 5},
                                 {"embed_dim", 12},
                                 {"depth", 1},
                                 {"num_heads", 3},
                                 {"in_chans", channels}},
                                seed);
}

double weight_at(const Model& model, std::int64_t channel, std::int64_t pixel) {
  const Tensor weight = model.store().find("patch_embed.proj.weight");
  return weight.at(channel * 4 + pixel);
}

}  // namespace

TEST_CASE("a gray model takes the sum over the channels of RGB") {
  const auto rgb = with_channels(3, 1), gray = with_channels(1, 2);
  const LoadReport report = load_state(*gray, state_of(*rgb));
  for (std::int64_t pixel = 0; pixel < 4; ++pixel) {
    const double sum =
        weight_at(*rgb, 0, pixel) + weight_at(*rgb, 1, pixel) + weight_at(*rgb, 2, pixel);
    CHECK(weight_at(*gray, 0, pixel) == doctest::Approx(sum).epsilon(1e-6));
  }
  bool told = false;
  for (const std::string& note : report.notes) {
    told = told || note == "patch_embed.proj.weight was summed over the channels of RGB";
  }
  CHECK(told);
}

TEST_CASE("a model of more channels takes those of RGB in turn, scaled") {
  const auto rgb = with_channels(3, 1), five = with_channels(5, 2);
  load_state(*five, state_of(*rgb));
  for (std::int64_t c = 0; c < 5; ++c) {
    CHECK(weight_at(*five, c, 1) == doctest::Approx(0.6 * weight_at(*rgb, c % 3, 1)).epsilon(1e-6));
  }
}

TEST_CASE("other counts of channels in the file are an error that names them") {
  const auto gray = with_channels(1, 1), rgb = with_channels(3, 2);
  CHECK(contains(message_of([&] { load_state(*rgb, state_of(*gray)); }),
                 "another number of image channels: 1, expected 3"));
}
