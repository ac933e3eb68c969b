// When the gradients of leaves are announced as complete.
#include "engine/completion.h"

#include <doctest/doctest.h>

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "engine/node.h"
#include "tests/engine/tiny_ops.h"

using namespace fovea;

TEST_CASE("a gradient is announced once nothing on the tape can add to it") {
  const Tensor early = leaf({2}), twice = leaf({3}), last = leaf({5}), unused = leaf({7});
  const Tensor first = plus(square(early), twice), second = plus(square(first), twice);
  const Tensor y = plus(square(second), last);
  std::vector<std::pair<const TensorImpl*, double>> announced;
  const OnCompleteGradient listening([&](const Tensor& complete) {
    announced.emplace_back(complete.impl().get(), complete.grad().item());
  });
  backward(y);
  REQUIRE(announced.size() == 3);
  for (std::size_t i = 0; const Tensor& expected : {last, twice, early}) {
    CHECK(announced[i].first == expected.impl().get());
    CHECK(announced[i++].second == expected.grad().item());
  }
}

TEST_CASE("leaves of a derivative's own tape are announced after it, unless they are read before") {
  const Tensor x = leaf({2}), inner = leaf({3}), shared = leaf({5});
  const auto recomputed = [&](const Tensor& input) {
    return record("inner", input.detach().clone(), {input}, {}, [&](const GradArgs& g) -> Grads {
      const WithGrad recording;
      backward(plus(square(inner), square(shared)));
      return {g.dy};
    });
  };
  const Tensor below = plus(x, shared), y = recomputed(below);
  declare_inner_leaves(y, {inner, shared});
  std::map<const TensorImpl*, double> announced;
  const OnCompleteGradient listening([&](const Tensor& complete) {
    CHECK(announced.emplace(complete.impl().get(), complete.grad().item()).second);
  });
  backward(plus(y, inner));
  const std::map<const TensorImpl*, double> expected{
      {x.impl().get(), 1}, {inner.impl().get(), 7}, {shared.impl().get(), 11}};
  CHECK(announced == expected);
}

TEST_CASE("a frozen leaf of a derivative's own tape is not announced") {
  const Tensor x = leaf({2}), inner = leaf({3});
  const Tensor y = record("inner", x.detach().clone(), {x}, {},
                          [](const GradArgs& g) -> Grads { return {g.dy}; });
  declare_inner_leaves(y, {inner});
  inner.set_requires_grad(false);
  std::vector<const TensorImpl*> announced;
  const OnCompleteGradient listening(
      [&](const Tensor& complete) { announced.push_back(complete.impl().get()); });
  backward(y);
  CHECK(announced == std::vector<const TensorImpl*>{x.impl().get()});
}

TEST_CASE("a tape inside a derivative announces nothing of its own") {
  const Tensor x = leaf({2}), inner = leaf({3});
  const Tensor y = record("inner", x.detach().clone(), {x}, {}, [&](const GradArgs& g) -> Grads {
    const WithGrad recording;
    backward(square(inner));  // `inner` is not declared by declare_inner_leaves()
    return {g.dy};
  });
  std::vector<const TensorImpl*> announced;
  const OnCompleteGradient listening(
      [&](const Tensor& complete) { announced.push_back(complete.impl().get()); });
  backward(y);
  CHECK(announced == std::vector<const TensorImpl*>{x.impl().get()});
  CHECK(inner.grad().item() == 6);
  backward(square(inner));  // outside of a derivative it is announced again
  CHECK(announced.back() == inner.impl().get());
}

TEST_CASE("a leaf is announced when the node that read it first is freed, or kept if asked") {
  for (const Tape tape : {Tape::freed, Tape::kept}) {
    const Tensor x = leaf({2}), y = square(x);
    int announced = 0;
    const OnCompleteGradient listening([&](const Tensor&) {
      ++announced;
      CHECK(y.node()->freed == (tape == Tape::freed));
    });
    backward(y, {}, tape);
    CHECK(announced == 1);
  }
}

TEST_CASE("the innermost listener hears alone; an exception restores the outer one") {
  const Tensor x = leaf({2});
  int outer = 0, inner = 0;
  const OnCompleteGradient outermost([&](const Tensor&) { ++outer; });
  const auto refuse = [&](const Tensor&) {
    ++inner;
    fail("refused");
  };
  try {
    const OnCompleteGradient innermost(refuse);
    backward(square(x));
    CHECK(false);
  } catch (const Error& error) {
    CHECK(std::string(error.what()) == "refused");
  }
  CHECK(outer == 0);
  backward(square(x));
  CHECK(outer == 1);
  CHECK(inner == 1);
}

TEST_CASE("a derivative that throws does not leave later walks silent") {
  const Tensor x = leaf({2});
  int announced = 0;
  const OnCompleteGradient listening([&](const Tensor&) { ++announced; });
  const Tensor y = record("broken", x.detach().clone(), {x}, {},
                          [](const GradArgs&) -> Grads { fail("broken"); });
  CHECK_THROWS_AS(backward(y), Error);
  CHECK(announced == 0);
  backward(square(x));
  CHECK(announced == 1);
}
