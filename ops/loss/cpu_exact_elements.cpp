// Means over all elements: runs are summed in parallel, then their sums are added in order.
#include "ops/loss/cpu.h"
#include "ops/loss/elements.h"

namespace fovea::ops::cpu::FOVEA_ISA {
namespace {

using detail::BinaryCrossEntropy;
using detail::SquaredError;

template <class Loss, class T>
void sum_runs(const ElementLossCall& c) {
  const auto *const x = static_cast<const T*>(c.x), *const t = static_cast<const T*>(c.target);
  parallel_for(c.n, c.run, [&](std::int64_t begin, std::int64_t end) {
    double sum = 0;
    for (std::int64_t i = begin; i < end; ++i) sum += static_cast<double>(Loss::value(x[i], t[i]));
    c.parts[begin / c.run] = sum;
  });
}

template <class Loss, class T>
void differentiate(const ElementLossCall& c) {
  const auto *const x = static_cast<const T*>(c.x), *const t = static_cast<const T*>(c.target);
  auto* const dx = static_cast<T*>(c.dx);
  const T scale = static_cast<T>(loss::value_of<T>(c.dy) / static_cast<double>(c.n));
  parallel_for(c.n, c.run, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) dx[i] = Loss::slope(x[i], t[i]) * scale;
  });
}

void element_loss(const ElementLossCall& c) {
  dispatch_wide(c.dtype, [&](auto tag) {
    using T = decltype(tag);
    const auto sum_all = c.kind == ElementLoss::squared_error ? sum_runs<SquaredError, T>
                                                              : sum_runs<BinaryCrossEntropy, T>;
    sum_all(c);
    const double total = loss::sum_of(c.parts, ceil_div(c.n, c.run));
    loss::set_value<T>(c.loss, total / static_cast<double>(c.n));
  });
}

void element_loss_grad(const ElementLossCall& c) {
  dispatch_wide(c.dtype, [&](auto tag) {
    using T = decltype(tag);
    c.kind == ElementLoss::squared_error ? differentiate<SquaredError, T>(c)
                                         : differentiate<BinaryCrossEntropy, T>(c);
  });
}

}  // namespace

extern const LossKernels loss_kernels{loss::label_loss,  loss::label_loss_grad,
                                      loss::target_loss, loss::target_loss_grad,
                                      element_loss,      element_loss_grad};

}  // namespace fovea::ops::cpu::FOVEA_ISA
