// Golden files of depth models: depths, loss, gradients, and measures of the depths; and their loss
// in training files.
#include <algorithm>

#include "models/depth/measures.h"
#include "models/depth_transformer.h"
#include "models/model_as.h"
#include "ops/arithmetic.h"
#include "ops/view.h"
#include "tests/parity/case.h"

namespace fovea::golden {
namespace {

constexpr double kOffset = 3;  // metres: the files measure output + 3, which is mostly positive

/// Largest relative error of an output.
double rounding_of(Precision precision) {
  if (precision == Precision::f64) return 1e-9;
  return precision == Precision::f32 ? 2e-5 : 3e-2;
}

/// All pictures of a batch [B, H, W] as one of B H rows.
struct Pictures {
  explicit Pictures(const Tensor& depths)
      : width(depths.size(2)), values(depths.detach().to_vector()) {}
  [[nodiscard]] DepthPicture picture() const { return {values, std::ssize(values) / width, width}; }

  std::int64_t width;
  std::vector<double> values;
};

/// The share of pixels below `bound`, where pixels that rounding may move over the bound count as
/// in the file: the value nearest to `theirs`.
double share_below(const Pictures& predicted, const Pictures& depths, double bound, double rounding,
                   double theirs) {
  const DepthProtocol protocol;
  double surely = 0, perhaps = 0, count = 0;
  for (std::size_t i = 0; i < depths.values.size(); ++i) {
    const double target = depths.values[i];
    if (!protocol.counts(target)) continue;
    const double d = std::clamp(predicted.values[i], protocol.least, protocol.most);
    const double ratio = std::max(d / target, target / d);
    surely += ratio < bound * (1 - rounding) ? 1 : 0;
    perhaps += ratio < bound * (1 + rounding) ? 1 : 0;
    ++count;
  }
  return std::clamp(theirs, surely / count, perhaps / count);
}

void compare_measures(Case& c, const Tensor& output, const Tensor& target) {
  const Tensor theirs = c.take("measures");
  const Pictures predicted(output + kOffset), depths(target);
  const DepthMeasures found = measure_depth({}, predicted.picture(), depths.picture()).measures();
  std::vector<double> ours{found[kRmse], found[kAbsRel], found[kLog10]};
  double bound = 1.25;
  for (int i = 3; i < 6; ++i, bound *= 1.25) {
    ours.push_back(
        share_below(predicted, depths, bound, rounding_of(c.options.precision), theirs.at(i)));
  }
  c.compare_output("measures", from_values({6}, ours, {DType::f64, {}}));
}

}  // namespace

void check_depth(Case& c) {
  const std::unique_ptr<DepthTransformer> model =
      model_as<DepthTransformer>(load_case_model(c, family_config(c)));
  const DType real = c.options.parameters();
  const Tensor input = take_images(c), target = c.take("target", real);
  Context ctx = training_context(c);
  const Tensor output = model->forward(input, ctx).to(real);
  c.compare_output("output", output);
  check(target.shape() == output.shape(), "target: got ", target.shape(), ", expected ",
        output.shape());
  const Tensor loss = depth_loss(model->loss(), output, target);
  c.compare_output("loss", loss);
  if (c.has("measures")) compare_measures(c, output, target);
  compare_gradients(c, loss, *model, input);
}

StepLoss depth_loss_of_steps(Case& c, const TrainingCase& training, Model& model) {
  const Tensor targets =
      take_steps(c, "batch_target", training, {4}, "[S, B, H, W]", c.options.parameters());
  return [&depth = model_as<DepthTransformer>(model), images = training.images, targets](
             std::int64_t step, Context& ctx) {
    const Tensor output = depth.forward(ops::select(images, 0, step), ctx);
    return depth_loss(depth.loss(), output, ops::select(targets, 0, step));
  };
}

}  // namespace fovea::golden
