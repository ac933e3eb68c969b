// Paths of the files in a run's folder.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

namespace fovea {

struct RunPaths {
  std::filesystem::path folder;

  [[nodiscard]] std::filesystem::path config() const { return folder / "config.json"; }
  [[nodiscard]] std::filesystem::path state() const { return folder / "state.safetensors"; }
  /// Path of the state before an epoch's evaluation. It is at least as new as state(), and removed
  /// when that is written or when the outputs were not finite.
  [[nodiscard]] std::filesystem::path unevaluated_state() const {
    return folder / "state.unevaluated.safetensors";
  }
  /// Path of a former state, see --state-hist.
  [[nodiscard]] std::filesystem::path kept_state(std::int64_t step) const {
    return kept_states() / ("step-" + std::to_string(step) + ".safetensors");
  }
  [[nodiscard]] std::filesystem::path kept_states() const { return folder / "states"; }
  /// Path of the weights `which`: last, best, last_ema or best_ema.
  [[nodiscard]] std::filesystem::path weights(const std::string& which) const {
    return folder / (which + ".safetensors");
  }
  /// Path of the weights of one of the best epochs, see --checkpoint-hist.
  [[nodiscard]] std::filesystem::path epoch_weights(std::int64_t epoch) const {
    return folder / ("checkpoint-" + std::to_string(epoch) + ".safetensors");
  }
  [[nodiscard]] std::filesystem::path log() const { return folder / "log.csv"; }
  [[nodiscard]] std::filesystem::path steps() const { return folder / "steps.jsonl"; }
  [[nodiscard]] std::filesystem::path first_batch() const { return folder / "first_batch.png"; }
  /// Path of the picture of the model's output on held-out images after an epoch (from 0); its name
  /// counts from 1, with four digits or more.
  [[nodiscard]] std::filesystem::path epoch_picture(std::int64_t epoch) const {
    const std::string number = std::to_string(epoch + 1);
    const std::string zeros(number.size() < 4 ? 4 - number.size() : 0, '0');
    return pictures() / ("epoch-" + zeros + number + ".png");
  }
  /// Its path in runs of earlier versions.
  [[nodiscard]] std::filesystem::path former_epoch_picture(std::int64_t epoch) const {
    return pictures() / ("epoch-" + std::to_string(epoch) + ".png");
  }
  [[nodiscard]] std::filesystem::path pictures() const { return folder / "pictures"; }
  [[nodiscard]] std::filesystem::path curves() const { return folder / "curves.svg"; }
  [[nodiscard]] std::filesystem::path report() const { return folder / "report.html"; }
};

}  // namespace fovea
