// Measurement of the rate of products: the best of short calls, as disturbances only slow a call
// down.
#include "train/plan/product_rate.h"

#include <algorithm>
#include <chrono>
#include <string_view>

#include "engine/autograd.h"
#include "engine/random.h"
#include "models/model.h"
#include "ops/matmul.h"

namespace fovea {
namespace {

using std::chrono::steady_clock;

constexpr std::size_t kMostProducts = 4;
constexpr double kSeconds = 0.05;  ///< for all products
constexpr double kCalls = 6;       ///< of each product, about
constexpr int kMostCalls = 50;     ///< of each product

/// True for a product with a weight matrix; Model::costs() labels the others by their ops.
bool has_weights(const ModuleCost& cost) {
  const std::string_view path = cost.path;
  return cost.multiply_adds > 0 && !path.ends_with("softmax(q k^T) v") && !path.ends_with("matmul");
}

/// The product behind an output [out], [tokens, out] or [out, height, width] of one image.
LayerProduct product_of(const ModuleCost& cost, std::int64_t batch) {
  const std::int64_t out = cost.output.rank() == 3 ? cost.output[0] : cost.output[-1];
  const std::int64_t values = cost.output.numel();
  return {batch * values / out, cost.multiply_adds / values, out};
}

/// Seconds of a call of x w^T. The outputs of all calls are the same memory, as each is freed
/// before the next. A device gets several calls at once, so that it never waits for one.
double seconds_per_call(const Tensor& x, const Tensor& w) {
  const int count = x.device().is_cpu() ? 1 : 16;
  const auto start = steady_clock::now();
  Tensor y;
  for (int i = 0; i < count; ++i) {
    y = Tensor();
    y = ops::linear(x, w);
  }
  static_cast<void>(y.at(0));  // waits for the device
  return std::chrono::duration<double>(steady_clock::now() - start).count() / count;
}

/// The fastest of some calls: three, and further ones until `deadline`, but at most kMostCalls, so
/// that a tiny model starts at once.
double best_seconds(const Tensor& x, const Tensor& w, steady_clock::time_point deadline) {
  double best = seconds_per_call(x, w);
  for (int calls = 1; calls < 3 || (calls < kMostCalls && steady_clock::now() < deadline);
       ++calls) {
    best = std::min(best, seconds_per_call(x, w));
  }
  return best;
}

/// The product with fewer rows, or outputs where these are more, so that it has at most so many
/// FLOP. Inputs are packed once for all rows and outputs: few of either would show the packing.
LayerProduct cut(LayerProduct p, double flop) {
  while (p.flop() > flop && std::max(p.rows, p.out) > 64) {
    std::int64_t& side = p.rows > p.out ? p.rows : p.out;
    side = (side + 1) / 2;
  }
  return p;
}

/// FLOP/s of this product, called until `deadline`.
double rate_until(steady_clock::time_point deadline, const LayerProduct& p, TensorOptions options) {
  const Tensor x = rand_uniform({p.rows, p.in}, {-1, 1}, {1}).to(options.device).to(options.dtype);
  const Tensor w = rand_uniform({p.out, p.in}, {-1, 1}, {2}).to(options.device);
  return p.flop() / best_seconds(x, w, deadline);
}

/// FLOP/s of one product, measured for so many seconds. A small part tells how much of it fits.
double rate_of(const LayerProduct& p, TensorOptions options, double seconds) {
  constexpr double kSmallPart = 3e7;
  const std::chrono::duration<double> time(seconds);
  const auto deadline =
      steady_clock::now() + std::chrono::duration_cast<steady_clock::duration>(time);
  const double rate = rate_until({}, cut(p, kSmallPart), options);
  return rate_until(deadline, cut(p, rate * seconds / kCalls), options);
}

}  // namespace

std::vector<LayerProduct> largest_products(Model& model, std::int64_t batch) {
  std::vector<LayerProduct> products;
  for (const ModuleCost& cost : model.costs()) {
    if (!has_weights(cost)) continue;
    const LayerProduct product = product_of(cost, batch);
    if (std::find(products.begin(), products.end(), product) == products.end()) {
      products.push_back(product);
    }
  }
  std::stable_sort(
      products.begin(), products.end(),
      [](const LayerProduct& a, const LayerProduct& b) { return a.flop() > b.flop(); });
  products.resize(std::min(products.size(), kMostProducts));
  return products;
}

double measured_product_rate(const std::vector<LayerProduct>& products, DType dtype,
                             Device device) {
  const NoGrad no_grad;
  double best = 0;
  for (const LayerProduct& product : products) {
    const double share = kSeconds / static_cast<double>(products.size());
    best = std::max(best, rate_of(product, {dtype, device}, share));
  }
  return best;
}

}  // namespace fovea
