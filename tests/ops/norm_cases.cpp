// Rows of the gradient table for layer, RMS, batch, group and instance norm.
#include "ops/norm.h"

#include "ops/arithmetic.h"
#include "tests/support/op_case.h"

namespace fovea::tests {
namespace {

using X = const std::vector<Tensor>&;

Tensor layer(X x) {
  return ops::layer_norm(x[0], x.size() > 1 ? x[1] : Tensor(), x.size() > 2 ? x[2] : Tensor());
}

OpCases layer_norm_cases() {
  const In constant{{2, 5}, {0.7, 0.7, 0.7, 0.7, 0.7, -3, -3, -3, -3, -3}};
  return {
      {"layer_norm", "weight and bias", {{2, 3, 7}, {7}, {7}}, layer},
      {"layer_norm", "plain", {{5, 11}}, layer},
      {"layer_norm", "weight only", {{5, 11}, {11}}, layer},
      {"layer_norm",
       "bias only",
       {{5, 11}, {11}},
       [](X x) { return ops::layer_norm(x[0], {}, x[1]); }},
      {"layer_norm", "more than four vectors", {{3, 79}, {79}, {79}}, layer},
      {"layer_norm", "more than one chunk of rows", {{131, 5}, {5}, {5}}, layer},
      {"layer_norm", "one row", {{7}, {7}, {7}}, layer},
      {"layer_norm",
       "f32 parameters",
       {{3, 7}, {7}, {7}},
       [](X x) {
         const DType parameters = x[0].dtype() == DType::bf16 ? DType::f32 : x[0].dtype();
         return ops::layer_norm(x[0], x[1].to(parameters), x[2].to(parameters));
       }},
      {"layer_norm",
       "constant rows",
       {constant, {5}, {5}},
       [](X x) { return ops::layer_norm(x[0], x[1], x[2], {1e-2}); }},
      {"layer_norm",
       "large eps",
       {{3, 5}, {5}, {5}},
       [](X x) { return ops::layer_norm(x[0], x[1], x[2], {0.5}); }},
      {"layer_norm",
       "repeated input",
       {{3, 5}, {5}},
       [](X x) { return ops::layer_norm(x[0], x[1], x[1]) * x[0]; }},
      {"layer_norm", "weight and bias per image", {{2, 3, 7}, {2, 7}, {2, 7}}, layer},
      {"layer_norm", "per image, two chunks of rows", {{3, 67, 5}, {3, 5}, {3, 5}}, layer},
      {"layer_norm", "per image, grids of tokens", {{2, 2, 3, 16}, {2, 16}, {2, 16}}, layer},
      {"layer_norm", "per image, one row each", {{5, 7}, {5, 7}, {5, 7}}, layer},
      {"layer_norm",
       "bias per image only",
       {{3, 2, 7}, {3, 7}},
       [](X x) { return ops::layer_norm(x[0], {}, x[1]); }},
      {"layer_norm",
       "per image, f32 parameters",
       {{2, 3, 7}, {2, 7}, {2, 7}},
       [](X x) {
         const DType parameters = x[0].dtype() == DType::bf16 ? DType::f32 : x[0].dtype();
         return ops::layer_norm(x[0], x[1].to(parameters), x[2].to(parameters));
       }},
      {"layer_norm", "per image, no rows", {{2, 0, 5}, {2, 5}, {2, 5}}, layer},
      {"layer_norm", "no images", {{0, 3, 5}, {0, 5}, {0, 5}}, layer},
      {"layer_norm", "no rows", {{0, 5}, {5}, {5}}, layer},
      {"layer_norm", "empty rows", {{3, 0}, {0}, {0}}, layer},
  };
}

Tensor rms(X x) { return ops::rms_norm(x[0], x.size() > 1 ? x[1] : Tensor()); }

OpCases rms_norm_cases() {
  return {
      {"rms_norm", "weight", {{2, 3, 7}, {7}}, rms},
      {"rms_norm", "plain", {{5, 11}}, rms},
      {"rms_norm", "more than four vectors", {{3, 79}, {79}}, rms},
      {"rms_norm", "more than one chunk of rows", {{131, 5}, {5}}, rms},
      {"rms_norm", "vectors of 16 bytes, two chunks", {{67, 8}, {8}}, rms},
      {"rms_norm", "one row", {{7}, {7}}, rms},
      {"rms_norm", "far from zero", {In{{3, 7}, 90, 110}, {7}}, rms},
      {"rms_norm",
       "f32 weight",
       {{3, 7}, {7}},
       [](X x) {
         const DType parameter = x[0].dtype() == DType::bf16 ? DType::f32 : x[0].dtype();
         return ops::rms_norm(x[0], x[1].to(parameter));
       }},
      {"rms_norm",
       "large eps",
       {{3, 5}, {5}},
       [](X x) { return ops::rms_norm(x[0], x[1], {0.5}); }},
      {"rms_norm",
       "repeated input",
       {{3, 5}, {5}},
       [](X x) { return ops::rms_norm(x[0], x[1]) * x[0]; }},
      {"rms_norm", "no rows", {{0, 5}, {5}}, rms},
      {"rms_norm", "empty rows", {{3, 0}, {0}}, rms},
  };
}

In running_mean(std::int64_t channels) { return In{Shape{channels}, -0.5, 0.5}.no_grad(); }
In running_var(std::int64_t channels) { return In{Shape{channels}, 0.5, 1.5}.no_grad(); }

Tensor batch_training(X x) {
  return ops::batch_norm(x[0], {x[1], x[2]}, {x[3], x[4]}, {.training = true});
}
Tensor batch_evaluation(X x) {
  return ops::batch_norm(x[0], {x[1], x[2]}, {x[3], x[4]}, {.training = false});
}

OpCases batch_norm_cases() {
  return {
      {"batch_norm",
       "training, images",
       {{2, 3, 5, 7}, {3}, {3}, running_mean(3), running_var(3)},
       batch_training},
      {"batch_norm",
       "training, vectors",
       {{7, 5}, {5}, {5}, running_mean(5), running_var(5)},
       batch_training},
      {"batch_norm",
       "training, plain",
       {{5, 3, 2}, running_mean(3), running_var(3)},
       [](X x) {
         return ops::batch_norm(x[0], {}, {x[1], x[2]}, {.training = true});
       }},
      {"batch_norm",
       "training, constant channels",
       {In{{3, 2}, {0.7, -3, 0.7, -3, 0.7, -3}}, {2}, {2}, running_mean(2), running_var(2)},
       [](X x) {
         return ops::batch_norm(x[0], {x[1], x[2]}, {x[3], x[4]}, {.training = true, .eps = 1e-2});
       }},
      {"batch_norm",
       "training, relu behind it",
       {{2, 3, 5, 7}, {3}, {3}, running_mean(3), running_var(3)},
       [](X x) {
         return ops::batch_norm(x[0], {x[1], x[2]}, {x[3], x[4]}, {.training = true, .relu = true});
       }},
      {"batch_norm",
       "evaluation, relu behind it",
       {{2, 3, 5, 2}, {3}, {3}, running_mean(3), running_var(3)},
       [](X x) {
         return ops::batch_norm(x[0], {x[1], x[2]}, {x[3], x[4]},
                                {.training = false, .relu = true});
       }},
      {"batch_norm",
       "evaluation, images",
       {{2, 3, 5, 2}, {3}, {3}, running_mean(3), running_var(3)},
       batch_evaluation},
      {"batch_norm",
       "evaluation, one image",
       {{1, 3}, {3}, {3}, running_mean(3), running_var(3)},
       batch_evaluation},
      {"batch_norm",
       "evaluation, no images",
       {{0, 3, 5}, {3}, {3}, running_mean(3), running_var(3)},
       batch_evaluation},
  };
}

OpCases group_norm_cases() {
  return {
      {"group_norm_silu",
       "three groups",
       {{2, 6, 3, 5}, {6}, {6}},
       [](X x) {
         return ops::group_norm_silu(x[0], 3, {x[1], x[2]}, 1e-6);
       }},
      {"group_norm_silu",
       "repeated input",
       {{2, 4, 3}, {4}},
       [](X x) {
         return ops::group_norm_silu(x[0], 2, {x[1], x[1]}) * x[0];
       }},
      {"group_norm_silu",
       "no images",
       {{0, 4, 3}},
       [](X x) { return ops::group_norm_silu(x[0], 2, {}); }},
      {"group_norm",
       "three groups",
       {{2, 6, 5}, {6}, {6}},
       [](X x) {
         return ops::group_norm(x[0], 3, {x[1], x[2]});
       }},
      {"group_norm",
       "one group",
       {{2, 5, 3, 2}, {5}, {5}},
       [](X x) {
         return ops::group_norm(x[0], 1, {x[1], x[2]});
       }},
      {"group_norm", "plain vectors", {{3, 10}}, [](X x) { return ops::group_norm(x[0], 2, {}); }},
      {"group_norm",
       "no images",
       {{0, 4, 3}, {4}, {4}},
       [](X x) {
         return ops::group_norm(x[0], 2, {x[1], x[2]});
       }},
      {"group_norm",
       "empty images",
       {{2, 4, 0}, {4}, {4}},
       [](X x) {
         return ops::group_norm(x[0], 2, {x[1], x[2]});
       }},
      {"instance_norm",
       "images",
       {{2, 3, 5, 7}, {3}, {3}},
       [](X x) { return ops::instance_norm(x[0], x[1], x[2]); }},
      {"instance_norm",
       "more than four vectors",
       {{2, 2, 79}, {2}, {2}},
       [](X x) { return ops::instance_norm(x[0], x[1], x[2]); }},
      {"instance_norm",
       "plain, large eps",
       {{2, 3, 7}},
       [](X x) { return ops::instance_norm(x[0], {}, {}, 0.5); }},
  };
}

}  // namespace

OpCases norm_cases() {
  OpCases all;
  for (const OpCases& family :
       {layer_norm_cases(), rms_norm_cases(), batch_norm_cases(), group_norm_cases()}) {
    all.insert(all.end(), family.begin(), family.end());
  }
  return all;
}

}  // namespace fovea::tests
