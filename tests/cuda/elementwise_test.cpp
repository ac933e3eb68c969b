// The elementwise kernel on the emulator: strides, broadcasting, dtypes, and each functor's CUDA
// form against its own call on the host.
#include "ops/elementwise/elementwise.cu"

#include <doctest/doctest.h>

#include <vector>

using namespace fovea;
using namespace fovea::ops::cuda;

namespace {

ops::MapCall flat(std::int64_t count, const void* in, DType dtype, void* out) {
  ops::MapCall call;
  call.axes.rank = 1;
  call.axes.count = count;
  call.axes.shape[0] = count;
  call.axes.strides[0][0] = 1;
  call.in[0] = in;
  call.in_dtype[0] = dtype;
  call.out = out;
  call.out_dtype = dtype;
  return call;
}

/// The functor's kernel in compute type A.
template <class A, class F>
void run(const F& functor, ops::MapCall call) {
  call.functor_id = ops::detail::functor_id<F>;
  call.functor = &functor;
  call.compute = dtype_of<A>;
  elementwise_kernels.map(call);
}

}  // namespace

TEST_CASE("a unary functor runs over more elements than one block has threads") {
  std::vector<double> x(1000), y(1000);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = 0.01 * static_cast<double>(i) - 5;
  const ops::detail::Gelu gelu;
  run<double>(gelu, flat(1000, x.data(), DType::f64, y.data()));
  for (std::size_t i = 0; i < x.size(); ++i) CHECK(y[i] == gelu(x[i]));
}

TEST_CASE("operands broadcast, convert and stride") {
  const std::vector<float> a{1, 2, 3};
  const std::vector<bf16> b{bf16(10.0f), bf16(20.0f)};
  std::vector<float> y(6);
  ops::MapCall args = flat(6, a.data(), DType::f32, y.data());
  args.axes.rank = 2;
  args.axes.shape[0] = 2;
  args.axes.shape[1] = 3;
  args.axes.strides[0][0] = 0;
  args.axes.strides[0][1] = 1;
  args.in[1] = b.data();
  args.in_dtype[1] = DType::bf16;
  args.axes.strides[1][0] = 1;
  args.axes.strides[1][1] = 0;
  const ops::detail::Add add;
  run<float>(add, args);
  CHECK(y == std::vector<float>{11, 12, 13, 21, 22, 23});
}

TEST_CASE("bf16 results are rounded from f32") {
  const std::vector<bf16> x{bf16(1.0f), bf16(-2.5f)};
  std::vector<bf16> y(2);
  const ops::detail::Sigmoid sigmoid;
  run<float>(sigmoid, flat(2, x.data(), DType::bf16, y.data()));
  CHECK(y[0].bits == bf16(sigmoid(1.0f)).bits);
  CHECK(y[1].bits == bf16(sigmoid(-2.5f)).bits);
}
