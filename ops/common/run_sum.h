// Sums of many terms, on host and device.
#pragma once

#include "engine/device.h"

namespace fovea::ops::detail {

/// Terms that are added one after the other: a longer running sum in f32 loses digits, and with
/// ones it stops at 2^24.
inline constexpr int kRunTerms = 1 << 10;

/// A sum of runs of kRunTerms terms. With fewer terms it has the bits of the plain running sum.
template <class A>
struct RunSum {
  A closed = 0;  ///< the runs that are complete
  A run = 0;
  int terms = 0;  ///< of the run

  FOVEA_HD void add(A term) {
    run += term;
    if (++terms < kRunTerms) return;
    closed += run;
    run = 0;
    terms = 0;
  }
  FOVEA_HD A total() const { return closed + run; }
};

}  // namespace fovea::ops::detail
