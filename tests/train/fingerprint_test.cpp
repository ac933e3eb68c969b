// Fingerprints of a run: what they depend on, and what not.
#include "train/run/fingerprint.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>

#include "data/loading/sampler.h"
#include "engine/autograd.h"
#include "engine/base/error.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/thread_world.h"
#include "tests/support/tiny_run.h"

namespace fovea {
namespace {

using Logged = std::map<std::int64_t, std::string>;

TrainWatch watch_into(Logged& logged) {
  TrainWatch watch;
  watch.on_interval = [&](const StepRow& row) {
    if (!row.fingerprint.empty()) logged[row.step] = row.fingerprint;
  };
  return watch;
}

Logged fingerprints_of(Trainer& trainer) {
  Logged logged;
  TrainWatch watch = watch_into(logged);
  static_cast<void>(trainer.fit(watch));
  return logged;
}

/// Twelve steps, six an epoch.
TrainConfig twelve_steps(std::int64_t interval) {
  TrainConfig config = tiny_config();
  config.schedule.epochs = 2;
  config.loop.fingerprint_interval = interval;
  return config;
}

Logged fingerprints_of(const TrainConfig& config) {
  Trainer trainer = make_trainer(config);
  return fingerprints_of(trainer);
}

std::vector<std::int64_t> logged_steps(const Logged& logged) {
  std::vector<std::int64_t> steps;
  for (const auto& [step, fingerprint] : logged) steps.push_back(step);
  return steps;
}

/// The chain after the images of some steps in epoch 0, and the weights of a fixed model.
FingerprintChain chain_of(const std::vector<std::vector<std::int64_t>>& steps) {
  ParameterStore store(1, {DType::f32, Device{}});
  FingerprintChain chain;
  for (const std::vector<std::int64_t>& indices : steps) add_images(chain, 0, indices);
  add_weights(chain, store);
  return chain;
}

}  // namespace

TEST_CASE("a chain depends on the images, their order, their epoch and the fingerprint before") {
  const FingerprintChain chain = chain_of({{1, 2}, {3}});
  CHECK(chain == chain_of({{1, 2}, {3}}));
  CHECK(chain.last.size() == kDigestDigits);
  CHECK(chain.images.empty());
  CHECK(chain.last != chain_of({{2, 1}, {3}}).last);
  CHECK(chain.last != chain_of({{1, 2, 3}}).last);
  CHECK(chain.last != chain_of({{1, 2}}).last);
  FingerprintChain first, later;
  const std::array<std::int64_t, 1> image{7};
  add_images(first, 0, image);
  add_images(later, 1, image);
  CHECK(first.images != later.images);
  const ParameterStore store(1, {DType::f32, Device{}});
  FingerprintChain again = chain, third = chain_of({{1}});
  for (FingerprintChain* next : {&again, &third}) add_weights(*next, store);
  CHECK(again.last != third.last);
}

TEST_CASE("a fingerprint depends on each weight and each buffer") {
  Trainer trainer = make_trainer(tiny_pervit_config());
  const ParameterStore& store = trainer.model().store();
  FingerprintChain before;
  add_weights(before, store);
  std::vector<Parameter> all = store.parameters();
  all.insert(all.end(), store.buffers().begin(), store.buffers().end());
  REQUIRE_FALSE(store.buffers().empty());
  const NoGrad no_grad;
  for (const Parameter& p : all) {
    CAPTURE(p.name);
    const Tensor kept = p.tensor.detach().clone();
    p.tensor.raw()[p.tensor.byte_count() - 1] ^= std::byte{1};
    FingerprintChain after;
    add_weights(after, store);
    CHECK(after.last != before.last);
    p.tensor.copy_(kept);
  }
}

TEST_CASE("fingerprints are logged at their interval, or at the end of each epoch") {
  CHECK(logged_steps(fingerprints_of(twelve_steps(0))) == std::vector<std::int64_t>{6, 12});
  CHECK(logged_steps(fingerprints_of(twelve_steps(5))) == std::vector<std::int64_t>{5, 10});
  TrainConfig config = twelve_steps(0);
  config.loop.grad_accum_steps = 4;  // two steps an epoch, the second of two batches
  CHECK(logged_steps(fingerprints_of(config)) == std::vector<std::int64_t>{2, 4});
}

TEST_CASE("a run adds the images of all batches of its steps, in the sampler's order") {
  TrainConfig config = twelve_steps(0);
  config.loop.grad_accum_steps = 4;
  Trainer trainer = make_trainer(config);
  trainer.train_step();
  const std::vector<std::int64_t> order = shuffled_order(50, config.run.seed, 0);
  const std::span<const std::int64_t> images(order);
  FingerprintChain expected;
  add_images(expected, 0, images.first(32));
  CHECK(trainer.progress().fingerprints == expected);
  trainer.train_step();
  add_images(expected, 0, images.subspan(32, 16));  // the last two images are dropped
  CHECK(trainer.progress().fingerprints == expected);
}

TEST_CASE(
    "a run stopped within an interval and continued has the fingerprints of one that was not") {
  TrainConfig config = twelve_steps(4);
  const Logged whole = fingerprints_of(config);
  CHECK(logged_steps(whole) == std::vector<std::int64_t>{4, 8, 12});
  for (const std::int64_t stop : {4, 6, 7, 11}) {
    CAPTURE(stop);
    const TemporaryFolder folder;
    config.loop.max_steps = stop;
    Trainer first = make_trainer(config);
    Logged logged = fingerprints_of(first);
    run_state_file(folder / "state", first.state()).write();
    config.loop.max_steps = 0;
    Trainer second = make_trainer(config);
    second.resume(folder / "state");
    logged.merge(fingerprints_of(second));
    CHECK(logged == whole);
    CHECK(second.progress().fingerprints == FingerprintChain{whole.at(12), ""});
  }
}

TEST_CASE("fingerprints are the same for any number of processes; the first computes them") {
  TrainConfig config = twelve_steps(5);
  config.images.loader.batch_size = 16;
  config.loop.shards = 8;
  std::vector<Logged> expected;
  for (const int processes : {1, 2, 3, 8}) {
    CAPTURE(processes);
    std::vector<Logged> logged(static_cast<std::size_t>(processes));
    test::in_threads(processes, [&](Communicator& process) {
      Notices notices;
      const Datasets data = tiny_data();
      auto model = start_model(config, data, notices);
      Trainer trainer = make_trainer(config, data, std::move(model), nullptr, process);
      logged[process.rank()] = fingerprints_of(trainer);
    });
    expected.push_back(logged.front());
    CHECK(logged.front() == expected.front());
    CHECK(logged.front().size() == 1);
    CHECK(std::all_of(logged.begin() + 1, logged.end(), [](const Logged& l) { return l.empty(); }));
  }
}

TEST_CASE("another seed, order of images or weight decay gives other fingerprints") {
  const TrainConfig config = twelve_steps(0);
  const Logged expected = fingerprints_of(config);
  CHECK(fingerprints_of(config) == expected);
  TrainConfig seed = config, order = config, decay = config;
  seed.run.seed += 1;
  order.images.loader.epoch.shuffle = false;
  decay.step.optimizer.weight_decay = 0.5;
  for (const TrainConfig& other : {seed, order, decay}) {
    for (const auto& [step, fingerprint] : fingerprints_of(other))
      CHECK(fingerprint != expected.at(step));
  }
}

TEST_CASE("--overfit-batch counts the images of the first batch") {
  TrainConfig config = twelve_steps(3);
  config.loop.overfit_batch = true;
  config.step.optimizer.weight_decay = 0;
  Trainer trainer = make_trainer(config);
  CHECK(fingerprints_of(trainer).size() == 4);
}

TEST_CASE("progress holds the chain; an earlier version's has none, a damaged one is an error") {
  Progress progress;
  progress.fingerprints = {std::string(kDigestDigits, 'a'), std::string(kDigestDigits, '0')};
  const std::string text = format_run_progress(progress);
  CHECK(parse_run_progress(text).fingerprints == progress.fingerprints);
  const std::size_t at = text.find(",\"fingerprints\"") != std::string::npos
                             ? text.find(",\"fingerprints\"")
                             : text.find("\"fingerprints\"");
  std::string earlier = text;
  earlier.erase(at, text.find('}', at) + 1 - at);
  CHECK(parse_run_progress(earlier).fingerprints == FingerprintChain{});
  progress.fingerprints.last = "abc";
  CHECK(contains(
      message_of([&] { static_cast<void>(parse_run_progress(format_run_progress(progress))); }),
      "64 hexadecimal digits"));
}

}  // namespace fovea
