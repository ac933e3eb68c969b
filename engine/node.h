// One op on the tape: the tensors that its gradients go to, and what its derivative reads.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "engine/autograd.h"
#include "engine/saved_tensor.h"

namespace fovea {

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
  [[nodiscard]] std::vector<Tensor> saved_tensors() const;

  /// Drops inputs, saved tensors and derivative. Iterative, as the destructor is, so that a long
  /// chain cannot overflow the stack.
  void free();
};

}  // namespace fovea
