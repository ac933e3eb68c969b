// Times deformable_attention for bench/deformable_bench.py, which drives it through stdin to
// alternate with the peer. The answer to a line "B h w H D Q P train" is the milliseconds of one
// repetition; to a line "check FILE" nothing: the inputs, the output and the gradients of the
// last workload are written to FILE.
#include <array>
#include <chrono>
#include <iostream>
#include <sstream>
#include <string>

#include "engine/autograd.h"
#include "engine/cpu_isa.h"
#include "engine/formats/safetensors.h"
#include "engine/parallel.h"
#include "engine/random.h"
#include "ops/deformable.h"
#include "ops/softmax.h"

namespace {

using namespace fovea;

struct Workload {
  std::int64_t batch, height, width, heads, channels, queries, points;
  int train;
};

/// Leaves, and the output's gradient.
struct Inputs {
  Tensor value, locations, weights, dy;
};

Inputs make_inputs(const Workload& w) {
  const auto [B, H, P, Q] = std::array{w.batch, w.heads, w.points, w.queries};
  Inputs in{rand_normal({B, w.height, w.width, H, w.channels}, {0, 1}, {1}),
            rand_uniform({B, Q, H, P, 2}, {-0.05, 1.05}, {2}),
            ops::softmax(rand_normal({B, Q, H, P}, {0, 1}, {3})),
            rand_normal({B, Q, H * w.channels}, {0, 1}, {4})};
  for (const Tensor& leaf : {in.value, in.locations, in.weights}) leaf.set_requires_grad();
  return in;
}

Tensor step(const Workload& w, const Inputs& in) {
  if (w.train == 0) {
    const NoGrad no_grad;
    return ops::deformable_attention(in.value, in.locations, in.weights);
  }
  for (const Tensor& leaf : {in.value, in.locations, in.weights}) leaf.set_grad({});
  const Tensor y = ops::deformable_attention(in.value, in.locations, in.weights);
  backward(y, in.dy);
  return y;
}

void write_check(const std::string& path, const Workload& w, const Inputs& in) {
  Workload trained = w;
  trained.train = 1;
  const Tensor y = step(trained, in);
  write_safetensors(path, {{"value", in.value.detach()},
                           {"locations", in.locations.detach()},
                           {"weights", in.weights.detach()},
                           {"dy", in.dy},
                           {"y", y.detach()},
                           {"dvalue", in.value.grad()},
                           {"dlocations", in.locations.grad()},
                           {"dweights", in.weights.grad()}});
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1) set_num_threads(std::stoi(argv[1]));
  std::cout << "isa " << to_string(cpu_isa()) << " threads " << num_threads() << std::endl;
  Workload w{};
  Inputs in;
  std::string line, before;
  while (std::getline(std::cin, line)) {
    if (line.starts_with("check ")) {
      write_check(line.substr(6), w, in);
      std::cout << "written" << std::endl;
      continue;
    }
    std::istringstream(line) >> w.batch >> w.height >> w.width >> w.heads >> w.channels >>
        w.queries >> w.points >> w.train;
    if (line != before) in = make_inputs(w);
    before = line;
    const auto start = std::chrono::steady_clock::now();
    (void)step(w, in);
    const std::chrono::duration<double, std::milli> time = std::chrono::steady_clock::now() - start;
    std::cout << time.count() << std::endl;
  }
}
