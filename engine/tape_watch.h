// Watching the tape. Two events happen on it: record() has recorded an op, and backward() has run
// the derivative of a node. Whatever wants to know is a TapeWatcher; the tape knows none of them.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <vector>

#include "engine/autograd.h"

namespace fovea {

/// Hears the events of the thread that made it while it is alive. Several watchers may be alive:
/// the newest hears an event first. An exception from a watcher ends record() or backward().
class TapeWatcher {
 public:
  TapeWatcher();
  virtual ~TapeWatcher();
  TapeWatcher(const TapeWatcher&) = delete;
  TapeWatcher& operator=(const TapeWatcher&) = delete;

  /// An op has run: `output` is on the tape if a derivative was kept. Ops without a derivative and
  /// under NoGrad are heard too.
  virtual void recorded(const OpLabel& /*op*/, std::span<const Tensor> /*inputs*/,
                        const Tensor& /*output*/) {}
  /// The derivative of a node gave these gradients, one for each of node.inputs. They have not been
  /// added to anything yet; undefined ones are zero or already accumulated.
  virtual void differentiated(const Node& /*node*/, std::span<const Tensor> /*gradients*/) {}

 private:
  friend void tell_recorded(const OpLabel&, std::span<const Tensor>, const Tensor&);
  friend void tell_differentiated(const Node&, std::span<const Tensor>);

  TapeWatcher* before_;  ///< the next older watcher of this thread
};

/// While it is alive, record() and backward() of this thread throw at the first value that is not
/// finite. The error names the op, its nearest named leaves and the direction (output or
/// derivative).
class DetectAnomaly {
 public:
  explicit DetectAnomaly(bool on = true);  ///< false: detects nothing

 private:
  class Check final : public TapeWatcher {
    void recorded(const OpLabel& op, std::span<const Tensor> inputs, const Tensor& output) override;
    void differentiated(const Node& node, std::span<const Tensor> gradients) override;
  };
  std::optional<Check> check_;
};

/// Collects the leaves that require a gradient and that ops of this thread read while it is alive,
/// whether they are recorded or not.
class ReadLeaves final : public TapeWatcher {
 public:
  [[nodiscard]] std::vector<Tensor> leaves() const;

 private:
  void recorded(const OpLabel& op, std::span<const Tensor> inputs, const Tensor& output) override;

  std::map<const TensorImpl*, Tensor> leaves_;
};

/// Raises the first event, also for a running Profile.
void tell_recorded(const OpLabel& op, std::span<const Tensor> inputs, const Tensor& output);
/// Raises the second event.
void tell_differentiated(const Node& node, std::span<const Tensor> gradients);

}  // namespace fovea
