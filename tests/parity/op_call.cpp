// Inputs, results and gradients of one golden case of an op.
#include "tests/parity/op_call.h"

#include "engine/autograd.h"

namespace fovea::golden {
namespace {

std::string case_name(const nlohmann::json& arguments) {
  check(arguments.is_object() && arguments.contains("name") && arguments["name"].is_string(),
        "config: a case has no name");
  return arguments["name"].get<std::string>();
}

}  // namespace

OpCall::OpCall(Case& c, const nlohmann::json& values)
    : arguments("case " + case_name(values), values), case_(c), name_(case_name(values)) {
  static_cast<void>(arguments.read_name("name", {name_}, name_));
}

Tensor OpCall::activation(const std::string& argument) {
  return input(argument, case_.options.activations());
}

Tensor OpCall::value(const std::string& argument) {
  return input(argument, case_.options.parameters());
}

Tensor OpCall::optional_value(const std::string& argument) {
  return case_.has(name_ + "/in/" + argument) ? value(argument) : Tensor();
}

Tensor OpCall::input(const std::string& argument, DType dtype) {
  const Tensor x = case_.take(name_ + "/in/" + argument, dtype);
  if (case_.has(name_ + "/grad/" + argument)) x.set_requires_grad();
  inputs_[argument] = x;
  return x;
}

std::int64_t OpCall::integer(const char* key, std::int64_t fallback, std::int64_t least) {
  arguments.read(key, fallback, least);
  return fallback;
}

double OpCall::real(const char* key, double fallback) {
  arguments.read(key, fallback, -1e300, 1e300);
  return fallback;
}

bool OpCall::flag(const char* key, bool fallback) {
  arguments.read(key, fallback);
  return fallback;
}

std::array<std::int64_t, 2> OpCall::pair(const char* key, std::array<std::int64_t, 2> fallback,
                                         std::int64_t least) {
  arguments.read_size(key, fallback, least);
  return fallback;
}

std::string OpCall::choice(const char* key, const std::vector<std::string>& choices) {
  return arguments.read_name(key, choices, choices.front());
}

std::vector<int> OpCall::integers(const char* key) {
  std::vector<std::int64_t> values;
  arguments.read(key, values);
  return {values.begin(), values.end()};
}

void OpCall::result(const std::string& result, const Tensor& value) { results_[result] = value; }

void OpCall::compare() {
  arguments.finish();
  for (const auto& [result, value] : results_) {
    const std::string out = name_ + "/out/" + result, weight = name_ + "/cotangent/" + result;
    if (case_.has(out)) case_.compare_output(out, value.detach());
    if (!value.requires_grad()) continue;
    backward(value, case_.has(weight) ? case_.take(weight, value.dtype()) : Tensor());
  }
  GradientSet gradients;
  for (const auto& [argument, x] : inputs_) {
    const std::string name = name_ + "/grad/" + argument;
    if (!case_.has(name)) continue;
    gradients.add(name, x.grad(), case_.take(name), case_.zero_grad.contains(name));
  }
  case_.compare_gradients(gradients);
}

}  // namespace fovea::golden
