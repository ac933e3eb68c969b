// The bytes that a training step of a ViT moves, beside the least that its tape asks for.
#include <doctest/doctest.h>

#include <cstdio>
#include <map>
#include <string>

#include "tests/cuda/counted_step.h"
#include "tests/cuda/least_bytes.h"
#include "tests/cuda/seeds.h"

using namespace fovea;

namespace {

/// Bytes of a step by kind of kernel. What a block of threads has read stays in its cache: only
/// other blocks read it again from memory.
struct StepBytes {
  std::map<std::string, double> moved, least;
};

/// A step of this model with three blocks, of pictures of 224 x 224.
StepBytes bytes_of_step(const std::string& model, std::int64_t pictures) {
  TrainConfig config = tests::counted_config(model, 3);
  config.model.settings["img_size"] = "224";
  config.images.loader.batch_size = pictures;
  Trainer trainer = make_trainer(config);
  tests::LeastBytes least;
  const tests::StepCounts counts = tests::counts_of_step(trainer, [&](bool on) {
    least.count(on);
    if (on) return;
    least.add_pixels(pictures * 3 * 224 * 224);
    least.add_update(trainer.model().store());
  });
  StepBytes bytes{{{"products", static_cast<double>(counts.product_bytes)}}, least.by_kind()};
  for (const auto& [kernel, counters] : counts.kernels) {
    bytes.moved[tests::kind_of_kernel(kernel)] +=
        32.0 * static_cast<double>(counters.block_sectors);
  }
  return bytes;
}

/// What a step of `pictures` moves, where steps of 2 and 4 were counted: all but the weights grows
/// with the pictures.
double extrapolated(double two, double four, double pictures) {
  return two + (four - two) / 2 * (pictures - 2);
}

}  // namespace

TEST_CASE("a training step moves few more bytes than its tape asks for") {
  constexpr double kBatch = 64;
  const StepBytes two = bytes_of_step("deit_tiny_patch16_224", 2);
  const StepBytes four = bytes_of_step("deit_tiny_patch16_224", 4);
  std::printf("deit_tiny with three blocks in bf16, batch 64, from steps of 2 and 4 pictures:\n");
  std::printf("  %14s %9s %9s\n", "MB", "moved", "least");
  double moved = 0, least = 0;
  for (const auto& [kind, bytes] : four.moved) {
    const double own = extrapolated(two.moved.at(kind), bytes, kBatch);
    const double must = extrapolated(two.least.at(kind), four.least.at(kind), kBatch);
    std::printf("  %14s %9.1f %9.1f\n", kind.c_str(), own / 1e6, must / 1e6);
    moved += own;
    least += must;
  }
  std::printf("  %14s %9.1f %9.1f, %.2f times\n", "all", moved / 1e6, least / 1e6, moved / least);
  CHECK(moved <= 1.2 * least);
  CHECK(tests::take_findings().empty());
}
