// Determinism checks for any task: stopped and resumed, with any number of threads and loader
// workers, a run ends with the same bits and has logged the same numbers.
#pragma once

#include <doctest/doctest.h>

#include <bit>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "engine/parallel.h"
#include "tests/support/part.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/tiny_run.h"
#include "train/loop/evaluation_pass.h"

namespace fovea {

/// Options of small runs: five epochs, every step logged, random crops and flips.
inline TrainerOptions seam_options() {
  TrainerOptions options;
  options.log_interval = 1;
  options.run.workers = options.evaluation.workers = 0;
  options.images.loader.batch_size = 8;
  options.evaluation.batch_size = 8;
  options.step.optimizer.weight_decay = 0;
  options.step.ema.keep = true;
  options.step.ema.decay = 0.5;
  options.schedule.epochs = 5;
  options.schedule.warmup_epochs = 0;
  return options;
}

/// All numbers of a run that do not depend on time.
struct RunNumbers {
  std::vector<double> losses;                       ///< one per step
  std::vector<Scores> scores;                       ///< one per epoch
  std::vector<std::vector<std::uint64_t>> log;      ///< bits, so that NaN equals itself
  std::map<std::string, std::vector<double>> bits;  ///< final state
};

inline std::vector<std::uint64_t> number_bits(const std::vector<double>& numbers) {
  std::vector<std::uint64_t> bits;
  for (const double number : numbers) bits.push_back(std::bit_cast<std::uint64_t>(number));
  return bits;
}

/// Trains to the end (true) or until max_steps. Adds to `numbers` and saves the state on stopping.
inline bool run_to_end(Trainer& trainer, const std::filesystem::path& state, RunNumbers& numbers) {
  TrainWatch watch;
  watch.on_interval = [&](const StepRow& row) {
    numbers.losses.push_back(row.loss);
    numbers.log.push_back(
        number_bits({static_cast<double>(row.step), row.loss, row.lr, row.grad_norm.value()}));
    numbers.log.push_back(number_bits(row.loss_parts));
  };
  watch.on_epoch = [&](const EpochRow& row, const TrainState&) {
    numbers.scores.push_back(row.eval);
    numbers.log.push_back(number_bits({static_cast<double>(row.epoch), row.train_loss, row.lr}));
    for (const auto& more : {row.train_parts, row.eval, row.ema})
      numbers.log.push_back(number_bits(more));
  };
  watch.on_stop = [&](const TrainState& at) { run_state_file(state, at).write(); };
  const bool done = trainer.fit(watch);
  numbers.bits = bits_of(trainer);
  return done;
}

/// Runs without interruption. `make(const TrainerOptions&)` makes the trainer of a new run.
template <class Make>
RunNumbers whole_run(const TrainerOptions& options, const Make& make) {
  RunNumbers numbers;
  Trainer trainer = make(options);
  CHECK(run_to_end(trainer, {}, numbers));
  return numbers;
}

/// Stops the run after `steps`, within an epoch, and resumes it in a new trainer.
template <class Make>
RunNumbers resumed_run(TrainerOptions options, std::int64_t steps, const Make& make) {
  const TemporaryFolder folder;
  RunNumbers numbers;
  options.max_steps = steps;
  Trainer first = make(options);
  CHECK_FALSE(run_to_end(first, folder / "state", numbers));
  REQUIRE(first.progress().cursor.batch > 0);
  options.max_steps = 0;
  Trainer second = make(options);
  second.resume(folder / "state");
  CHECK(run_to_end(second, {}, numbers));
  return numbers;
}

inline void check_same(const RunNumbers& found, const RunNumbers& expected) {
  CHECK(found.log == expected.log);
  CHECK(found.bits == expected.bits);
}

/// Sets the number of threads during its lifetime.
class Threads {
 public:
  explicit Threads(int count) : before_(num_threads()) { set_num_threads(count); }
  ~Threads() { set_num_threads(before_); }
  Threads(const Threads&) = delete;
  Threads& operator=(const Threads&) = delete;

 private:
  int before_;
};

/// Two epochs of four steps of 16 images: uninterrupted, and stopped in the second epoch, with one
/// and two threads, without and with two workers.
template <class Make>
void check_same_everywhere(TrainerOptions options, const Make& make) {
  struct Place {
    int threads, workers;
  };
  options.schedule.epochs = 2;
  options.images.loader.batch_size = 16;
  const RunNumbers expected = whole_run(options, make);
  CHECK(expected.losses.size() == 8);
  for (const Place place : {Place{1, 0}, Place{1, 2}, Place{2, 2}}) {
    CAPTURE(place.threads);
    CAPTURE(place.workers);
    const Threads use(place.threads);
    options.run.workers = options.evaluation.workers = place.workers;
    check_same(resumed_run(options, 6, make), expected);
  }
}

/// Checks that sums over both halves of a data set equal those over the whole, with equal scores.
inline void check_halves(const Task& task, const std::shared_ptr<const Dataset>& data,
                         const EvaluateOptions& options) {
  const std::int64_t half = data->size() / 2;
  const auto sums_of = [&](const std::shared_ptr<const Dataset>& images) {
    return std::get<ScoreSums>(task.evaluate(images, options).measured);
  };
  const ScoreSums whole = sums_of(data);
  ScoreSums sums = sums_of(std::make_shared<Part>(data, 0, half));
  CHECK(sums.count < whole.count);
  sums += sums_of(std::make_shared<Part>(data, half, data->size() - half));
  CHECK(sums.count == whole.count);
  REQUIRE(sums.values.size() == whole.values.size());
  for (std::size_t i = 0; i < whole.values.size(); ++i)
    CHECK(sums.values[i] == doctest::Approx(whole.values[i]).epsilon(1e-5));
  const Scores found = task.from_sums(sums), expected = task.from_sums(whole);
  REQUIRE(found.size() == task.info().measures.size());
  for (std::size_t i = 0; i < found.size(); ++i)
    CHECK(found[i] == doctest::Approx(expected[i]).epsilon(1e-5));
}

}  // namespace fovea
