// What a training reports, collected for comparison.
#pragma once

#include <doctest/doctest.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "tests/support/train_watch.h"

namespace fovea::tests {

struct TrainingRecord {
  std::vector<EpochRow> epochs;
  std::vector<StepRow> steps;
  int saves = 0, stops = 0;
};

/// Notes what happens, and stops the run after `stop_after` steps or evaluation batches.
inline TrainWatch watch_into(TrainingRecord& record, std::int64_t stop_after = -1,
                             bool in_evaluation = false) {
  TrainWatch watch;
  const auto left = std::make_shared<std::int64_t>(stop_after);
  const auto count = [left] { --*left; };
  watch.on_epoch = [&](const EpochRow& row, const TrainState&) { record.epochs.push_back(row); };
  watch.on_interval = [&](const StepRow& row) { record.steps.push_back(row); };
  watch.on_save = [&](const TrainState&) { ++record.saves; };
  watch.on_stop = [&](const TrainState&) { ++record.stops; };
  if (in_evaluation) {
    watch.on_evaluate = [count](std::int64_t, std::int64_t) { count(); };
  } else {
    watch.on_step = [count](const EpochPosition&) { count(); };
  }
  if (stop_after >= 0) watch.should_stop = [left] { return *left <= 0; };
  return watch;
}

inline void check_equal_rows(const std::vector<EpochRow>& a, const std::vector<EpochRow>& b) {
  REQUIRE(a.size() == b.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    CHECK(a[i].epoch == b[i].epoch);
    CHECK(a[i].train_loss == b[i].train_loss);
    CHECK(a[i].eval == b[i].eval);
    CHECK(a[i].ema == b[i].ema);
    CHECK(a[i].lr == b[i].lr);
  }
}

}  // namespace fovea::tests
