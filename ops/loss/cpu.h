// The CPU loss kernels and their helpers; cpu_exact_elements.cpp defines the table.
#pragma once

#include "engine/parallel.h"
#include "ops/common/cpu/sizes.h"
#include "ops/loss/call.h"

namespace fovea::ops::cpu::FOVEA_ISA::loss {

void label_loss(const LabelLossCall& call);         // cpu_exact_labels.cpp
void label_loss_grad(const LabelLossCall& call);    // cpu_exact_labels.cpp
void target_loss(const TargetLossCall& call);       // cpu_exact_targets.cpp
void target_loss_grad(const TargetLossCall& call);  // cpu_exact_targets.cpp

/// The value of a tensor of one element.
template <class T>
double value_of(const void* scalar) {
  return static_cast<double>(*static_cast<const T*>(scalar));
}
template <class T>
void set_value(void* scalar, double value) {
  *static_cast<T*>(scalar) = static_cast<T>(value);
}

/// The sum of the parts, added in order.
inline double sum_of(const double* parts, std::int64_t n) {
  double sum = 0;
  for (std::int64_t i = 0; i < n; ++i) sum += parts[i];
  return sum;
}

/// Calls of_row(row) for every row of c.
template <class Call, class OfRow>
void for_rows(const Call& c, const OfRow& of_row) {
  parallel_for(c.rows, grain(kMinElements, c.width), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) of_row(i);
  });
}

}  // namespace fovea::ops::cpu::FOVEA_ISA::loss
