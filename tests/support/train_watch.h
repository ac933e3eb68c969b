// A RunObserver made of optional functions, for tests that need one callback.
#pragma once

#include <functional>
#include <string>

#include "train/loop/run_observer.h"

namespace fovea {

struct TrainWatch : RunObserver {
  std::function<void(const TrainState&)> on_resumed{};
  std::function<void(const TrainState&)> before_evaluating{};
  std::function<void()> on_refused{};
  std::function<void(const EpochPosition&)> on_step{};
  std::function<void(const StepRow&)> on_interval{};
  std::function<void(std::int64_t done, std::int64_t total)> on_evaluate{};
  std::function<void(std::int64_t epoch, const Image&)> on_picture{};
  std::function<void(const EpochRow&, const TrainState&)> on_epoch{};
  std::function<void(const TrainState&)> on_save{};
  std::function<void(const TrainState&)> on_stop{};
  std::function<void(const std::string&)> on_notice{};
  std::function<void(const ShownBatch&)> on_first_images{};
  std::function<bool()> should_stop{};

  void resumed(const TrainState& state) override {
    if (on_resumed) on_resumed(state);
  }
  void before_evaluation(const TrainState& state) override {
    if (before_evaluating) before_evaluating(state);
  }
  void refused() override {
    if (on_refused) on_refused();
  }
  void step(const EpochPosition& at) override {
    if (on_step) on_step(at);
  }
  void interval(const StepRow& row) override {
    if (on_interval) on_interval(row);
  }
  void evaluation(std::int64_t done, std::int64_t total) override {
    if (on_evaluate) on_evaluate(done, total);
  }
  void picture(std::int64_t epoch, const Image& image) override {
    if (on_picture) on_picture(epoch, image);
  }
  void epoch(const EpochRow& row, const TrainState& state) override {
    if (on_epoch) on_epoch(row, state);
  }
  void save(const TrainState& state) override {
    if (on_save) on_save(state);
  }
  void stop(const TrainState& state) override {
    if (on_stop) on_stop(state);
  }
  void notice(const std::string& text) override {
    if (on_notice) on_notice(text);
  }
  void first_images(const ShownBatch& batch) override {
    if (on_first_images) on_first_images(batch);
  }
  [[nodiscard]] bool asks_to_stop() override { return should_stop && should_stop(); }
};

}  // namespace fovea
