// Small runs on the fake device whose steps are recorded as a graph and repeated.
#pragma once

#include <doctest/doctest.h>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "tests/cuda/seeds.h"
#include "tests/cuda/small_runs.h"

namespace fovea::tests {

/// A few steps of a small model, with averages, clipping and mixing.
inline TrainConfig cuda_config(TrainConfig c = tiny_config()) {
  c.run.device = kCuda;
  c.images.loader.batch_size = 2;
  c.step.clip.limit = 0.05;
  c.loop.log_interval = 100;
  c.schedule.epochs = 2;
  c.schedule.warmup_epochs = 1;
  return c;
}

/// An epoch of it.
inline TrainConfig block_config() {
  TrainConfig c = cuda_config();
  c.model.settings["depth"] = "1";
  c.schedule.epochs = 1;
  return c;
}

inline TrainConfig linear_config() { return of_linear_model(cuda_config()); }

/// With running statistics, and values that are computed once a step.
inline TrainConfig small_pervit_config() {
  TrainConfig c = cuda_config(tiny_pervit_config());
  c.model.settings["img_size"] = "16";
  c.model.settings["convstem_dims"] = "3,6,12";
  return c;
}

struct Run {
  std::map<std::string, std::vector<double>> bits;
  std::vector<double> losses, scores;
  std::vector<std::string> notices;
  std::int64_t graphs = 0;  ///< launches of graphs

  friend bool operator==(const Run& a, const Run& b) {
    return a.bits == b.bits && a.losses == b.losses && a.scores == b.scores;
  }
};

/// Images for epochs of eight steps, or of as many as `per_epoch` says. The first three run op by
/// op.
inline Datasets images_for(const TrainConfig& config, std::int64_t per_epoch = 8) {
  return tiny_data(per_epoch * config.images.loader.batch_size, 4);
}

/// All epochs. The order of streams and threads changes after each step.
inline Run run_of(TrainConfig config, bool graph, const Datasets& data, std::uint64_t seed = 1) {
  config.step.graph = graph;
  use_seed(seed);
  Notices notices;
  Trainer trainer = make_trainer(config, data, start_model(config, data, notices));
  Run run;
  TrainWatch watch;
  watch.on_interval = [&](const StepRow& row) { run.losses.push_back(row.loss); };
  watch.on_notice = [&](const std::string& text) { run.notices.push_back(text); };
  watch.on_step = [&](const EpochPosition&) { use_seed(++seed); };
  watch.on_epoch = [&](const EpochRow& row, const TrainState&) {
    run.losses.push_back(row.train_loss);
    for (const Scores& scores : {row.eval, row.ema})
      run.scores.insert(run.scores.end(), scores.begin(), scores.end());
  };
  const std::int64_t before = graphs_launched();
  CHECK(trainer.fit(watch));
  run.graphs = graphs_launched() - before;
  run.bits = bits_of(trainer);
  return run;
}

}  // namespace fovea::tests
