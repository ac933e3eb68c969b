// The detection task: loss, COCO's numbers, pictures.
#include "train/tasks/detection.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "data/figures/boxes.h"
#include "data/figures/colormap.h"
#include "data/figures/generated_pictures.h"
#include "data/sources/boxes/detection_check.h"
#include "engine/base/program_call.h"
#include "engine/base/text.h"
#include "models/detection/set_loss.h"
#include "models/model_as.h"
#include "ops/arithmetic.h"
#include "ops/reduce.h"
#include "ops/view.h"
#include "train/loop/evaluation_pass.h"
#include "train/tasks/detector_evaluation.h"

namespace fovea {
namespace {

constexpr std::int64_t kScenesShown = 8;
constexpr std::int64_t kShownSide = 320;  // pixels of an image in the picture, at most
constexpr double kFound = 0.5;            // score of an object that counts as found
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

/// The mean over the images of |queries that find an object - objects|. Logits [L, B, Q, C].
Tensor cardinality_error(const Tensor& logits, const std::vector<Objects>& objects,
                         ClassLoss class_loss) {
  const Tensor last = ops::select(logits.detach(), 0, logits.size(0) - 1);
  const Tensor host = last.to(Device{}).to(DType::f32).contiguous();
  const std::int64_t queries = host.size(1), classes = host.size(2);
  const float* row = host.data<float>();
  double error = 0;
  for (const Objects& there : objects) {
    std::int64_t found = 0;
    for (std::int64_t q = 0; q < queries; ++q, row += classes) {
      const bool softmax = class_loss == ClassLoss::softmax;
      const float best = *std::max_element(row, row + classes - (softmax ? 1 : 0));
      const double limit = softmax ? row[classes - 1] : std::log(kFound / (1 - kFound));
      found += best > limit ? 1 : 0;
    }
    error += static_cast<double>(std::abs(found - there.count()));
  }
  return full({}, error / static_cast<double>(objects.size()), {DType::f32, logits.device()});
}

/// A loss that is not finite, of outputs that are not: the step's guard reports it.
Tensor sum_of(const DetectorOutput& output) {
  return ops::sum(output.logits) + ops::sum(output.boxes);
}

/// A stored image, reduced or enlarged by a whole number to at most kShownSide on each side, on a
/// square.
class ShownImage {
 public:
  explicit ShownImage(const Image& image) {
    const std::int64_t longer = std::max(image.height, image.width);
    if (const std::int64_t factor = kShownSide / longer; factor > 0) {
      scale_ = static_cast<double>(factor);
      shown_ = enlarged(image, factor);
      return;
    }
    scale_ = static_cast<double>(kShownSide) / static_cast<double>(longer);
    const auto scaled = [this](std::int64_t side) {
      return std::max<std::int64_t>(1, std::llround(static_cast<double>(side) * scale_));
    };
    shown_ = resized(image, {scaled(image.height), scaled(image.width)}, Filter::bilinear);
  }

  [[nodiscard]] ImageSize size() const { return shown_.size(); }
  /// The image with boxes in pixels of the stored image, on black of this size.
  [[nodiscard]] Image with(std::vector<ShownBox> boxes, ImageSize whole) const {
    for (ShownBox& box : boxes) {
      for (double* value : {&box.x, &box.y, &box.width, &box.height}) *value *= scale_;
    }
    Image picture = shown_;
    draw_boxes(picture, boxes);
    return crop(picture, 0, 0, whole);
  }

