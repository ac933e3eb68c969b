// Optimizers: update parameters from gradients. The formulas and their references are in
// ops/update/: adamw.cpp, sgd.cpp, lamb.cpp, lars.cpp, lion.cpp, muon.cpp.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "engine/base/names.h"
#include "models/scope.h"
#include "ops/update.h"
#include "train/optim/ema.h"
#include "train/optim/gradients.h"
#include "train/optim/layer_decay.h"
#include "train/optim/named_rates.h"
#include "train/optim/portion.h"

namespace fovea {

enum class OptimizerKind {
  adamw,
  sgd,       ///< SGD with Nesterov momentum
  momentum,  ///< SGD with plain momentum
  lamb,
  lars,  ///< for linear probes
  lion,
  muon,
};
template <>
inline constexpr auto kNames<OptimizerKind> =
    std::to_array<Named<OptimizerKind>>({{OptimizerKind::adamw, "adamw"},
                                         {OptimizerKind::sgd, "sgd"},
                                         {OptimizerKind::momentum, "momentum"},
                                         {OptimizerKind::lamb, "lamb"},
                                         {OptimizerKind::lars, "lars"},
                                         {OptimizerKind::lion, "lion"},
                                         {OptimizerKind::muon, "muon"}});

struct OptimizerOptions {
  OptimizerKind kind = OptimizerKind::adamw;
  double weight_decay = 0.05;  ///< applies to parameters created with Decay::yes
  /// For adamw, lamb, lion (no eps) and muon. Empty: defaults of the kind, see moment_decay_of().
  std::optional<double> beta1{}, beta2{}, eps{};
  double momentum = 0.9;   ///< sgd, momentum, lars, muon
  double layer_decay = 1;  ///< learning rate factor per layer, see layer_decay.h
  LastNorm layer_decay_norm = LastNorm::with_block;
  /// Learning rate factors by parameter name. They multiply with each other and with layer_decay's.
  std::vector<NamedRate> named_rates{};
  bool decay_dist_token = true;  ///< false: DeiT's dist_token is exempt, as in recent timm
};

/// Decay rates of the moments, and the epsilon added to the root of the second moment.
struct MomentDecay {
  double beta1 = 0.9, beta2 = 0.999, eps = 1e-8;
};
/// Options that are unset get PyTorch's defaults for AdamW and timm's for the other kinds.
[[nodiscard]] MomentDecay moment_decay_of(const OptimizerOptions& options);

namespace detail {
/// True if Muon updates a parameter of this shape; AdamW updates the others.
[[nodiscard]] bool suits_muon(const Shape& shape);
}  // namespace detail

/// Updates the trainable parameters of a store in place. Moments have the parameter's dtype (f32 or
/// f64) and start at zero.
class Optimizer {
 public:
  Optimizer(const ParameterStore& store, OptimizerOptions options);

  /// Whether a part of the parameter can be updated without the rest: elementwise rules do, those
  /// with norms of whole tensors (LAMB, LARS, Muon) do not.
  [[nodiscard]] bool divides(const Tensor& parameter) const;
  /// From now on updates these parts of the parameters alone and drops the moments of the rest. A
  /// part of a parameter that divides() refuses is all of it or empty. `squares` returns the sum of
  /// the squares of all gradients, other processes' parts included.
  void shard_state(const PortionOf& portion_of, std::function<Tensor()> squares);

  /// One update from the gradients times `scale`; parameters without one are unchanged. Averages
  /// of the others are updated in the same pass: ema->update() has the rest.
  void step(double lr, const GradientScale& scale = {}, Ema* ema = nullptr);
  // The two parts of step(), for devices that repeat the second one as it was recorded.
  /// Writes the numbers of the next update to the device, which multiplies gradients by `factor`.
  void begin_step(double lr, double factor, const Ema* ema);
  /// The update, from the numbers in the device's memory; clips by what `scale` has beside its
  /// factor.
  void update(const GradientScale& scale, Ema* ema) const;

  /// After begin_step(): the updates of this step write nothing unless both are finite, each one
  /// f64 on the device. The host counts the step until skipped() corrects it.
  void skip_unless_finite(const Tensor& loss, const Tensor& squares, const Ema* ema);
  /// Says that so many of the steps since the last call were skipped so.
  void skipped(std::int64_t steps);
  /// The numbers of the step in the device's memory, since the first begin_step().
  [[nodiscard]] const ops::UpdateStep& now() const { return *now_; }

  [[nodiscard]] std::int64_t steps_done() const { return steps_done_; }
  [[nodiscard]] const OptimizerOptions& options() const { return options_; }

  /// The moments by name, "m/blocks.0.norm1.weight" (and "v/..." for second moments), as handles
  /// that share storage; after shard_state(), of the parts that are kept.
  [[nodiscard]] std::map<std::string, Tensor> state() const;
  /// For resuming: declares that state() has been filled with the moments after `steps` steps.
  void set_steps_done(std::int64_t steps) { steps_done_ = steps; }

 private:
  struct Slot {
    Parameter parameter;
    OptimizerKind kind = OptimizerKind::adamw;  ///< AdamW for parameters that do not suit Muon
    Tensor m, v;  ///< v is undefined for sgd, lars, lion and Muon's matrices
    double lr_scale = 1;
    Portion portion{};  ///< the part that is updated
  };
  void update_those_of(OptimizerKind kind, Ema* ema) const;
  void run(OptimizerKind kind, ops::Updates updates) const;
  [[nodiscard]] Tensor squares() const;

  OptimizerOptions options_;
  MomentDecay moments_;
  std::vector<Slot> slots_;
  std::function<Tensor()> squares_{};  ///< set by shard_state(); empty: computed from the slots
  std::int64_t steps_done_ = 0;
  std::optional<ops::UpdateStep> now_{};  ///< on the parameters' device, written once per step
  Tensor skipped_{};  ///< number of steps that the device skipped since skipped(), one f64 there
};

}  // namespace fovea
