// Which steps count: bad losses and gradients, running statistics, and numbers that are read later.
#include <doctest/doctest.h>

#include <cmath>

#include "tests/support/errors.h"
#include "tests/support/temporary_folder.h"
#include "train/loop/step_gate.h"

namespace fovea {
namespace {

/// A model's store with a parameter and a running statistic.
struct Gated {
  explicit Gated(GuardOptions options = {}, StepGate::Reads reads = StepGate::Reads::at_once)
      : store(1, {}),
        weight(Scope(store).param("weight", {2}, constant(1))),
        mean(Scope(store).buffer("mean", {2}, constant(0))),
        gate(options, store, reads) {}

  /// A step of one batch with this loss, whose gradients have the norm `norm`.
  std::string step(double loss, double norm = 1) {
    gate.begin(progress.step, 1);
    mean.fill_(loss);  // as a forward pass would
    admitted = gate.admit({scalar(loss)}, batch);
    weight.set_grad(full({2}, norm));
    gate.numbers().set_gradients(scalar(norm * norm, {DType::f64, {}}), 1);
    std::string reason = gate.skip_reason(progress);
    ++progress.step;
    return reason;
  }

  ParameterStore store;
  Tensor weight, mean;
  StepGate gate;
  Progress progress;
  Batch batch{zeros({4, 1}), zeros({4}, {DType::i64, {}})};
  bool admitted = false;
};

GuardOptions skipping() {
  GuardOptions options;
  options.skip_nonfinite = true;
  return options;
}

}  // namespace

TEST_CASE("a good step passes: its loss counts, its norm is known, its statistics stay") {
  Gated f(skipping());
  CHECK(f.step(2, 3).empty());
  CHECK(f.admitted);
  CHECK(f.progress.epoch.total == 8);  // of 4 images
  CHECK(f.progress.epoch.samples == 4);
  CHECK(f.gate.known_norm() == 3.0);
  CHECK(f.mean.at(0) == 2);
}

TEST_CASE("a step with a bad loss or gradient is skipped, and its statistics are taken back") {
  Gated f(skipping());
  CHECK(f.step(2).empty());
  CHECK(f.step(NAN) == "the loss is nan");
  CHECK_FALSE(f.admitted);
  CHECK(f.mean.at(1) == 2);
  CHECK(f.step(1, INFINITY) == "the gradient norm is inf");
  CHECK(f.admitted);
  CHECK(f.mean.at(1) == 2);
  CHECK(f.progress.guard.skipped == 2);
  CHECK(f.step(3).empty());
  CHECK(f.progress.guard.in_row == 0);
  CHECK(f.mean.at(1) == 3);
}

TEST_CASE("a spike is skipped although its numbers are finite, and is not remembered") {
  GuardOptions options;
  options.zscore = 6;
  Gated f(options);
  for (std::size_t i = 0; i < StepGuard::kFewest; ++i)
    CHECK(f.step(i % 2 == 0 ? 1.9 : 2.1).empty());
  CHECK(contains(f.step(50), "the loss of 50 is a spike"));
  CHECK(f.progress.guard.losses.size() == StepGuard::kFewest);
  CHECK(f.mean.at(0) == doctest::Approx(2.1));
  CHECK(contains(message_of([&] { (void)f.step(NAN); }), "the loss is NaN"));  // is no spike
}

TEST_CASE("without --skip-nonfinite a bad step stops the run and names the parameters") {
  Gated f;
  CHECK(contains(message_of([&] { (void)f.step(NAN); }), "the loss is NaN"));
  const std::string message = message_of([&] { (void)f.step(1, NAN); });
  CHECK(contains(message, "gradients are not finite: weight"));
  CHECK(contains(message, "--skip-nonfinite"));
}

TEST_CASE("numbers that a device still computes are read later, and an error names their step") {
  Gated f({}, StepGate::Reads::later);
  CHECK(f.step(1).empty());
  CHECK(f.step(NAN).empty());
  CHECK(f.admitted);  // nobody has looked
  CHECK_FALSE(f.gate.known_norm());
  CHECK(f.step(3).empty());
  CHECK(f.progress.epoch.samples == 0);
  const std::string message = message_of([&] { f.gate.read_back(f.progress); });
  CHECK(contains(message, "the loss of step 1 is NaN"));
  CHECK(f.progress.epoch.total == 4);  // of the step before
}

TEST_CASE("a guard that may skip reads at once on every device") {
  Gated f(skipping(), StepGate::Reads::later);
  CHECK(f.step(NAN) == "the loss is nan");
}

TEST_CASE("steps that a device has skipped are found when they are read") {
  Gated f(skipping(), StepGate::Reads::skipped_by_device);
  for (const double loss : {1.0, double{NAN}, 3.0}) CHECK(f.step(loss).empty());
  CHECK(f.step(5, INFINITY).empty());
  CHECK(f.progress.guard.skipped == 0);
  CHECK(f.gate.read_back(f.progress) == 2);
  CHECK(f.progress.guard.skipped == 2);
  CHECK(f.progress.guard.in_row == 1);
  CHECK(f.progress.epoch.total == 4 * (1 + 3 + 5));
  CHECK(f.gate.take_notices() ==
        std::vector<std::string>{"step 1 skipped: the loss is nan (1 so far)",
                                 "step 3 skipped: the gradient norm is inf (2 so far)"});
  CHECK(f.gate.take_notices().empty());
}

}  // namespace fovea
