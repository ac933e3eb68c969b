// The linear baseline: logistic regression on the pixels.
#pragma once

#include <array>
#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "models/classifier.h"
#include "models/layers/linear.h"

namespace fovea {

struct LinearModelConfig {
  std::array<std::int64_t, 2> img_size{32, 32};
  std::int64_t in_chans = 3;
  std::int64_t num_classes = 10;
};

void visit(ConfigFields& v, LinearModelConfig& c);
[[nodiscard]] LinearModelConfig read_linear_config(const nlohmann::json& config);

class LinearModel : public Classifier {
 public:
  LinearModel(ModelInfo info, const LinearModelConfig& c, std::uint64_t seed,
              TensorOptions options);

  ClassifierOutput forward(const Tensor& images, Context& ctx) override;

 private:
  LinearModelConfig config_;
  std::int64_t pixels_;  ///< number of values per image
  Linear head_;
};

}  // namespace fovea
