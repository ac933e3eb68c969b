// Watching the tape. Two events happen on it: an op has run, and backward() has run the derivative
// of a node. A TapeWatcher hears both. Profile and OnCompleteGradient, which need times and the end
// of a visit, are called by the tape itself.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <vector>

#include "engine/autograd.h"

namespace fovea {

/// Hears the events of the thread that made it while it is alive. Several watchers may be alive:
/// the newest hears an event first. They end in the reverse order of their beginning, as local
/// variables do. An exception from a watcher ends record() or backward(). A watcher that changes in
/// its events must not be const.
class TapeWatcher {
 public:
  TapeWatcher();
  virtual ~TapeWatcher();
  TapeWatcher(const TapeWatcher&) = delete;
  TapeWatcher& operator=(const TapeWatcher&) = delete;

  /// An op has run: `output` is on the tape if a derivative was kept. This includes ops
  /// without a derivative and ops under NoGrad.
  virtual void recorded(const OpLabel& /*op*/, std::span<const Tensor> /*inputs*/,
                        const Tensor& /*output*/) {}
  /// The derivative of a node gave these gradients, one for each of node.inputs. They have not been
  /// added to anything yet; undefined ones are zero or already accumulated.
  virtual void differentiated(const Node& /*node*/, std::span<const Tensor> /*gradients*/) {}
  /// False if differentiated() reads no values of gradients: some may be written later.
  [[nodiscard]] virtual bool reads_gradients() const { return true; }

 private:
  friend void tell_recorded(const OpLabel&, std::span<const Tensor>, const Tensor&);
  friend void tell_differentiated(const Node&, std::span<const Tensor>);
  friend bool gradients_are_read();

  TapeWatcher* before_;  ///< the next older watcher of this thread
};

/// While it is alive, record() and backward() of this thread throw at the first value that is not
/// finite. The error names the op, its nearest named leaves and the direction (output or
/// derivative).
class DetectAnomaly {
 public:
  /// false: this object detects nothing; an outer one goes on.
  explicit DetectAnomaly(bool on = true);

 private:
  class Check final : public TapeWatcher {
    void recorded(const OpLabel& op, std::span<const Tensor> inputs, const Tensor& output) override;
    void differentiated(const Node& node, std::span<const Tensor> gradients) override;
  };
  std::optional<Check> check_;
};

/// Collects the leaves that require a gradient and that ops of this thread read while it is alive,
/// whether they are recorded or not.
class LeafReads final : public TapeWatcher {
 public:
  [[nodiscard]] std::vector<Tensor> leaves() const;

 private:
  void recorded(const OpLabel& op, std::span<const Tensor> inputs, const Tensor& output) override;

  std::map<const TensorImpl*, Tensor> leaves_;
};

[[nodiscard]] bool gradients_are_read();  ///< by a watcher of this thread
/// Raises the first event, also for a running Profile.
void tell_recorded(const OpLabel& op, std::span<const Tensor> inputs, const Tensor& output);
/// Raises the second event.
void tell_differentiated(const Node& node, std::span<const Tensor> gradients);

}  // namespace fovea
