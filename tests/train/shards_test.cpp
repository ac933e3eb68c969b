// Training in shards: the same bits for any number of processes.
#include <doctest/doctest.h>

#include "tests/support/thread_world.h"
#include "tests/support/tiny_run.h"

namespace fovea {
namespace {

using Bits = std::map<std::string, std::vector<double>>;

/// A run of a few steps over the end of an epoch, in `processes` processes.
Bits trained_bits(TrainConfig config, int processes) {
  config.images.loader.batch_size = 16;
  config.loop.shards = 8;
  config.loop.max_steps = 5;
  std::vector<Bits> bits(static_cast<std::size_t>(processes));
  test::in_threads(processes, [&](Communicator& process) {
    Notices notices;
    const Datasets data = tiny_data();
    auto model = start_model(config, data, notices);
    Trainer trainer = make_trainer(config, data, std::move(model), nullptr, process);
    trainer.share_state();
    CHECK_FALSE(trainer.fit());
    bits[process.rank()] = bits_of(trainer);
  });
  if (config.loop.zero == 1) return bits.front();  // the others have no whole moments
  for (const Bits& own : bits) CHECK(own == bits.front());
  return bits.front();
}

void check_processes(const TrainConfig& config) {
  const Bits expected = trained_bits(config, 1);
  for (const int processes : {2, 3, 4, 5, 8}) {
    INFO("processes: ", processes);
    CHECK(trained_bits(config, processes) == expected);
  }
}

TEST_CASE("classifiers have the same bits on 1 to 8 processes") { check_processes(tiny_config()); }

TEST_CASE("gradient accumulation has the same bits on any number of processes") {
  TrainConfig config = tiny_config();
  config.loop.grad_accum_steps = 2;
  config.step.clip.limit = 0.5;
  check_processes(config);
}

TEST_CASE("running statistics have the same bits on any number of processes") {
  TrainConfig config = tiny_config();
  config.model.name = "pervit_tiny_32";
  config.model.settings = {};
  for (const auto& [key, value] : std::map<std::string, std::string>{{"emb_dims", "12,16"},
                                                                     {"depths", "1,1"},
                                                                     {"convstem_dims", "3,8,12"},
                                                                     {"num_heads", "2"}})
    config.model.settings[key] = value;
  check_processes(config);
}

TEST_CASE("a sharded optimizer has the same bits on any number of processes") {
  for (const OptimizerKind kind :
       {OptimizerKind::adamw, OptimizerKind::lamb, OptimizerKind::muon, OptimizerKind::lion}) {
    TrainConfig config = tiny_config();
    config.step.optimizer.kind = kind;
    config.step.ema.keep = true;
    config.step.clip.limit = 0.1;
    CAPTURE(static_cast<int>(kind));
    const Bits expected = trained_bits(config, 1);
    config.loop.zero = 1;
    for (const int processes : {2, 3, 4}) CHECK(trained_bits(config, processes) == expected);
  }
}

TEST_CASE("a sharded optimizer clips by units and values as a whole one does") {
  for (const ClipMode mode : {ClipMode::agc, ClipMode::value}) {
    TrainConfig config = tiny_config();
    config.step.clip = {mode, 0.01};
    const Bits expected = trained_bits(config, 1);
    config.loop.zero = 1;
    CHECK(trained_bits(config, 3) == expected);
  }
}

TEST_CASE("a sharded optimizer updates the networks of an autoencoder apart") {
  TrainConfig config = tiny_vae_config();
  const Bits expected = trained_bits(config, 1);
  config.loop.zero = 1;
  CHECK(trained_bits(config, 3) == expected);
}

TEST_CASE("masked autoencoders have the same bits on any number of processes") {
  check_processes(tiny_mae_config());
}

TEST_CASE("autoencoders and their discriminators have the same bits on any number of processes") {
  check_processes(tiny_vae_config());
}

TEST_CASE("diffusion has the same bits on any number of processes") {
  check_processes(tiny_diffusion_config());
}

}  // namespace
}  // namespace fovea
