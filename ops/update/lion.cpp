// Lion: the sign of an interpolated momentum (Chen et al., "Symbolic Discovery of Optimization
// Algorithms", 2023, algorithm 2), as timm's Lion.
//
//   p <- p (1 - lr wd)
//   p <- p - lr sign(b1 m + (1 - b1) g)
//   m <- b2 m + (1 - b2) g
//
// Every element moves by lr, so learning rates are 3 to 10 times smaller than AdamW's, and weight
// decays larger by the same factor.
#include "ops/kernels.h"
#include "ops/update/arrays.h"
#include "ops/update/call.h"

namespace fovea::ops {

void lion_(Updates updates, const LionOptions& options) {
  const OpLabel op("lion_");
  const UpdateKernels& run = detail::kernels_of(op, updates);
  run.lion(detail::calls_of(op, updates, detail::MomentCount::one,
                            [&](const Update&, const UpdateArrays& arrays, const StepRates& rates) {
                              return LionCall{.arrays = arrays,
                                              .rates = rates,
                                              .b1 = options.beta1,
                                              .c1 = 1 - options.beta1,
                                              .b2 = options.beta2,
                                              .c2 = 1 - options.beta2};
                            }));
  detail::bump_versions(updates, detail::MomentCount::one);
}

}  // namespace fovea::ops
