// What ops were asked for, as an export reads it: on the tape and, the same, without gradients.
#include <doctest/doctest.h>

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "engine/autograd.h"
#include "engine/base/text.h"
#include "engine/node.h"
#include "engine/random.h"
#include "engine/trace.h"
#include "ops/ops.h"

using namespace fovea;

namespace {

struct Row {
  std::string expected;  ///< name and attributes
  Shape shape;
  std::function<Tensor(const Tensor&)> run;
};

Tensor kernel(const Shape& shape) { return rand_normal(shape, {0, 1}, {7}); }

const Row kRows[] = {
    {"add b=2", {3}, [](const Tensor& x) { return ops::add(x, 2); }},
    {"add", {3}, [](const Tensor& x) { return ops::add(x, x); }},
    {"gelu form=tanh", {3}, [](const Tensor& x) { return ops::gelu(x, ops::GeluForm::tanh); }},
    {"clamp lo=-1 hi=2", {3}, [](const Tensor& x) { return ops::clamp(x, -1, 2); }},
    {"softmax axis=1", {2, 3, 4}, [](const Tensor& x) { return ops::softmax(x, -2); }},
    {"log_softmax axis=2", {2, 3, 4}, [](const Tensor& x) { return ops::log_softmax(x); }},
    {"reshape shape=[6, 4]",
     {2, 3, 4},
     [](const Tensor& x) {
       return ops::reshape(x, {-1, 4});
     }},
    {"permute order=[2, 0, 1]",
     {2, 3, 4},
     [](const Tensor& x) {
       return ops::permute(x, {-1, 0, 1});
     }},
    {"transpose axes=[1, 2]", {2, 3, 4}, [](const Tensor& x) { return ops::transpose(x, 1, -1); }},
    {"slice axis=1 start=1 stop=3 step=1",
     {2, 3},
     [](const Tensor& x) { return ops::slice(x, -1, -2, 9); }},
    {"select axis=0 index=1", {2, 3}, [](const Tensor& x) { return ops::select(x, 0, -1); }},
    {"expand shape=[4, 2, 3]",
     {2, 3},
     [](const Tensor& x) {
       return ops::expand(x, {4, 2, 3});
     }},
    {"cat axis=1",
     {2, 3},
     [](const Tensor& x) {
       return ops::cat({x, x}, -1);
     }},
    {"pad amounts=[1, 0, 0, 2] value=3",
     {2, 3},
     [](const Tensor& x) {
       return ops::pad(x, std::vector<std::int64_t>{1, 0, 0, 2}, 3);
     }},
    {"roll shift=2 axis=1", {2, 3}, [](const Tensor& x) { return ops::roll(x, -1, 1); }},
    {"mean axes=[0, 2] keepdim=1",
     {2, 3, 4},
     [](const Tensor& x) {
       return ops::mean(x, {0, -1}, true);
     }},
    {"sum axes=[0, 1] keepdim=0", {2, 3}, [](const Tensor& x) { return ops::sum(x); }},
    {"amax axes=[1] keepdim=0", {2, 3}, [](const Tensor& x) { return ops::amax(x, {-1}); }},
    {"l1_normalize axis=1 eps=0.001",
     {2, 3},
     [](const Tensor& x) { return ops::l1_normalize(x, 1, 1e-3); }},
    {"layer_norm eps=1e-05",
     {2, 3},
     [](const Tensor& x) { return ops::layer_norm(x, {}, {}, {1e-5}); }},
    {"rms_norm eps=0.001", {2, 3}, [](const Tensor& x) { return ops::rms_norm(x, {}, {1e-3}); }},
    {"group_norm groups=2 eps=1e-05",
     {2, 4, 3},
     [](const Tensor& x) { return ops::group_norm(x, 2, {}); }},
    {"matmul transpose_a=0 transpose_b=1",
     {2, 3},
     [](const Tensor& x) { return ops::matmul(x, x, {.b = true}); }},
    {"linear",
     {2, 3},
     [](const Tensor& x) {
       return ops::linear(x, kernel({4, 3}), {});
     }},
    {"conv2d stride=[2, 1] padding=[1, 0] dilation=[1, 1] groups=1 kernel=[3, 2]",
     {1, 2, 5, 5},
     [](const Tensor& x) {
       return ops::conv2d(x, kernel({3, 2, 3, 2}), {}, {.stride = {2, 1}, .padding = {1, 0}});
     }},
    {"patch_embed patch=[2, 2]",
     {1, 3, 4, 4},
     [](const Tensor& x) {
       return ops::patch_embed(x, kernel({5, 3, 2, 2}), {});
     }},
    {"max_pool2d kernel=[2, 2] stride=[2, 2] padding=[0, 0] count_include_pad=1",
     {1, 1, 4, 4},
     [](const Tensor& x) {
       return ops::max_pool2d(x, {.kernel = {2, 2}, .stride = {2, 2}});
     }},
    {"self_attention heads=2 scale=0.5",
     {1, 3, 24},
     [](const Tensor& x) { return ops::self_attention(x, 2); }},
    {"self_attention heads=1 scale=0.5 prefix=1 halves=1",
     {1, 3, 12},
     [](const Tensor& x) {
       return ops::self_attention(
           x, 1, {}, {.rotation = {.table = zeros({2, 1, 2, 2}), .prefix = 1, .halves = true}});
     }},
    {"rotate prefix=1 halves=0",
     {1, 1, 3, 4},
     [](const Tensor& x) {
       return ops::rotate(x, {zeros({2, 1, 2, 2}), 1});
     }},
    {"cross_entropy smoothing=0.1",
     {2, 3},
     [](const Tensor& x) {
       return ops::cross_entropy(x, zeros({2}, {DType::i64, {}}), 0.1);
     }},
    {"resize size=[4, 6] mode=bilinear antialias=0",
     {1, 1, 2, 3},
     [](const Tensor& x) {
       return ops::resize(x, {4, 6}, {.mode = ops::ResizeMode::bilinear});
     }},
    {"drop_path rate=0.25",
     {2, 3},
     [](const Tensor& x) { return ops::drop_path(x, 0.25, RandomKey{1}); }},
    {"max axis=1 keepdim=0", {2, 3}, [](const Tensor& x) { return ops::max(x, -1); }},
    {"to dtype=bf16", {2}, [](const Tensor& x) { return x.to(DType::bf16); }},
};

std::string text(std::string_view name, std::span<const OpAttribute> attributes) {
  std::string text(name);
  for (const OpAttribute& attribute : attributes) text += concat(' ', attribute);
  return text;
}

/// The last op that a trace sees, without gradients.
std::string traced(const Row& row) {
  std::string last;
  const NoGrad no_grad;
  const OpTrace trace([&](const TracedOp& op) {
    if (!op.label.is_part()) last = text(op.label.name(), op.label.attributes());
  });
  (void)row.run(kernel(row.shape));
  return last;
}

}  // namespace

