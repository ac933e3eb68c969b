// Spans of ops, derivatives and stages, and what becomes of them.
#include "engine/profile.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <thread>

#include "engine/autograd.h"
#include "tests/support/errors.h"

using namespace fovea;

namespace {

/// y = 2 x, whose derivative records an op of its own.
Tensor twice(const Tensor& x) {
  const Tensor y = x.clone();
  return record("twice", y, {x}, {}, [](const GradArgs& g) -> Grads {
    return {record("inner", g.dy.clone(), {}, {}, nullptr)};
  });
}

std::vector<ProfileSpan> profiled_step() {
  const Profile profile;
  const Tensor x = ones({2, 3}).set_requires_grad();
  {
    const ProfileScope scope("step", "stage");
    backward(twice(twice(x)), ones({2, 3}));
  }
  std::thread([] { const ProfileScope scope("batch", "stage"); }).join();
  return profile.spans();
}

std::int64_t count(const std::vector<ProfileSpan>& spans, std::string_view name,
                   std::string_view category) {
  return std::count_if(spans.begin(), spans.end(), [&](const ProfileSpan& s) {
    return s.name == name && s.category == category;
  });
}

}  // namespace

TEST_CASE("a profile holds forward ops, derivatives and stages, nested in time, by thread") {
  const std::vector<ProfileSpan> spans = profiled_step();
  CHECK(count(spans, "twice", "forward") == 2);
  CHECK(count(spans, "twice", "backward") == 2);
  CHECK(count(spans, "inner", "nested") == 2);
  CHECK(count(spans, "inner", "forward") == 0);
  const auto stage = std::find_if(spans.begin(), spans.end(),
                                  [](const ProfileSpan& s) { return s.name == "step"; });
  REQUIRE(stage != spans.end());
  for (const ProfileSpan& s : spans) {
    CHECK(s.seconds >= 0);
    if (s.name == "batch") {
      CHECK(s.thread == 1);
      continue;
    }
    CHECK(s.thread == 0);
    CHECK(s.start >= stage->start);
    CHECK(s.start + s.seconds <= stage->start + stage->seconds);
  }
  CHECK(std::is_sorted(spans.begin(), spans.end(),
                       [](const auto& a, const auto& b) { return a.start < b.start; }));
}

TEST_CASE("nothing is kept without a profile, and a second one at a time is refused") {
  { const ProfileScope scope("unseen", "stage"); }
  twice(ones({2}).set_requires_grad());
  const Profile profile;
  CHECK(profile.spans().empty());
  tests::check_error([] { const Profile second; }, "one at a time");
}

TEST_CASE("the trace is Chrome's format, in microseconds") {
  const std::vector<ProfileSpan> spans{{"matmul", "forward", "[2, 3] f32", 1, 0.5, 0.25}};
  const auto trace = nlohmann::json::parse(chrome_trace(spans));
  const auto& event = trace["traceEvents"][0];
  CHECK(event["name"] == "matmul");
  CHECK(event["ph"] == "X");
  CHECK(event["ts"] == 500000.0);
  CHECK(event["dur"] == 250000.0);
  CHECK(event["tid"] == 1);
  CHECK(event["args"]["output"] == "[2, 3] f32");
}

TEST_CASE("the table sums both directions per op, longest first, and does not count stages") {
  const std::vector<ProfileSpan> spans{{"gelu", "forward", "", 0, 0, 0.010},
                                       {"linear", "forward", "", 0, 0, 0.020},
                                       {"linear", "forward", "", 0, 0, 0.020},
                                       {"linear", "backward", "", 0, 0, 0.050},
                                       {"step", "stage", "", 0, 0, 1}};
  const std::string table = profile_table(spans, 1);
  CHECK(table.find("linear                        2        40.00        50.00   90.0%") !=
        std::string::npos);
  CHECK(table.find("the other 1                   1        10.00         0.00   10.0%") !=
        std::string::npos);
  CHECK(table.find("step") == std::string::npos);
}
