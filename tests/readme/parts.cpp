// The op and the table of README.md: the op's derivative is checked, each row of the table is run.
#include <fovea/fovea.h>
#include <unistd.h>
#include <cstdio>
#include <filesystem>

using namespace fovea;

#include "op.h"

namespace {

template <class... Values>
void use(const Values&... /*values*/) {}

bool op_is_right() {
  const Tensor x = rand_normal({3, 5}, {0, 2}, {1}, {DType::f64, {}}).set_requires_grad();
  const Tensor y = x * ops::tanh(ops::softplus(x)), same = mish(x);
  const GradcheckResult result =
      gradcheck([](const std::vector<Tensor>& in) { return mish(in[0]); }, {x});
  std::printf("%s\n", result.ok ? "derivative ok" : result.message.c_str());
  return result.ok && y.to_vector() == same.to_vector() && same.node()->name == "mish";
}

/// The loss and the file of weights show that the rows did something.
bool table_is_right(const std::string& path) {
  const std::string name = "vit_tiny_patch8_32";
  const Tensor labels = arange(8);
  const Tensor q = rand_normal({2, 3, 4, 5}, {0, 1}, {.seed = 2}), k = q.clone(), v = q.clone();
  Context ctx;
#include "sheet.h"
  std::printf("loss %.3f\n", loss.item());
  return loss.item() > 1 && std::filesystem::remove(path);
}

}  // namespace

int main() {
  const std::filesystem::path path =
      std::filesystem::temp_directory_path() /
      ("fovea-readme-" + std::to_string(::getpid()) + ".safetensors");
  return op_is_right() && table_is_right(path.string()) ? 0 : 1;
}