TEST_CASE("ops keep what they were asked for, on the tape and without gradients") {
  for (const Row& row : kRows) {
    CAPTURE(row.expected);
    const Tensor y = row.run(kernel(row.shape).set_requires_grad());
    REQUIRE(y.node() != nullptr);
    CHECK(text(y.node()->name, y.node()->attributes) == row.expected);
    CHECK(traced(row) == row.expected);
  }
}

TEST_CASE("ops without a derivative are traced too") {
  std::vector<std::string> seen;
  const OpTrace trace([&](const TracedOp& op) {
    if (!op.label.is_part()) seen.push_back(text(op.label.name(), op.label.attributes()));
  });
  const Tensor x = kernel({2, 3});
  (void)ops::argmax(x, -1);
  (void)ops::argsort(x, 0, true);
  (void)ops::greater(x, x);
  (void)ops::one_hot(zeros({2}, {DType::i64, {}}), 3);
  CHECK(seen == std::vector<std::string>{"argmax axis=1 keepdim=0", "argsort axis=0 descending=1",
                                         "greater", "one_hot classes=3"});
}

TEST_CASE("an MLP in one pass, which has no tape, is traced as one op of its products' cost") {
  const Tensor x = kernel({1024, 8});
  const ops::MlpWeights weights{kernel({16, 8}), {}, kernel({4, 16}), {}};
  std::int64_t cost = 0;
  std::vector<std::string> names;
  const OpTrace trace([&](const TracedOp& op) {
    if (op.label.is_part()) return;
    names.push_back(op.label.name());
    cost += op.label.multiply_adds;
  });
  (void)ops::mlp(x, weights);
  CHECK(names.size() == 1);
  CHECK(cost == 1024 * (8 * 16 + 16 * 4));
}

TEST_CASE("a trace shows the positions that an op reads, and a norm's given statistics") {
  const Tensor x = kernel({2, 3, 4, 5}), ids = zeros({2}, {DType::i64, {}});
  const Tensor mean = kernel({3}), variance = ones({3});
  std::vector<Tensor> read;
  const OpTrace trace([&](const TracedOp& op) {
    if (!op.label.is_part()) read.assign(op.inputs.begin(), op.inputs.end());
  });
  const auto reads = [&](const Tensor& t) {
    return std::any_of(read.begin(), read.end(), [&](const Tensor& r) { return r.is_same(t); });
  };
  (void)ops::index_select(x, 0, ids);
  CHECK(reads(ids));
  (void)ops::embedding(kernel({3, 4}), ids);
  CHECK(reads(ids));
  const Tensor index = zeros({1, 3, 4, 5}, {DType::i64, {}});
  (void)ops::gather(x, 0, index);
  CHECK(reads(index));
  const Tensor buckets = zeros({1, 4, 6}, {DType::i64, {}});
  (void)ops::relative_gather(x, buckets);
  CHECK(reads(buckets));
  (void)ops::relative_sum(kernel({2, 3, 4, 6}), buckets, 7);
  CHECK(reads(buckets));
  (void)ops::batch_norm(x, {}, {mean, variance}, {});
  const std::vector<Tensor> given = read;  // reading values is traced, too
  REQUIRE(given.size() == 5);
  CHECK(given[3].to_vector() == mean.to_vector());
  CHECK(given[4].to_vector() == variance.to_vector());
}

TEST_CASE("a trace shows the positions that topk and sort find, and none of other ops") {
  std::vector<Tensor> further;
  const OpTrace trace([&](const TracedOp& op) {
    if (!op.label.is_part()) further.assign(op.further.begin(), op.further.end());
  });
  const Tensor x = kernel({2, 5});
  const auto [largest, where] = ops::topk(x, 2, 1);
  REQUIRE(further.size() == 1);
  CHECK(further[0].is_same(where));
  const auto [sorted, order] = ops::sort(x, 0);
  REQUIRE(further.size() == 1);
  CHECK(further[0].is_same(order));
  (void)ops::relu(x);
  CHECK(further.empty());
}
