// Rows processed in vectors of the instruction set's width. A loop body is written once for a lane
// type At, which is either a whole vector or a single element: at.load(p) widens bf16 to f32,
// at.store(p, v) rounds back. Sums use four vectors, so that additions do not wait for each other.
#pragma once

#include <cstdint>

#include "ops/common/cpu/vectors.h"

namespace fovea::ops::cpu::FOVEA_ISA {

/// A whole vector of A. `slot` distinguishes the four vectors of an unrolled loop.
template <class A, int kSlot>
struct WideLanes {
  using Value = Vector<A>;

  template <class T>
  static Value load(const T* p) {
    return FOVEA_ISA::load<Value>(p);
  }
  template <class T>
  static void store(T* p, Value v) {
    FOVEA_ISA::store(p, v);
  }
};

/// A single element, computed in type A.
template <class A>
struct OneLane {
  using Value = A;

  template <class T>
  static A load(const T* p) {
    return static_cast<A>(*p);
  }
  template <class T>
  static void store(T* p, A v) {
    *p = static_cast<T>(v);
  }
};

/// Calls body(at, i) over [0, n): four vectors at a time, then single vectors, then elements.
template <class A, class Body>
void for_lanes(std::int64_t n, const Body& body) {
  constexpr std::int64_t kStep = kLanes<A>;
  std::int64_t i = 0;
  for (; i + 4 * kStep <= n; i += 4 * kStep) {
    body(WideLanes<A, 0>{}, i);
    body(WideLanes<A, 1>{}, i + kStep);
    body(WideLanes<A, 2>{}, i + 2 * kStep);
    body(WideLanes<A, 3>{}, i + 3 * kStep);
  }
  for (; i + kStep <= n; i += kStep) body(WideLanes<A, 0>{}, i);
  for (; i < n; ++i) body(OneLane<A>{}, i);
}

/// A running sum for use with for_lanes.
template <class A>
class LaneSum {
 public:
  template <int kSlot>
  void add(WideLanes<A, kSlot>, Vector<A> v) {
    wide_[kSlot] += v;
  }
  void add(OneLane<A>, A v) { one_ += v; }

  /// The sum of all lanes, added pairwise.
  A total() const { return lane_total<A>((wide_[0] + wide_[1]) + (wide_[2] + wide_[3])) + one_; }

 private:
  Vector<A> wide_[4] = {};
  A one_ = 0;
};

/// The largest element; NaN is ignored.
template <class A>
class LaneMax {
 public:
  explicit LaneMax(A start) : one_(start) {
    for (Vector<A>& v : wide_) v = Vector<A>{} + start;
  }
  template <int kSlot>
  void add(WideLanes<A, kSlot>, Vector<A> v) {
    wide_[kSlot] = v > wide_[kSlot] ? v : wide_[kSlot];
  }
  void add(OneLane<A>, A v) { one_ = v > one_ ? v : one_; }

  A total() const {
    Vector<A> v = wide_[0];
    for (int slot = 1; slot < 4; ++slot) v = wide_[slot] > v ? wide_[slot] : v;
    A best = one_;
    for (int j = 0; j < kLanes<A>; ++j) best = v[j] > best ? v[j] : best;
    return best;
  }

 private:
  Vector<A> wide_[4];
  A one_;
};

}  // namespace fovea::ops::cpu::FOVEA_ISA
