// Fits y = X w + b by gradient descent with tensors, the tape and a hand-written update.
#include <fovea/fovea.h>
#include <cstdio>

using namespace fovea;

int main() {
  const Tensor x = rand_normal({256, 3}, {0, 1}, {.seed = 1});  // [N, 3]
  const Tensor true_w = from_values({3, 1}, {2.0, -1.0, 0.5});  // [3, 1]
  const Tensor y = ops::matmul(x, true_w) + 0.25;               // [N, 1]

  const Tensor w = zeros({3, 1}).set_requires_grad();
  const Tensor b = zeros({1}).set_requires_grad();
  for (int step = 0; step <= 100; ++step) {
    const Tensor loss = ops::mse(ops::matmul(x, w) + b, y);
    backward(loss);
    const NoGrad no_grad;  // the tape does not record the update
    for (const Tensor& parameter : {w, b}) {
      parameter.copy_(parameter - 0.1 * parameter.grad());
      parameter.set_grad({});
    }
    if (step % 20 == 0) std::printf("step %3d  loss %.6f\n", step, loss.item());
  }
  std::printf("w = %.3f %.3f %.3f, b = %.3f\n", w.at(0), w.at(1), w.at(2), b.item());
  const bool found = std::abs(w.at(0) - 2) < 1e-2 && std::abs(b.item() - 0.25) < 1e-2;
  return found ? 0 : 1;
}
