// Learning rate factors by regular expressions, each compiled once and required to match.
#include "train/optim/named_rates.h"

#include <algorithm>
#include <cmath>

#include "engine/base/error.h"
#include "engine/base/program_call.h"

namespace fovea {
namespace {

std::regex compiled(const std::string& pattern) {
  try {
    return std::regex(pattern);
  } catch (const std::regex_error& error) {
    fail("learning rates: '", pattern, "' is not a regular expression: ", error.what());
  }
}

}  // namespace

NamedRates::NamedRates(const ParameterStore& store, const std::vector<NamedRate>& rates) {
  for (const NamedRate& rate : rates) {
    check(std::isfinite(rate.factor) && rate.factor >= 0, "learning rates: got factor ",
          rate.factor, " for '", rate.pattern, "', expected a finite number of at least 0");
    rules_.push_back({compiled(rate.pattern), rate.factor});
    const bool is_used = std::any_of(
        store.parameters().begin(), store.parameters().end(),
        [&](const Parameter& p) { return std::regex_search(p.name, rules_.back().pattern); });
    check(is_used, "learning rates: '", rate.pattern, "' matches no parameter; ",
          program_call("summary"), " lists the names");
  }
}

double NamedRates::of(const Parameter& parameter) const {
  double product = 1;
  for (const Rule& rule : rules_) {
    if (std::regex_search(parameter.name, rule.pattern)) product *= rule.factor;
  }
  return product;
}

}  // namespace fovea
