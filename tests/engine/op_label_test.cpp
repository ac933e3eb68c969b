// What is known of an op besides its tensors: attributes, the name that errors use, and traces.
#include "engine/op_label.h"

#include <doctest/doctest.h>

#include <array>
#include <string>
#include <vector>

#include "engine/autograd.h"
#include "engine/base/text.h"
#include "engine/node.h"
#include "engine/trace.h"
#include "tests/support/errors.h"

using namespace fovea;

namespace {

struct NoCall {};

/// What a missing kernel says.
std::string missing() {
  try {
    Kernel<NoCall>{}({});
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

/// y = x, made by an op of its own and one within it. `seen`: what a missing kernel says in its
/// derivative.
Tensor outer(const Tensor& x, std::string* seen = nullptr) {
  const OpLabel op("outer", {{"axis", 1}, {"eps", 0.5}});
  const Tensor inner = record({"inner"}, x.detach().clone(), {x.detach()}, {}, nullptr);
  return record(op, inner, {x}, {}, [seen](const GradArgs& g) -> Grads {
    if (seen != nullptr) *seen = missing();
    return {g.dy};
  });
}

struct Seen {
  std::string name, attributes;
  bool is_part;
  std::vector<Tensor> inputs;
  Tensor output;
};

std::vector<Seen> traced(const Tensor& x) {
  std::vector<Seen> seen;
  const OpTrace trace([&](const TracedOp& op) {
    std::string attributes;
    for (const OpAttribute& attribute : op.label.attributes()) {
      attributes += concat(attribute, ' ');
    }
    seen.push_back({op.label.name(),
                    attributes,
                    op.label.is_part(),
                    {op.inputs.begin(), op.inputs.end()},
                    op.output});
    (void)op.output.clone();  // is not told
  });
  (void)outer(outer(x));
  return seen;
}

}  // namespace

TEST_CASE("attributes are numbers, words and lists, and say which when asked for another") {
  const OpLabel op("x", {{"axis", -1},
                         {"keep", true},
                         {"eps", 1e-6},
                         {"form", "erf"},
                         {"stride", std::array<std::int64_t, 2>{2, 3}},
                         {"shape", Shape{}}});
  std::vector<std::string> texts;
  for (const OpAttribute& attribute : op.attributes()) texts.push_back(concat(attribute));
  CHECK(texts == std::vector<std::string>{"axis=-1", "keep=1", "eps=1e-06", "form=erf",
                                          "stride=[2, 3]", "shape=[]"});
  CHECK(op.attributes()[0].integer() == -1);
  CHECK(op.attributes()[2].real() == 1e-6);
  CHECK(op.attributes()[3].text() == "erf");
  CHECK(op.attributes()[4].integers()[1] == 3);
  CHECK(op.attributes()[0].integers().size() == 1);
  tests::check_error([&] { (void)op.attributes()[0].real(); }, "attribute axis");
  tests::check_error([&] { (void)op.attributes()[2].integers(); }, "attribute eps");
  tests::check_error([] { (void)OpAttribute("many", std::array<int, 13>{}); }, "at most 12");
  tests::check_error(
      [] {
        OpLabel full("full");
        for (int i = 0; i < 9; ++i) full.set({"axis", i});
      },
      "more than 8 attributes");
}

TEST_CASE("a missing kernel names the op that was called and the place that lacks it") {
  kernels_place() = "the CPU with v9";
  CHECK(missing() == "this kernel is not implemented on the CPU with v9");
  const RunningOp called("log_softmax");
  CHECK(missing() == "log_softmax is not implemented on the CPU with v9");
  {
    const OpLabel part("softmax");
    CHECK(part.is_part());
    CHECK(missing() == "log_softmax is not implemented on the CPU with v9");
    const WithGrad apart;
    CHECK(missing() == "this kernel is not implemented on the CPU with v9");
  }
  CHECK(missing() == "log_softmax is not implemented on the CPU with v9");
}

TEST_CASE("derivatives run under the name of their op, whoever asked for them") {
  std::string seen;
  const Tensor y = outer(ones({2}).set_requires_grad(), &seen);
  const RunningOp caller("recompute");
  backward(y, ones({2}));
  CHECK(seen.starts_with("outer is not implemented on "));
}

TEST_CASE("the tape keeps an op's attributes") {
  const Tensor y = outer(ones({2}).set_requires_grad());
  REQUIRE(y.node() != nullptr);
  CHECK(y.node()->name == "outer");
  REQUIRE(y.node()->attributes.size() == 2);
  CHECK(y.node()->attributes[0].integer() == 1);
  CHECK(y.node()->attributes[1].real() == 0.5);
}

TEST_CASE("a trace sees the same ops with and without gradients, until it ends") {
  for (const bool wants_gradient : {false, true}) {
    CAPTURE(wants_gradient);
    const Tensor x = ones({2});
    if (wants_gradient) x.set_requires_grad();
    const std::vector<Seen> seen = traced(x);
    std::vector<std::string> names;
    for (const Seen& op : seen) {
      if (!op.is_part) names.push_back(op.name + " " + op.attributes);
    }
    CHECK(names == std::vector<std::string>{"outer axis=1 eps=0.5 ", "outer axis=1 eps=0.5 "});
    CHECK(seen.front().name == "clone");
    CHECK(seen.front().is_part);
    const Seen& last = seen.back();
    REQUIRE(last.inputs.size() == 1);
    CHECK(last.inputs[0].is_same(seen[seen.size() / 2 - 1].output));
  }
  CHECK(!is_tracing());
}
