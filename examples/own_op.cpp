// An op of one's own, with its derivative, checked in f64 like every op of fovea: mish(x) =
// x tanh(softplus(x)), composed once and, to save memory, written with its own derivative.
#include <cstdio>

#include "engine/autograd.h"
#include "engine/gradcheck.h"
#include "ops/ops.h"

using namespace fovea;

Tensor mish(const Tensor& x) {
  const OpLabel op("mish");  // first: errors in what follows name it
  Tensor y;
  {
    const NoGrad no_grad;  // keep x alone, not the parts
    y = x * ops::tanh(ops::softplus(x));
  }
  return record(op, y, {x}, {x}, [](const GradArgs& g) -> Grads {
    const Tensor& x = g.saved[0];
    const Tensor t = ops::tanh(ops::softplus(x));
    return {g.dy * (t + x * (ops::add(ops::neg(t * t), 1.0)) * ops::sigmoid(x))};
  });
}

int main() {
  const Tensor x = rand_normal({3, 5}, {0, 2}, {1}, {DType::f64, {}}).set_requires_grad();
  const GradcheckResult result =
      gradcheck([](const std::vector<Tensor>& in) { return mish(in[0]); }, {x});
  std::printf("mish: %lld derivatives, worst error %.1e: %s\n",
              static_cast<long long>(result.entries), result.worst,
              result.ok ? "PASS" : result.message.c_str());
  return result.ok ? 0 : 1;
}
