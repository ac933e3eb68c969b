// The table of ops in golden files and their functions here.
#include <algorithm>
#include <functional>

#include "ops/ops.h"
#include "tests/parity/op_call.h"

namespace fovea::golden {
namespace {

using nlohmann::json;

void conv2d(OpCall& c) {
  ops::Conv2dOptions o;
  o.stride = c.pair("stride", o.stride, 1);
  o.padding = c.pair("padding", o.padding, 0);
  o.dilation = c.pair("dilation", o.dilation, 1);
  o.groups = c.integer("groups", 1, 1);
  const bool bias = c.flag("bias", true);
  c.result("y", ops::conv2d(c.activation("x"), c.value("w"), bias ? c.value("b") : Tensor(), o));
}

void layer_norm(OpCall& c) {
  const bool affine = c.flag("affine", true);
  const Tensor weight = affine ? c.value("w") : Tensor(), bias = affine ? c.value("b") : Tensor();
  c.result("y", ops::layer_norm(c.activation("x"), weight, bias, {c.real("eps", 1e-5)}));
}

void rms_norm(OpCall& c) {
  c.result("y", ops::rms_norm(c.activation("x"), c.optional_value("w"), {c.real("eps", 1e-6)}));
}

void batch_norm(OpCall& c) {
  ops::BatchNormOptions o;
  o.training = c.flag("training", o.training);
  o.momentum = c.real("momentum", o.momentum);
  o.eps = c.real("eps", o.eps);
  const Tensor mean = c.value("running_mean"), variance = c.value("running_var");
  c.result("y", ops::batch_norm(c.activation("x"), {c.optional_value("w"), c.optional_value("b")},
                                {mean, variance}, o));
  c.result("running_mean", mean);
  c.result("running_var", variance);
}

/// Instance norm is a separate function for one group per channel.
void group_norm(OpCall& c) {
  const std::int64_t groups = c.integer("groups", 1, 1);
  const double eps = c.real("eps", 1e-5);
  const Tensor x = c.activation("x"), w = c.optional_value("w"), b = c.optional_value("b");
  c.result("y", groups == x.size(1) ? ops::instance_norm(x, w, b, eps)
                                    : ops::group_norm(x, groups, {w, b}, eps));
}

void gelu(OpCall& c) {
  const bool exact = c.choice("approximate", {"none", "tanh"}) == "none";
  c.result("y", ops::gelu(c.activation("x"), exact ? ops::GeluForm::erf : ops::GeluForm::tanh));
}

int axis(OpCall& c) { return static_cast<int>(c.integer("dim", -1, -6)); }

void l1_normalize(OpCall& c) {
  c.result("y", ops::l1_normalize(c.activation("x"), axis(c), c.real("eps", 1e-12)));
}

// Softmax and losses are computed in f32 at any precision, so their inputs are not rounded: bf16
// cannot distinguish two logits near 300, which would not be an error of the op.
void softmax(OpCall& c) { c.result("y", ops::softmax(c.value("x"), axis(c))); }
void log_softmax(OpCall& c) { c.result("y", ops::log_softmax(c.value("x"), axis(c))); }

void cross_entropy(OpCall& c) {
  const std::string kind = c.choice("kind", {"hard", "smoothing", "soft"});
  const double smoothing = c.real("smoothing", 0);
  const Tensor x = c.value("x"), target = c.value("target");
  c.result("y", kind == "soft"
                    ? ops::soft_cross_entropy(x, target)
                    : ops::cross_entropy(x, target, kind == "smoothing" ? smoothing : 0));
}

void kl_div(OpCall& c) {
  c.result("y", ops::soft_distillation(c.value("x"), c.value("target"), c.real("tau", 1)));
}

void mse(OpCall& c) { c.result("y", ops::mse(c.value("x"), c.value("target"))); }

void resize(OpCall& c) {
  const bool bicubic = c.choice("mode", {"bicubic", "bilinear"}) == "bicubic";
  const ops::ResizeOptions o{bicubic ? ops::ResizeMode::bicubic : ops::ResizeMode::bilinear,
                             c.flag("antialias", false)};
  c.result("y", ops::resize(c.activation("x"), c.pair("size", {1, 1}, 1), o));
}

void resample_abs_pos_embed(OpCall& c) {
  const ops::ResizeOptions o{ops::ResizeMode::bicubic, c.flag("antialias", true)};
  const std::int64_t prefix = c.integer("prefix", 1, 0);
  const auto before = c.pair("old", {1, 1}, 1), after = c.pair("new", {1, 1}, 1);
  c.result("y", ops::resample_pos_embed(c.activation("x"), prefix, before, after, o));
}

ops::Pool2dOptions pool_options(OpCall& c) {
  ops::Pool2dOptions o;
  o.kernel = c.pair("kernel", o.kernel, 1);
  o.stride = c.pair("stride", o.kernel, 1);
  o.padding = c.pair("padding", o.padding, 0);
  return o;
}

void avg_pool2d(OpCall& c) {
  ops::Pool2dOptions o = pool_options(c);
  o.count_include_pad = c.flag("count_include_pad", true);
  c.result("y", ops::avg_pool2d(c.activation("x"), o));
}

void max_pool2d(OpCall& c) { c.result("y", ops::max_pool2d(c.activation("x"), pool_options(c))); }

/// Axis by axis, from the last: the mean of equally sized means is the overall mean.
void mean(OpCall& c) {
  const bool keepdim = c.flag("keepdim", false);
  Tensor y = c.activation("x");
  std::vector<int> axes = c.integers("dims");
  for (int& a : axes) a = normalize_axis("mean", a, y.rank());
  std::sort(axes.rbegin(), axes.rend());
  for (const int a : axes) y = ops::mean(y, {a}, keepdim);
  c.result("y", y);
}

/// The op takes its axes as an initializer list: none (all axes), one or two.
Tensor amax_of(const Tensor& x, const std::vector<int>& axes, bool keepdim) {
  check(axes.size() <= 2, "amax: got ", axes.size(), " dims, expected up to 2");
  if (axes.empty()) return ops::amax(x, {}, keepdim);
  return axes.size() == 1 ? ops::amax(x, {axes[0]}, keepdim)
                          : ops::amax(x, {axes[0], axes[1]}, keepdim);
}

void amax(OpCall& c) {
  const bool keepdim = c.flag("keepdim", false);
  const std::vector<int> axes = c.integers("dims");
  c.result("y", amax_of(c.activation("x"), axes, keepdim));
}

void attention(OpCall& c) {
  const bool bias = c.flag("bias", false);
  c.result("y", ops::attention(c.activation("q"), c.activation("k"), c.activation("v"),
                               bias ? c.value("bias") : Tensor(), {c.real("scale", 0)}));
}

void embedding(OpCall& c) { c.result("y", ops::embedding(c.value("w"), c.value("ids"))); }

void gather(OpCall& c) { c.result("y", ops::gather(c.activation("x"), axis(c), c.value("index"))); }

void linear(OpCall& c) {
  c.result("y", ops::linear(c.activation("input"), c.value("weight"), c.optional_value("bias")));
}

void matmul(OpCall& c) { c.result("y", ops::matmul(c.activation("input"), c.activation("other"))); }

using Handler = std::function<void(OpCall&)>;

const std::map<std::string, Handler>& handlers() {
  static const std::map<std::string, Handler> table{
      {"amax", amax},
      {"attention", attention},
      {"avg_pool2d", avg_pool2d},
      {"batch_norm", batch_norm},
      {"conv2d", conv2d},
      {"cross_entropy", cross_entropy},
      {"embedding", embedding},
      {"gather", gather},
      {"gelu", gelu},
      {"group_norm", group_norm},
      {"kl_div", kl_div},
      {"l1_normalize", l1_normalize},
      {"layer_norm", layer_norm},
      {"linear", linear},
      {"log_softmax", log_softmax},
      {"matmul", matmul},
      {"max_pool2d", max_pool2d},
      {"mean", mean},
      {"mse", mse},
      {"quick_gelu", [](OpCall& c) { c.result("y", ops::quick_gelu(c.activation("x"))); }},
      {"relu", [](OpCall& c) { c.result("y", ops::relu(c.activation("x"))); }},
      {"resample_abs_pos_embed", resample_abs_pos_embed},
      {"resize", resize},
      {"rms_norm", rms_norm},
      {"sigmoid", [](OpCall& c) { c.result("y", ops::sigmoid(c.activation("x"))); }},
      {"silu", [](OpCall& c) { c.result("y", ops::silu(c.activation("x"))); }},
      {"softmax", softmax},
      {"tanh", [](OpCall& c) { c.result("y", ops::tanh(c.activation("x"))); }},
  };
  return table;
}

void check_case(Case& c, const json& arguments) {
  OpCall call(c, arguments);
  check(arguments.contains("op") && arguments["op"].is_string(), "case ", call.name(),
        " has no op");
  const std::string op = arguments["op"].get<std::string>();
  static_cast<void>(call.arguments.read_name("op", {op}, op));
  const auto handler = handlers().find(op);
  check(handler != handlers().end(), "case ", call.name(), ": op ", op, " is unknown");
  handler->second(call);
  call.compare();
}

}  // namespace

void check_ops(Case& c) {
  check(c.config.size() == 1 && c.config.contains("cases") && c.config["cases"].is_array(),
        "config: expected {\"cases\": [...]}");
  for (const json& arguments : c.config["cases"]) check_case(c, arguments);
}

}  // namespace fovea::golden
