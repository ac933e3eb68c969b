// Detections from queries, and the evaluation of a detector.
#include "train/tasks/detector_evaluation.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <span>

#include "data/sources/boxes/detection_set.h"
#include "engine/upload.h"
#include "models/detection/set_loss.h"
#include "ops/view.h"
#include "train/loop/batch_numbers.h"
#include "train/loop/evaluation_pass.h"
#include "train/loop/read_tensors_at_once.h"

namespace fovea {
namespace {

/// A query with a class and its score.
struct Candidate {
  std::int64_t query = 0, label = 0;
  double score = 0;
};

/// Best first; equal scores keep their order.
void rank(std::vector<Candidate>& candidates) {
  std::stable_sort(candidates.begin(), candidates.end(),
                   [](const Candidate& a, const Candidate& b) { return a.score > b.score; });
}

/// The most likely class of a query, without the last one, "no object".
Candidate likeliest(const float* logits, std::int64_t classes, std::int64_t query) {
  const float highest = *std::max_element(logits, logits + classes);
  double sum = 0;
  for (std::int64_t c = 0; c < classes; ++c) sum += std::exp(double{logits[c]} - highest);
  const auto label = std::max_element(logits, logits + classes - 1) - logits;
  return {query, label, std::exp(double{logits[label]} - highest) / sum};
}

/// logits [Q, C] of an image.
std::vector<Candidate> candidates_of(const float* logits, const Shape& shape, ClassLoss loss) {
  const std::int64_t queries = shape[0], classes = shape[1];
  std::vector<Candidate> found;
  for (std::int64_t q = 0; q < queries; ++q, logits += classes) {
    if (loss == ClassLoss::softmax) {
      found.push_back(likeliest(logits, classes, q));
      continue;
    }
    for (std::int64_t c = 0; c < classes; ++c)
      found.push_back({q, c, 1 / (1 + std::exp(-double{logits[c]}))});
  }
  rank(found);
  return found;
}

/// (cx, cy, w, h) relative to the image -> corner and size in its pixels.
ScoredBox box_in(ImageSize image, const float* box) {
  const auto width = static_cast<double>(image.width), height = static_cast<double>(image.height);
  ScoredBox result{};
  result.width = box[2] * width;
  result.height = box[3] * height;
  result.x = box[0] * width - result.width / 2;
  result.y = box[1] * height - result.height / 2;
  return result;
}

/// The size of an image of a batch without its padding.
ImageSize unpadded_size(const Tensor& mask, std::int64_t row, ImageSize padded) {
  if (!mask.defined()) return padded;
  const float* const values = mask.data<float>() + row * padded.height * padded.width;
  ImageSize size;
  while (size.width < padded.width && values[size.width] > 0) ++size.width;
  while (size.height < padded.height && values[size.height * padded.width] > 0) ++size.height;
  return size;
}

bool hides_any(const Tensor& mask) {
  const std::span<const float> values(mask.data<float>(), static_cast<std::size_t>(mask.numel()));
  return std::find(values.begin(), values.end(), 0.0F) != values.end();
}

/// (x0, y0, x1, y1) in pixels -> (cx, cy, w, h) relative to the image, f64 [B, M, 4].
Tensor relative(const Tensor& boxes, const Tensor& mask, const Tensor& images) {
  Tensor result = empty(boxes.shape(), {DType::f64, {}});
  const std::int64_t rows = boxes.size(0), most = boxes.size(1);
  const float* from = boxes.data<float>();
  double* to = result.data<double>();
  for (std::int64_t b = 0; b < rows; ++b) {
    const ImageSize size = unpadded_size(mask, b, {images.size(2), images.size(3)});
    const auto width = static_cast<double>(size.width), height = static_cast<double>(size.height);
    for (std::int64_t i = 0; i < most; ++i, from += 4) {
      const double x0 = from[0], y0 = from[1], x1 = from[2], y1 = from[3];
      *to++ = (x0 + x1) / 2 / width;
      *to++ = (y0 + y1) / 2 / height;
      *to++ = (x1 - x0) / width;
      *to++ = (y1 - y0) / height;
    }
  }
  return result;
}

bool all_finite(const float* values, std::int64_t count) {
  return std::all_of(values, values + count, [](float v) { return std::isfinite(v); });
}

/// The last layer's logits [B, Q, C] and boxes [B, Q, 4] on the CPU, f32.
DetectorOutput last_layer(const DetectorOutput& output) {
  const std::int64_t last = output.logits.size(0) - 1;
  const auto read = read_tensors_at_once(
      {ops::select(output.logits.detach(), 0, last), ops::select(output.boxes.detach(), 0, last)});
  return {read[0].to(DType::f32).contiguous(), read[1].to(DType::f32).contiguous()};
}

/// Number of images of a batch with an output that is not finite.
std::int64_t nonfinite_images(const DetectorOutput& last) {
  std::int64_t count = 0;
  const std::int64_t logits = last.logits.size(1) * last.logits.size(2),
                     boxes = last.boxes.size(1) * last.boxes.size(2);
  for (std::int64_t b = 0; b < last.logits.size(0); ++b) {
    const bool finite = all_finite(last.logits.data<float>() + b * logits, logits) &&
                        all_finite(last.boxes.data<float>() + b * boxes, boxes);
    count += finite ? 0 : 1;
  }
  return count;
}

}  // namespace

std::vector<std::vector<FoundObject>> detections_of(const DetectorOutput& output,
                                                    ClassLoss class_loss, const Tensor& indices,
                                                    const StoredSize& size_of, std::int64_t most) {
  const DetectorOutput last = last_layer(output);
  const std::int64_t queries = last.logits.size(1), classes = last.logits.size(2);
  std::vector<std::vector<FoundObject>> all;
  for (std::int64_t b = 0; b < last.logits.size(0); ++b) {
    const std::int64_t image = indices.data<std::int64_t>()[b];
    const ImageSize size = size_of(image);
    std::vector<Candidate> found = candidates_of(last.logits.data<float>() + b * queries * classes,
                                                 {queries, classes}, class_loss);
    if (std::ssize(found) > most) found.resize(static_cast<std::size_t>(most));
    std::vector<FoundObject>& detections = all.emplace_back();
    for (const Candidate& candidate : found) {
      ScoredBox box = box_in(size, last.boxes.data<float>() + (b * queries + candidate.query) * 4);
      box.image = image;
      box.category = candidate.label;
      box.score = candidate.score;
      detections.push_back({box, candidate.query});
    }
  }
  return all;
}

bool is_finite(const DetectorOutput& output) {
  const auto read = read_tensors_at_once({output.logits.detach(), output.boxes.detach()});
  return std::all_of(read.begin(), read.end(), [](const Tensor& x) {
    const Tensor values = x.to(DType::f32).contiguous();
    return all_finite(values.data<float>(), values.numel());
  });
}

Batch with_relative_boxes(Batch batch) {
  const Tensor mask = batch.find("mask");
  if (batch.find("boxes").defined()) {
    batch.set({"boxes", relative(batch.at("boxes"), mask, batch.images), /*uploads=*/false});
    for (const char* const name : {"box_labels", "box_count"})
      batch.set({name, batch.at(name), /*uploads=*/false});
  }
  if (mask.defined() && !hides_any(mask))
    std::erase_if(batch.others, [](const BatchMember& member) { return member.name == "mask"; });
  return batch;
}

std::vector<std::vector<ShownBox>> shown_boxes_of(const Batch& batch) {
  const ImageSize padded{batch.images.size(2), batch.images.size(3)};
  std::vector<std::vector<ShownBox>> shown;
  for (const Objects& objects : objects_of(batch)) {
    const ImageSize size = unpadded_size(batch.find("mask"), std::ssize(shown), padded);
    const auto width = static_cast<double>(size.width), height = static_cast<double>(size.height);
    std::vector<ShownBox>& boxes = shown.emplace_back();
    for (std::size_t i = 0; i < objects.labels.size(); ++i) {
      const double* const box = objects.boxes.data() + 4 * i;  // (cx, cy, w, h), relative
      boxes.push_back({(box[0] - box[2] / 2) * width, (box[1] - box[3] / 2) * height,
                       box[2] * width, box[3] * height,
                       static_cast<std::size_t>(objects.labels[i])});
    }
  }
  return shown;
}

std::vector<Objects> objects_of(const Batch& batch) {
  const Tensor boxes = batch.at("boxes"), labels = batch.at("box_labels");
  const std::int64_t most = boxes.size(1);
  std::vector<Objects> all;
  for (std::int64_t b = 0; b < batch.size(); ++b) {
    const std::int64_t count = batch.at("box_count").data<std::int64_t>()[b];
    const std::int64_t* const label = labels.data<std::int64_t>() + b * most;
    const double* const box = boxes.data<double>() + b * most * 4;
    all.push_back({{label, label + count}, {box, box + 4 * count}});
  }
  return all;
}

namespace {

/// Sums of the loss's weighted terms over images, and what the terms of a set are divided by.
struct SetLossSums {
  double classes = 0, boxes = 0;
  double objects = 0;        ///< divides the boxes' terms, and the focal loss
  double class_weights = 0;  ///< divides the softmax's cross-entropy, see SetLossDivisors

