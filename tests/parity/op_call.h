// One case of a golden file of ops: arguments, inputs and outputs. Private to tests/parity/.
#pragma once

#include <map>
#include <string>

#include "models/config_reader.h"
#include "tests/parity/case.h"

namespace fovea::golden {

class OpCall {
 public:
  /// `arguments` is the case's entry in the configuration and must outlive this object.
  OpCall(Case& c, const nlohmann::json& arguments);

  ConfigReader arguments;  ///< every argument must be read
  [[nodiscard]] const std::string& name() const { return name_; }

  /// An activation, bf16 at that precision.
  Tensor activation(const std::string& argument);
  /// A parameter, a target, an index, or a value that is always computed in f32 or better.
  Tensor value(const std::string& argument);
  /// value(), or an undefined tensor if the file has none.
  Tensor optional_value(const std::string& argument);

  /// A numeric argument of the configuration.
  std::int64_t integer(const char* key, std::int64_t fallback, std::int64_t least);
  double real(const char* key, double fallback);
  bool flag(const char* key, bool fallback);
  std::array<std::int64_t, 2> pair(const char* key, std::array<std::int64_t, 2> fallback,
                                   std::int64_t least);
  /// One of `choices`; the first by default.
  std::string choice(const char* key, const std::vector<std::string>& choices);
  std::vector<int> integers(const char* key);

  void result(const std::string& result, const Tensor& value);
  /// Runs backward from the results, then compares results and gradients.
  void compare();

 private:
  Tensor input(const std::string& argument, DType dtype);

  Case& case_;
  std::string name_;
  std::map<std::string, Tensor> inputs_, results_;
};

}  // namespace fovea::golden
