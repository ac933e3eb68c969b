// Learning rate factors of parameters selected by name.
#pragma once

#include <regex>
#include <string>
#include <vector>

#include "models/scope.h"

namespace fovea {

/// Multiplies the learning rate by `factor` for parameters with a match of `pattern` anywhere in
/// their name (ECMAScript, std::regex_search, as for --freeze).
struct NamedRate {
  std::string pattern;
  double factor = 1;
};

class NamedRates {
 public:
  /// Throws Error if a pattern is not a regular expression or matches no parameter of the store, or
  /// if a factor is negative or not finite.
  NamedRates(const ParameterStore& store, const std::vector<NamedRate>& rates);

  /// Product of the factors of all matching patterns.
  [[nodiscard]] double of(const Parameter& parameter) const;

 private:
  struct Rule {
    std::regex pattern;
    double factor;
  };
  std::vector<Rule> rules_;
};

}  // namespace fovea
