// A custom op with its derivative: mish(x) = x tanh(softplus(x)). The tape saves x alone instead of
// the intermediate results of three ops. gradcheck() compares the derivative with central
// differences in f64.
#include <fovea/fovea.h>
#include <cstdio>

using namespace fovea;

Tensor mish(const Tensor& input) {
  const OpLabel op("mish");  // errors in the lines below name the op
  const Tensor x = input.detach(), y = x * ops::tanh(ops::softplus(x));  // not recorded
  return record(op, y, /*inputs=*/{input}, /*saved=*/{input}, [](const GradArgs& g) -> Grads {
    const Tensor x = g.saved[0], t = ops::tanh(ops::softplus(x));
    return {g.dy * (t + (x - x * t * t) * ops::sigmoid(x))};
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
