// Learning rates of parameters by their names.
#pragma once

#include <regex>
#include <string>
#include <vector>

#include "models/scope.h"

namespace fovea {

/// Parameters whose name has a match of `pattern` (ECMAScript, anywhere in it: std::regex_search,
/// as for --freeze) take steps of `factor` times the rate.
struct NamedRate {
  std::string pattern;
  double factor = 1;
};

class NamedRates {
 public:
  /// Throws Error on a pattern that is not a regular expression or that no parameter of the store
  /// matches, and unless factors are finite and at least 0.
  NamedRates(const ParameterStore& store, const std::vector<NamedRate>& rates);

  /// The product of the factors of all patterns that match.
  [[nodiscard]] double of(const Parameter& parameter) const;

 private:
  struct Rule {
    std::regex pattern;
    double factor;
  };
  std::vector<Rule> rules_;
};

}  // namespace fovea
