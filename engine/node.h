// One op on the tape: the tensors that its gradients go to, and what its derivative reads.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "engine/autograd.h"

namespace fovea {

struct LateSumList;
struct Recomputation;
class RecomputedOutputs;

/// What the tape keeps of a tensor that a derivative reads: its values, or a way to compute them
/// again.
class SavedTensor {
 public:
  /// Keeps `t`, which may be undefined, without its tape. Of an output that
  /// recomputed_for_backward() marked, and that was not changed since, only the recomputation is
  /// kept.
  explicit SavedTensor(const Tensor& t);

  /// The tensor as it was then. Throws in the name of `op` when it was changed in place.
  [[nodiscard]] Tensor read(std::string_view op, RecomputedOutputs& outputs) const;

 private:
  Tensor kept_;  ///< detached
  std::uint64_t version_ = 0;
  std::shared_ptr<const Recomputation> recomputation_;
};

/// How an op's output is computed again.
struct Recomputation {
  std::vector<SavedTensor> from;
  RecomputeFn compute;
  std::uint64_t version;    ///< of the output, as computed
  mutable int readers = 0;  ///< tensors saved with it
};

/// The outputs that a walk of backward() computes again: at their first reader, for all readers.
class RecomputedOutputs {
 public:
  /// Forgets the output when it was read as often as it has readers.
  [[nodiscard]] Tensor read(const Recomputation& how, std::string_view op);
  /// Forgets the output of an op that the walk has come to: whatever has not read it yet is not
  /// below the root.
  void reached(const Node& node);

 private:
  struct Held {
    Tensor output;
    int reads = 0;
  };
  std::map<const Recomputation*, Held> held_;
};

/// The late_sum()s of a walk of backward(), while it is alive. Statics are of the innermost walk.
class LateSums {
 public:
  LateSums();
  ~LateSums();  ///< finish(), also when a derivative throws

  static Tensor without_broadcast(const Tensor& x, const Tensor& term);  ///< summed over repeats
  /// Makes a late sum the gradient of a leaf, or adds it. False: `term` is not late.
  static bool give(const Tensor& term, Tensor& gradient);
  static void finish();  ///< computes the sums that are left
  static void finish_if_late(const Tensor& t);
  /// Computes them unless all that a derivative gave are for leaves, and no watcher reads them.
  static void settle(const Node& node, std::span<const Tensor> gradients);

 private:
  LateSumList* outer_;
  std::unique_ptr<LateSumList> list_;
};

/// Ops call only record(). Node is for code that walks the tape: backward(), drawings, cost tables.
class Node {
 public:
  std::string_view name;  ///< static text, as are the words in `attributes`
  std::vector<OpAttribute> attributes;
  std::uint64_t sequence = 0;  ///< counts up: larger than that of every node that it reads
  Shape output_shape;
  DType output_dtype;
  std::vector<Tensor> inputs;  ///< leaves that receive gradients; the others without values
  std::vector<SavedTensor> saved;
  std::shared_ptr<const Recomputation> recomputation;  ///< of the output, or null
  BackwardFn backward;
  std::int64_t multiply_adds;
  bool freed = false;
  std::vector<Tensor> inner_leaves;  ///< declare_inner_leaves()

  Node(const OpLabel& op, const Tensor& output, std::span<const Tensor> read,
       std::span<const Tensor> kept, BackwardFn derivative);
  ~Node();
  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;

  /// The tensors that the derivative reads. Throws when they were freed or changed in place.
  [[nodiscard]] std::vector<Tensor> saved_tensors(RecomputedOutputs& outputs) const;

  /// Drops inputs, saved tensors and derivative. Iterative, as the destructor is, so that a long
  /// chain cannot overflow the stack.
  void free();
};

}  // namespace fovea
