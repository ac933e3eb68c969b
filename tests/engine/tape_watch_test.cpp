// The two events of the tape, and the engine's own watchers of them.
#include "engine/tape_watch.h"

#include <doctest/doctest.h>

#include <chrono>
#include <cmath>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "engine/interruption.h"
#include "engine/node.h"
#include "tests/engine/tiny_ops.h"

using namespace fovea;

namespace {

/// Writes down what it hears: "square" for a recorded op, "d square" for its derivative. Leaves out
/// the copies that the ops here and the tape make.
class Log final : public TapeWatcher {
 public:
  std::vector<std::string> heard;

 private:
  void recorded(const OpLabel& op, std::span<const Tensor> inputs, const Tensor& output) override {
    CHECK(inputs[0].defined());
    CHECK(output.defined());
    if (std::string(op.name()) != "clone") heard.emplace_back(op.name());
  }
  void differentiated(const Node& node, std::span<const Tensor> gradients) override {
    CHECK(gradients.size() == node.inputs.size());
    heard.push_back("d " + std::string(node.name));
  }
};

/// y = x, by a derivative that runs a tape of its own: that of inner^2.
Tensor with_inner_tape(const Tensor& x, const Tensor& inner) {
  return record("outer", x.detach().clone(), {x}, {}, [inner](const GradArgs& g) -> Grads {
    const WithGrad recording;
    backward(square(inner));
    return {g.dy};
  });
}

using Heard = std::vector<std::string>;

}  // namespace

TEST_CASE("each op is heard once as it is recorded, each node once as it is differentiated") {
  const Tensor x = leaf({2});
  Log log;
  const Tensor y = plus(square(x), x);
  backward(square(y));
  CHECK(log.heard == Heard{"square", "plus", "square", "d square", "d plus", "d square"});
}

TEST_CASE("the ops of a derivative's own tape are heard as well") {
  const Tensor x = leaf({2}), inner = leaf({3});
  const Tensor y = with_inner_tape(x, inner);
  Log log;
  backward(y);
  CHECK(log.heard == Heard{"square", "d square", "d outer"});
}

TEST_CASE("ops are heard without gradients and without a derivative, nodes only in backward") {
  const Tensor x = leaf({2});
  Log log;
  {
    const NoGrad not_recording;
    (void)plus(x, x);
  }
  (void)record_constant("compared", x.detach(), {x});
  CHECK(log.heard == Heard{"plus", "compared"});
}

TEST_CASE("a recorded op is heard with its node, a node with gradients that nothing has added") {
  struct Look final : TapeWatcher {
    void recorded(const OpLabel& op, std::span<const Tensor>, const Tensor& output) override {
      if (std::string(op.name()) == "square") name = output.node()->name;
    }
    void differentiated(const Node& node, std::span<const Tensor> gradients) override {
      gradient = gradients[0].item();
      has_added = node.inputs[0].grad().defined();
      is_freed = node.freed;
    }
    std::string name{};
    double gradient = 0;
    bool has_added = true, is_freed = true;
  };
  const Tensor x = leaf({3});
  Look look;
  backward(square(x));
  CHECK(look.name == "square");
  CHECK(look.gradient == 6);
  CHECK_FALSE(look.has_added);
  CHECK_FALSE(look.is_freed);
  CHECK(x.grad().item() == 6);
}

TEST_CASE("all watchers of a thread hear an event, the newest first, until they end") {
  struct Turn final : TapeWatcher {
    Turn(std::string& order, char letter) : order_(order), letter_(letter) {}
    void recorded(const OpLabel&, std::span<const Tensor>, const Tensor&) override {
      order_ += letter_;
    }
    std::string& order_;
    char letter_;
  };
  const Tensor x = leaf({2});
  std::string order;
  const Turn outer(order, 'a');
  {
    const Turn inner(order, 'b');
    (void)x.clone();
    CHECK(order == "ba");
  }
  (void)x.clone();
  CHECK(order == "baa");
}

TEST_CASE("an exception past a watcher leaves the older ones in place") {
  const Tensor x = leaf({1e200});
  Log log;
  CHECK_THROWS_AS(
      [&] {
        const DetectAnomaly detect;
        (void)square(x);
      }(),
      Error);
  log.heard.clear();
  CHECK_NOTHROW((void)square(x));
  CHECK(log.heard == Heard{"square"});
}

TEST_CASE("anomaly detection names the op and the nearest parameter") {
  const Tensor x = leaf({1e200}).set_name("blocks.3.mlp.fc1.weight");
  const DetectAnomaly detect;
  const Tensor fine = plus(x, x);
  CHECK_THROWS_WITH_AS((void)square(fine),
                       "anomaly: the first value that is not finite is in the output of 'square', "
                       "shape [1], near blocks.3.mlp.fc1.weight",
                       Error);
}

TEST_CASE("anomaly detection names the op whose derivative is not finite, before it is added") {
  const Tensor x = leaf({0}).set_name("blocks.3.gamma");
  const Tensor y = record("root", x.detach().clone(), {x}, {}, [](const GradArgs& g) -> Grads {
    return {full({1}, INFINITY, g.dy.options())};
  });
  const Tensor z = square(y);
  {
    const DetectAnomaly off(false);
    CHECK_NOTHROW(backward(z, {}, Tape::kept));
    x.set_grad({});
  }
  const DetectAnomaly detect;
  CHECK_THROWS_WITH_AS(backward(z),
                       "anomaly: the first value that is not finite is in the derivative of "
                       "'root', shape [1], near blocks.3.gamma",
                       Error);
  CHECK_FALSE(x.grad().defined());
}

TEST_CASE("a detection that is off leaves an outer one on") {
  const DetectAnomaly detect;
  const DetectAnomaly off(false);
  CHECK_THROWS_AS((void)record("op", full({1}, NAN), {}, {}, {}), Error);
}

TEST_CASE("anomaly detection sees ops without a derivative too") {
  const DetectAnomaly detect;
  const Tensor x = full({1}, NAN);
  CHECK_THROWS_AS((void)record_constant("compared", x, {x}), Error);
}

TEST_CASE("leaves that ops read are collected, recorded or not") {
  const Tensor a = leaf({2}), b = leaf({3}), c = leaf({5});
  LeafReads all;
  {
    const NoGrad not_recording;
    LeafReads some;
    static_cast<void>(square(square(c)));
    REQUIRE(some.leaves().size() == 1);
    CHECK(some.leaves().front().impl() == c.impl());
  }
  static_cast<void>(plus(a, plus(b, b)));
  static_cast<void>(record_constant("compared", a.detach(), {leaf({7})}));
  CHECK(all.leaves().size() == 4);
}

TEST_CASE(
    "interruptible ops end after one of them, forward and backward, and gradients stay whole") {
  const auto later = [] { std::this_thread::sleep_for(std::chrono::milliseconds(110)); };
  const Tensor x = leaf({3});
  const Tensor y = plus(x, x);
  InterruptibleOps interruptible([] { fail("interrupted"); });
  static_cast<void>(plus(x, x));  // the first looks at the clock alone
  later();
  CHECK_THROWS_WITH_AS(static_cast<void>(plus(x, x)), "interrupted", Error);
  later();
  CHECK_THROWS_WITH_AS(backward(y, {}, Tape::kept), "interrupted", Error);
  CHECK(!x.grad().defined());
  backward(y);
  CHECK(x.grad().item() == 2);
}