  static constexpr std::size_t kCount = 4;

  void add(const double* values) {
    classes += values[0];
    boxes += values[1];
    objects += values[2];
    class_weights += values[3];
  }
  [[nodiscard]] double loss(ClassLoss class_loss) const {
    const double pairs = std::max(1.0, objects);
    const double divisor = class_loss == ClassLoss::focal ? pairs : std::max(1e-12, class_weights);
    return classes / divisor + boxes / pairs;
  }
};

SetLossSums loss_sums(const DetectorOutput& output, const std::vector<Objects>& objects,
                      const SetLossOptions& options) {
  const SetLossDivisors none;
  const SetLoss loss = set_loss(output.logits, output.boxes, objects, options, nullptr, &none);
  const std::vector<double> parts = loss.parts.to_vector();  // class, L1, GIoU of each layer
  const std::int64_t queries = output.logits.size(2);
  SetLossSums sums;
  for (std::size_t i = 0; i < parts.size(); i += 3) {
    sums.classes += options.class_weight * parts[i];
    sums.boxes += options.box_weight * parts[i + 1] + options.giou_weight * parts[i + 2];
  }
  for (const Objects& there : objects) {
    const auto matched = static_cast<double>(std::min(there.count(), queries));
    sums.objects += static_cast<double>(there.count());
    sums.class_weights += matched + options.eos_coef * (static_cast<double>(queries) - matched);
  }
  return sums;
}

/// The numbers of a batch: the sums of its loss, and each object's.
std::vector<double> numbers_of(const SetLossSums& loss, const std::vector<FoundObject>& objects) {
  std::vector<double> numbers{loss.classes, loss.boxes, loss.objects, loss.class_weights};
  for (const auto& [at, query] : objects) {
    numbers.insert(numbers.end(),
                   {static_cast<double>(at.image), static_cast<double>(at.category), at.x, at.y,
                    at.width, at.height, at.score, static_cast<double>(query)});
  }
  return numbers;
}

/// Adds a batch's numbers to the results.
void add_batch(FoundObjects& results, SetLossSums& loss, const std::vector<double>& numbers) {
  constexpr std::size_t kWidth = 8;
  loss.add(numbers.data());
  for (std::size_t i = SetLossSums::kCount; i < numbers.size(); i += kWidth) {
    const double* const n = numbers.data() + i;
    results.objects.push_back({{static_cast<std::int64_t>(n[0]), static_cast<std::int64_t>(n[1]),
                                n[2], n[3], n[4], n[5], n[6]},
                               static_cast<std::int64_t>(n[7])});
  }
}

}  // namespace

FoundObjects find_objects(Detector& model, const std::shared_ptr<const Dataset>& dataset,
                          const EvaluateOptions& options, const StoredSize& size_of) {
  BatchNumbers numbers;
  const SetLossOptions loss_options = model.loss_options();
  const auto measure = [&](const EvaluationBatch& batch) {
    const Batch host = with_relative_boxes(batch.host);
    Tensor mask = host.find("mask");
    if (mask.defined()) mask = upload(mask, model.device());
    const DetectorOutput output = model.forward(batch.there.images, mask, batch.ctx);
    const std::int64_t nonfinite = nonfinite_images(last_layer(output));
    if (nonfinite > 0) return nonfinite;  // neither matched nor ranked
    SetLossSums loss;
    if (host.find("boxes").defined()) loss = loss_sums(output, objects_of(host), loss_options);
    std::vector<FoundObject> objects;
    for (const auto& image :
         detections_of(output, loss_options.class_loss, batch.host.indices, size_of))
      objects.insert(objects.end(), image.begin(), image.end());
    numbers.add(numbers_of(loss, objects));
    return nonfinite;
  };
  FoundObjects results;
  results.pass = evaluate_batches(model, dataset, options, measure);
  SetLossSums loss;
  for (const std::vector<double>& batch : numbers.all(*options.processes))
    add_batch(results, loss, batch);
  results.loss = loss.loss(loss_options.class_loss);
  return results;
}

AveragePrecision precision_of(const FoundObjects& found,
                              const std::shared_ptr<const Dataset>& dataset) {
  const auto images = require_boxes(dataset, "average precision");
  std::set<std::int64_t> broken;
  for (const BrokenImage& image : found.pass.bad_images) broken.insert(image.index);
  std::vector<std::int64_t> ids;
  std::vector<TruthBox> truth;
  for (std::int64_t i = 0; i < images->size(); ++i) {
    ids.push_back(images->image_id(i));
    if (broken.contains(i)) continue;
    for (const Annotation& a : images->annotations(i))
      truth.push_back({ids.back(), a.label, a.x, a.y, a.width, a.height, a.area, a.crowd});
  }
  std::vector<ScoredBox> boxes;
  boxes.reserve(found.objects.size());
  for (const FoundObject& object : found.objects) {
    boxes.push_back(object.where);
    boxes.back().image = ids.at(static_cast<std::size_t>(object.where.image));
  }
  return average_precision(truth, boxes, images->category_ids(), ids);
}

}  // namespace fovea
