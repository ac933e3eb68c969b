// Vectors of the instruction set's width, and sums across their lanes. Only for files in ops/cpu/
// that are compiled once per instruction set.
#pragma once

namespace fovea::ops::cpu::FOVEA_ISA {

#if defined(FOVEA_ISA_v4)
inline constexpr int kVectorBytes = 64;
#elif defined(FOVEA_ISA_v3)
inline constexpr int kVectorBytes = 32;
#else
inline constexpr int kVectorBytes = 16;
#endif

template <class A, int kBytes = kVectorBytes>
struct VectorOf {
  typedef A type __attribute__((vector_size(kBytes)));
};

// A product of a number with two vectors: AVX-512 can repeat the number over a vector while it
// reads it, but a compiler that sees it used twice repeats it once, in an instruction of its own.
// Reading every second row's number twice balances instructions against loads.

/// Whether row `row` of a tile is to be read through both pointers.
inline constexpr bool reads_twice(int row) { return kVectorBytes == 64 && row % 2 == 0; }

/// p again, but the compiler does not know that.
template <class T>
inline const T* twin_of(const T* p) {
  asm("" : "+r"(p));
  return p;
}

/// A vector's upper half combined with its lower again and again, until kLeft lanes are left: a
/// shorter vector, or an element for kLeft 1.
template <class A, int kLeft = 1, int kBytes = kVectorBytes, class F>
inline auto fold_lanes(typename VectorOf<A, kBytes>::type v, F combine) {
  constexpr int kCount = kBytes / static_cast<int>(sizeof(A));
  if constexpr (kCount == kLeft) {
    return v;
  } else if constexpr (kCount == 2) {
    return combine(A(v[0]), A(v[1]));
  } else {
    typename VectorOf<A, kBytes / 2>::type half[2];
    __builtin_memcpy(half, &v, sizeof v);
    return fold_lanes<A, kLeft, kBytes / 2>(combine(half[0], half[1]), combine);
  }
}

/// The sum of all lanes.
template <class A>
inline A lane_total(typename VectorOf<A>::type v) {
  return fold_lanes<A>(v, [](auto a, auto b) { return a + b; });
}

}  // namespace fovea::ops::cpu::FOVEA_ISA
