// Optimizer steps and moving averages: one pass over memory each. Loop invariants are copied to
// the stack and pointers are restrict, so that the loops vectorise.
#include <algorithm>

#include "engine/parallel.h"
#include "ops/update/cpu.h"
#include "ops/update/formulas.h"

namespace fovea::ops::cpu::FOVEA_ISA {
namespace {

using detail::AdamStep;
using detail::LionStep;
using detail::SgdStep;

/// What follows the new parameters p in [begin, end).
template <class T>
void follow(const Follower& follower, const StepRates& rates, const T* p, std::int64_t begin,
            std::int64_t end) {
  if (follower.average != nullptr) {
    T* __restrict const average = static_cast<T*>(follower.average);
    const T* __restrict const value = p;
    const detail::AverageStep<T> step(rates.now->average_decay);
    for (std::int64_t i = begin; i < end; ++i) average[i] = step(average[i], value[i]);
  }
  if (follower.copy != nullptr) {
    for (std::int64_t i = begin; i < end; ++i) follower.copy[i] = static_cast<bf16>(p[i]);
  }
}

/// The elements [begin, end) of a parameter, its gradient and moments.
template <class T>
struct UpdateRange {
  T *p, *m, *v;
  const T* g;
  std::int64_t begin, end;

  UpdateRange(const UpdateArrays& a, std::int64_t first, std::int64_t last)
      : p(static_cast<T*>(a.p)),
        m(static_cast<T*>(a.m)),
        v(static_cast<T*>(a.v)),
        g(static_cast<const T*>(a.g)),
        begin(first),
        end(last) {}
};

/// Calls f(a zero of the dtype's type, begin, end) for each block.
template <class F>
void for_blocks(DType dtype, std::int64_t count, const F& f) {
  dispatch_wide(dtype, [&](auto zero) {
    parallel_for(count, kUpdateBlock,
                 [&](std::int64_t begin, std::int64_t end) { f(zero, begin, end); });
  });
}

/// Calls f(call, range) for each block of each tensor, then what follows it.
template <class Call, class F>
void for_ranges(const Calls<Call>& calls, const F& f) {
  for (const Call& c : calls) {
    if (detail::is_void(c)) continue;
    const UpdateArrays& a = c.arrays;
    for_blocks(a.dtype, a.count, [&](auto zero, std::int64_t begin, std::int64_t end) {
      const UpdateRange<decltype(zero)> range(a, begin, end);
      f(c, range);
      follow(a.follower, c.rates, range.p, begin, end);
    });
  }
}

template <class T>
void adamw_block(const AdamWCall& c, const UpdateRange<T>& at) {
  T* __restrict const p = at.p;
  T* __restrict const m = at.m;
  T* __restrict const v = at.v;
  const T* __restrict const g = at.g;
  const AdamStep<T> adam(c.adam, *c.rates.now, c.rates.lr());
  const T keep = static_cast<T>(detail::kept(c.rates));
  for (std::int64_t i = at.begin; i < at.end; ++i) {
    T mi = m[i], vi = v[i];
    const T direction = adam(g[i], mi, vi);
    m[i] = mi;
    v[i] = vi;
    p[i] = p[i] * keep - direction;
  }
}

template <class T>
void lamb_block(const LambCall& c, const UpdateRange<T>& at) {
  T* __restrict const m = at.m;
  T* __restrict const v = at.v;
  const T* __restrict const p = at.p;
  const T* __restrict const g = at.g;
  T* __restrict const u = static_cast<T*>(c.u);
  const AdamStep<T> adam(c.adam, *c.rates.now, 1);
  const T decay = static_cast<T>(c.rates.weight_decay);
  for (std::int64_t i = at.begin; i < at.end; ++i) {
    T mi = m[i], vi = v[i];
    u[i] = adam(g[i], mi, vi) + decay * p[i];
    m[i] = mi;
    v[i] = vi;
  }
  // A separate loop: the one above vectorises, this one must not be reordered.
  double parameter = 0, direction = 0;
  for (std::int64_t i = at.begin; i < at.end; ++i) {
    parameter += static_cast<double>(p[i]) * static_cast<double>(p[i]);
    direction += static_cast<double>(u[i]) * static_cast<double>(u[i]);
  }
  double* const squares = c.squares + at.begin / kUpdateBlock;
  squares[0] = parameter;
  squares[blocks_of(c.arrays.count)] = direction;
}

/// SGD and Lion: applies step(g, p, m) to each element.
template <class T, class Step>
void momentum_block(const Step& of_element, const UpdateRange<T>& at) {
  T* __restrict const p = at.p;
  T* __restrict const m = at.m;
  const T* __restrict const g = at.g;
  const Step step = of_element;
  for (std::int64_t i = at.begin; i < at.end; ++i) {
    T pi = p[i], mi = m[i];
    step(g[i], pi, mi);
    p[i] = pi;
    m[i] = mi;
  }
}

void adamw(const Calls<AdamWCall>& calls) {
  for_ranges(calls, [](const AdamWCall& c, const auto& range) { adamw_block(c, range); });
}

/// Nothing follows: p changes later, in move().
void lamb(const Calls<LambCall>& calls) {
  for (const LambCall& c : calls) {
    if (detail::is_void(c)) continue;
    for_blocks(c.arrays.dtype, c.arrays.count,
               [&](auto zero, std::int64_t begin, std::int64_t end) {
                 lamb_block<decltype(zero)>(c, {c.arrays, begin, end});
               });
  }
}

void judge(const JudgeCall& c) { detail::judge(c); }

void limit(const LimitCall& c) { c.now->gradient_scale = detail::limited(c); }

void lion(const Calls<LionCall>& calls) {
  for_ranges(calls, []<class T>(const LionCall& c, const UpdateRange<T>& range) {
    momentum_block(LionStep<T>(c), range);
  });
}

void sgd(const Calls<SgdCall>& calls) {
  for_ranges(calls, []<class T>(const SgdCall& c, const UpdateRange<T>& range) {
    momentum_block(SgdStep<T>(c), range);
  });
}

void move(const MoveCall& c) {
  const double move_rate = detail::move_rate(c, blocks_of(c.count));
  const double move_keep = detail::kept(c.rates, c.keep);
  for_blocks(c.dtype, c.count, [&](auto zero, std::int64_t begin, std::int64_t end) {
    using T = decltype(zero);
    T* __restrict const p = static_cast<T*>(c.p);
    const T* __restrict const u = static_cast<const T*>(c.u);
    const T keep = static_cast<T>(move_keep), rate = static_cast<T>(move_rate);
    for (std::int64_t i = begin; i < end; ++i) p[i] = p[i] * keep - rate * u[i];
    follow(c.follower, c.rates, p, begin, end);
  });
}

void restore(const RestoreCall& c) {
  for_blocks(c.dtype, c.count, [&](auto zero, std::int64_t begin, std::int64_t end) {
    using T = decltype(zero);
    const T* const before = static_cast<const T*>(c.before);
    std::copy(before + begin, before + end, static_cast<T*>(c.x) + begin);
  });
}

void average(const AverageCall& c) {
  for_blocks(c.dtype, c.count, [&](auto zero, std::int64_t begin, std::int64_t end) {
    using T = decltype(zero);
    T* __restrict const a = static_cast<T*>(c.average);
    const T* __restrict const x = static_cast<const T*>(c.value);
    const detail::AverageStep<T> step(c);
    for (std::int64_t i = begin; i < end; ++i) a[i] = step(a[i], x[i]);
  });
}

template <class Call, void (*one)(const Call&)>
void each(const Calls<Call>& calls) {
  for (const Call& call : calls) {
    if (!detail::is_void(call)) one(call);
  }
}

}  // namespace

extern const UpdateKernels update_kernels{.adamw = adamw,
                                          .average = each<AverageCall, average>,
                                          .clip_units = update::clip_units,
                                          .clip_values = update::clip_values,
                                          .judge = judge,
                                          .lamb = lamb,
                                          .limit = limit,
                                          .lion = lion,
                                          .move = each<MoveCall, move>,
                                          .restore = each<RestoreCall, restore>,
                                          .sgd = sgd,
                                          .squares = update::squares};

}  // namespace fovea::ops::cpu::FOVEA_ISA
