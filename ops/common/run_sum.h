// Sums of many terms, on host and device.
#pragma once

#include <cstdint>

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
    if (++terms == kRunTerms) close();
  }
  /// Adds adjacent terms.
  template <class T>
  FOVEA_HD void add(const T* x, std::int64_t count) {
    while (count > 0) {
      const std::int64_t left = kRunTerms - terms, part = count < left ? count : left;
      for (std::int64_t i = 0; i < part; ++i) run += static_cast<A>(x[i]);
      terms += static_cast<int>(part);
      if (terms == kRunTerms) close();
      x += part;
      count -= part;
    }
  }
  FOVEA_HD A total() const { return closed + run; }

  FOVEA_HD void close() {
    closed += run;
    run = 0;
    terms = 0;
  }
};

}  // namespace fovea::ops::detail
