// Rows in vectors of the instruction set's width. A loop body is written once, for a lane type At
// that is either a whole vector or a single element: at.load(p) widens bf16 to f32, at.store(p, v)
// rounds back. Sums keep four vectors, so that additions need not wait for each other.
#pragma once

#include <cstdint>

#include "engine/dtype.h"
#include "ops/cpu/vectors.h"

namespace fovea::ops::cpu::FOVEA_ISA {

/// The vector of A and, for f32, the integer vectors through which bf16 goes.
template <class A>
struct VectorTypes;
template <>
struct VectorTypes<float> {
  static constexpr int kLanes = kVectorBytes / 4;
  typedef float Vector __attribute__((vector_size(kVectorBytes)));
  typedef std::uint32_t Bits __attribute__((vector_size(kVectorBytes)));
  typedef std::uint16_t Halves __attribute__((vector_size(kVectorBytes / 2)));
};
template <>
struct VectorTypes<double> {
  static constexpr int kLanes = kVectorBytes / 8;
  typedef double Vector __attribute__((vector_size(kVectorBytes)));
};

/// A whole vector of A. `slot` tells the four vectors of an unrolled loop apart.
template <class A, int kSlot>
struct WideLanes {
  using Types = VectorTypes<A>;
  using Value = typename Types::Vector;
  static constexpr int slot = kSlot;

  static Value load(const A* p) {
    Value v;
    __builtin_memcpy(&v, p, sizeof v);
    return v;
  }
  static void store(A* p, Value v) { __builtin_memcpy(p, &v, sizeof v); }

  static Value load(const bf16* p) {
    typename Types::Halves halves;
    __builtin_memcpy(&halves, p, sizeof halves);
    return reinterpret_cast<Value>(__builtin_convertvector(halves, typename Types::Bits) << 16);
  }
  static void store(bf16* p, Value v) {  // to nearest even; NaN stays a NaN: see bf16(float)
    using Bits = typename Types::Bits;
    const Bits u = reinterpret_cast<Bits>(v);
    const Bits rounded = u + 0x7fffu + ((u >> 16) & 1u);
    const Bits is_nan = reinterpret_cast<Bits>(v != v);  // NOLINT(misc-redundant-expression)
    const Bits chosen = ((u | 0x00400000u) & is_nan) | (rounded & ~is_nan);
    const auto halves = __builtin_convertvector(chosen >> 16, typename Types::Halves);
    __builtin_memcpy(static_cast<void*>(p), &halves, sizeof halves);
  }
};

/// One element, computed as an A.
template <class A>
struct OneLane {
  using Value = A;

  static A load(const A* p) { return *p; }
  static void store(A* p, A v) { *p = v; }
  static A load(const bf16* p) {
    return __builtin_bit_cast(float, static_cast<std::uint32_t>(p->bits) << 16);
  }
  static void store(bf16* p, A v) {
    const auto u = __builtin_bit_cast(std::uint32_t, v);
    const std::uint32_t rounded = u + 0x7fffu + ((u >> 16) & 1u);
    const bool is_nan = v != v;  // NOLINT(misc-redundant-expression)
    p->bits = static_cast<std::uint16_t>((is_nan ? u | 0x00400000u : rounded) >> 16);
  }
};

/// Calls body(at, i) so that [0, n) is covered, four vectors at a time, then one, then elements.
template <class A, class Body>
void for_lanes(std::int64_t n, const Body& body) {
  constexpr std::int64_t kLanes = VectorTypes<A>::kLanes;
  std::int64_t i = 0;
  for (; i + 4 * kLanes <= n; i += 4 * kLanes) {
    body(WideLanes<A, 0>{}, i);
    body(WideLanes<A, 1>{}, i + kLanes);
    body(WideLanes<A, 2>{}, i + 2 * kLanes);
    body(WideLanes<A, 3>{}, i + 3 * kLanes);
  }
  for (; i + kLanes <= n; i += kLanes) body(WideLanes<A, 0>{}, i);
  for (; i < n; ++i) body(OneLane<A>{}, i);
}

/// A running sum over for_lanes.
template <class A>
class LaneSum {
  using Vector = typename VectorTypes<A>::Vector;

 public:
  template <int kSlot>
  void add(WideLanes<A, kSlot>, Vector v) {
    wide_[kSlot] += v;
  }
  void add(OneLane<A>, A v) { one_ += v; }

  /// All lanes, added pairwise.
  A total() const { return lane_total<A>((wide_[0] + wide_[1]) + (wide_[2] + wide_[3])) + one_; }

 private:
  Vector wide_[4] = {};
  A one_ = 0;
};

/// The largest element; NaN is passed over.
template <class A>
class LaneMax {
  using Vector = typename VectorTypes<A>::Vector;

 public:
  explicit LaneMax(A start) : one_(start) {
    for (Vector& v : wide_) v = Vector{} + start;
  }
  template <int kSlot>
  void add(WideLanes<A, kSlot>, Vector v) {
    wide_[kSlot] = v > wide_[kSlot] ? v : wide_[kSlot];
  }
  void add(OneLane<A>, A v) { one_ = v > one_ ? v : one_; }

  A total() const {
    Vector v = wide_[0];
    for (int slot = 1; slot < 4; ++slot) v = wide_[slot] > v ? wide_[slot] : v;
    A best = one_;
    for (int j = 0; j < VectorTypes<A>::kLanes; ++j) best = v[j] > best ? v[j] : best;
    return best;
  }

 private:
  Vector wide_[4];
  A one_;
};

}  // namespace fovea::ops::cpu::FOVEA_ISA