 private:
  Image shown_;
  double scale_ = 1;
};

/// Names the boxes by their classes.
std::vector<ShownBox> named(std::vector<ShownBox> boxes, const std::vector<std::string>& classes) {
  for (ShownBox& box : boxes)
    if (box.color < classes.size()) box.label = classes[box.color];
  return boxes;
}

std::vector<ShownBox> shown_boxes(const ImageTargets& targets) {
  std::vector<ShownBox> boxes;
  if (!targets.boxes) return boxes;
  for (const ObjectBox& box : *targets.boxes)
    boxes.push_back(
        {box.x0, box.y0, box.width(), box.height(), static_cast<std::size_t>(box.label)});
  return boxes;
}

/// The objects found in image `index` with at least this score.
std::vector<ShownBox> shown_boxes(const std::vector<FoundObject>& found, std::int64_t index,
                                  double threshold) {
  std::vector<ShownBox> boxes;
  for (const FoundObject& object : found) {
    const ScoredBox& box = object.where;
    if (box.image != index || box.score < threshold) continue;
    boxes.push_back({box.x, box.y, box.width, box.height, static_cast<std::size_t>(box.category)});
  }
  return boxes;
}

/// A scene of a data set and the boxes of its objects.
struct ShownScene {
  std::int64_t index;
  ShownImage image;
  std::vector<ShownBox> boxes;
};

/// Those of the first `count` scenes that are not broken, which the evaluation has reported.
std::vector<ShownScene> readable_scenes(const Dataset& dataset, std::int64_t count) {
  std::vector<ShownScene> scenes;
  for (std::int64_t i = 0; i < count; ++i) try {
      const Sample sample = dataset.get(i);
      scenes.push_back(
          {i, ShownImage(sample.image), named(shown_boxes(sample.targets), dataset.class_names())});
    } catch (const ImageError&) {
      continue;
    }
  return scenes;
}

StoredSize sizes_of(const std::shared_ptr<const DetectionSet>& images) {
  return [images](std::int64_t index) { return images->stored_size(index); };
}

/// One of COCO's numbers, by its name: "AP small" is logged as "ap_small".
Measure measure_of(std::string_view name) {
  Measure measure;
  measure.title = name;
  measure.chart = "Average precision";
  measure.more_is_better = true;
  measure.is_detail = name != "AP" && name != "AP50" && name != "AP75";
  measure.name = lower_case(std::string(name));
  if (const std::size_t blank = measure.name.find(' '); blank != std::string::npos) {
    measure.former_name = measure.name;
    measure.name[blank] = '_';
  }
  return measure;
}

}  // namespace

TaskInfo detection_info() {
  TaskInfo info;
  info.loss_parts = {"class", "l1", "giou", "cardinality"};
  info.measures = {{.name = "loss", .title = "loss", .is_loss = true}};
  for (const std::string_view name : kPrecisionNames) info.measures.push_back(measure_of(name));
  info.best = 1;
  info.has_data_classes = info.has_divisors = info.has_targets = true;
  info.decides_on_host = true;  // which query finds which object
  info.pictures = "Objects of test images, and below what is found";
  info.next_steps = {
      {"COCO's numbers per class and size", program_call("evaluate") + " RUN"},
      {"boxes on your pictures", program_call("predict") + " RUN PICTURES"},
      {"training on classes of your own",
       program_call("train_detection") + " --dataset coco --data-dir MINE --finetune RUN"}};
  return info;
}

Detection::Detection(const DetectionOptions& options, Model& model, Notices notices)
    : model_(model_as<Detector>(model)),
      options_(options),
      info_(detection_info()),
      notices_(std::move(notices)) {}

Batch Detection::prepare(Batch batch, const BatchPlace& /*place*/) const {
  return with_relative_boxes(std::move(batch));
}

TaskLoss Detection::loss(const Batch& batch, Context& ctx) const {
  const std::vector<Objects> objects = objects_of(batch);
  const SetLossOptions options = model_.loss_options();
  const DetectorOutput output = model_.forward(batch.images, batch.find("mask"), ctx);
  const TensorOptions scalar{DType::f32, output.logits.device()};
  if (!is_finite(output)) {
    return {sum_of(output), std::vector<Tensor>(4, full({}, kNaN, scalar))};
  }
  const std::optional<SetLossDivisors> divisors = divisors_of(batch);
  const SetLoss loss = set_loss(output.logits, output.boxes, objects, options, nullptr,
                                divisors ? &*divisors : nullptr);
  const Tensor last = ops::select(loss.parts, 0, loss.parts.size(0) - 1);
  TaskLoss result{loss.total};
  for (std::int64_t part = 0; part < 3; ++part) result.parts.push_back(ops::select(last, 0, part));
  result.parts.push_back(cardinality_error(output.logits, objects, options.class_loss));
  return result;
}

std::vector<double> Detection::divisors(const Batch& batch) const {
  std::int64_t all = 0, matched = 0;
  for (const Objects& objects : objects_of(batch)) {
    all += objects.count();
    matched += std::min(objects.count(), model_.num_queries());
  }
  return {static_cast<double>(all), static_cast<double>(matched)};
}

/// A shard's share of what the loss of its batch divides by.
std::optional<SetLossDivisors> Detection::divisors_of(const Batch& batch) const {
  if (batch.divisors.empty()) return {};
  const double objects = batch.divisors[0], matched = batch.divisors[1];
  const auto queries = static_cast<double>(batch.whole * model_.num_queries());
  const double weights = matched + model_.loss_options().eos_coef * (queries - matched);
  return SetLossDivisors{std::max(1.0, objects) * batch.share(), weights * batch.share()};
}

Notices Detection::evaluation_notices(const Dataset& images) const {
  Notices notices;
  if (const auto* const boxes = dynamic_cast<const DetectionSet*>(&images)) {
    for (const std::string& notice : fovea::evaluation_notices(*boxes, model_.num_queries()))
      notices.add("test images: ", notice);
  }
  return notices;
}

Scores detection_scores(double loss, const AveragePrecision& precision) {
  Scores scores{loss};
  for (const double number : precision.numbers) scores.push_back(number < 0 ? kNaN : number);
  return scores;
}

EvaluationResult Detection::evaluate(const std::shared_ptr<const Dataset>& dataset,
                                     const EvaluateOptions& options) const {
  const auto images = require_boxes(dataset, "detection");
  const FoundObjects found = find_objects(model_, dataset, options, sizes_of(images));
  const bool counts = found.pass.complete && found.pass.nonfinite == 0;
  const AveragePrecision precision = counts ? precision_of(found, dataset) : AveragePrecision();
  return {detection_scores(found.loss, precision), found.pass};
}

std::optional<Image> Detection::picture(const std::shared_ptr<const Dataset>& dataset,
                                        const EvaluateOptions& options) const {
  const auto images = require_boxes(dataset, "detection");
  EvaluateOptions few = options;
  few.batch_size = std::min(kScenesShown, dataset->size());
  few.on_batch = [](std::int64_t) { return false; };
  const FoundObjects found = find_objects(model_, dataset, few, sizes_of(images));
  const std::vector<ShownScene> shown = readable_scenes(*dataset, few.batch_size);
  if (shown.empty()) return {};
  ImageSize whole;
  for (const ShownScene& scene : shown) {
    const ImageSize size = scene.image.size();
    whole = {std::max(whole.height, size.height), std::max(whole.width, size.width)};
  }
  std::vector<Image> tiles(2 * shown.size());
  for (std::size_t i = 0; i < shown.size(); ++i) {
    const ShownScene& scene = shown[i];
    tiles[i] = scene.image.with(scene.boxes, whole);
    const auto boxes = shown_boxes(found.objects, scene.index, options_.threshold);
    tiles[shown.size() + i] = scene.image.with(named(boxes, dataset->class_names()), whole);
  }
  return picture_grid(tiles, std::ssize(shown));
}

}  // namespace fovea
