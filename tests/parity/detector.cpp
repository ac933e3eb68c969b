// Golden files of detectors: maps, memory and predictions of padded images, the matching and the
// loss at every decoder layer, and gradients; and their loss in training files.
#include "models/detector.h"

#include "engine/autograd.h"
#include "models/detection/set_loss.h"
#include "models/layers/map_cells.h"
#include "models/model_as.h"
#include "ops/arithmetic.h"
#include "ops/view.h"
#include "tests/parity/case.h"

namespace fovea::golden {
namespace {

using nlohmann::json;

/// The padded images of a file.
struct PaddedImages {
  Tensor input;  ///< [B, C, H, W], a leaf with gradients
  Tensor mask;   ///< [B, H, W], 1 on the image
};

/// Removes `key`, a list of one entry per image, and returns it; null if it is missing.
json take_list(json& config, const char* key, std::int64_t images) {
  const json list = config.value(key, json());
  config.erase(key);
  check(list.is_null() || (list.is_array() && std::ssize(list) == images), "config: ", key,
        ": expected a list with an entry for each of the ", images, " images");
  return list;
}

/// The settings of the model. `eos_coef` and `pre_norm` mean nothing to a Deformable DETR.
json model_config(const Case& c, const Tensor& input, json config) {
  if (c.family == "ddetr") {
    config.erase("eos_coef");
    config.erase("pre_norm");
  }
  config["family"] = c.family;
  if (!config.contains("dropout")) config["dropout"] = 0;
  check(config["dropout"] == 0, "config: dropout: expected 0, because a file cannot record drops");
  config["img_size"] = {input.size(2), input.size(3)};
  config["in_chans"] = input.size(1);
  return config;
}

/// 1 - the file's mask, which is 1 on padding; checked against the images' sizes.
Tensor take_mask(Case& c, const Tensor& input, const json& sizes) {
  const Tensor padding = c.take("mask").to(DType::f64);
  const Shape expected{input.size(0), input.size(2), input.size(3)};
  check(padding.shape() == expected, "mask: got ", padding.shape(), ", expected ", expected);
  for (std::int64_t b = 0; !sizes.is_null() && b < input.size(0); ++b) {
    const json& size = sizes[static_cast<std::size_t>(b)];
    check(size.is_array() && size.size() == 2, "config: sizes: expected [height, width] pairs");
    double pixels = 0;
    for (const double value : ops::select(padding, 0, b).to_vector()) pixels += 1 - value;
    check(pixels == size[0].get<double>() * size[1].get<double>(), "mask: image ", b, " has ",
          pixels, " pixels, sizes says ", size[0], " x ", size[1]);
  }
  return (-padding + 1).to(c.options.parameters()).to(c.options.device);
}

/// The objects of every image.
std::vector<Objects> take_objects(Case& c, std::int64_t images, const json& counts) {
  std::vector<Objects> all(static_cast<std::size_t>(images));
  for (std::size_t b = 0; b < all.size(); ++b) {
    const std::string at = "target/" + std::to_string(b);
    if (c.has(at + "/labels")) {
      for (const double label : c.take(at + "/labels").to_vector()) {
        all[b].labels.push_back(static_cast<std::int64_t>(label));
      }
      all[b].boxes = c.take(at + "/boxes").to_vector();
    }
    check(std::ssize(all[b].boxes) == 4 * all[b].count(), at, ": got ", all[b].boxes.size(),
          " numbers of boxes for ", all[b].count(), " labels");
    check(counts.is_null() || counts[b] == all[b].count(), at, ": got ", all[b].count(),
          " objects, the config says otherwise");
  }
  return all;
}

std::string match_name(std::int64_t layer, std::size_t image) {
  return "match/" + std::to_string(layer) + "/" + std::to_string(image);
}

/// The file's pairs; an image without objects has none.
Matches take_matches(Case& c, std::int64_t layers, std::size_t images) {
  Matches all(static_cast<std::size_t>(layers));
  for (std::int64_t layer = 0; layer < layers; ++layer) {
    for (std::size_t b = 0; b < images; ++b) {
      std::vector<MatchedPair>& pairs = all[static_cast<std::size_t>(layer)].emplace_back();
      if (!c.has(match_name(layer, b))) continue;
      const Tensor table = c.take(match_name(layer, b));
      check(table.rank() == 2 && table.size(1) == 2, match_name(layer, b), ": got ", table.shape(),
            ", expected [n, 2]");
      for (std::int64_t i = 0; i < table.size(0); ++i) {
        pairs.push_back({static_cast<std::int64_t>(table.at(2 * i)),
                         static_cast<std::int64_t>(table.at(2 * i + 1))});
      }
    }
  }
  return all;
}

/// Pairs must be the same, so the bound is 0: the error is the number of pairs that differ.
void compare_matches(Case& c, const Matches& ours, const Matches& theirs) {
  for (std::size_t layer = 0; layer < ours.size(); ++layer) {
    for (std::size_t b = 0; b < ours[layer].size(); ++b) {
      const std::vector<MatchedPair>&a = ours[layer][b], &r = theirs[layer][b];
      const std::size_t most = std::max(a.size(), r.size());
      double wrong = 0;
      for (std::size_t i = 0; i < most; ++i) {
        wrong += i >= a.size() || i >= r.size() || !(a[i] == r[i]) ? 1 : 0;
      }
      c.results.push_back({match_name(static_cast<std::int64_t>(layer), b), wrong, 0});
    }
  }
}

/// A context that compares recorded values. Below f64, Deformable DETR's positions and memory are
/// compared where the map shows the image: on wholly padded rows the sine's argument is -3.1e6. In
/// bf16 so is the projection: on padding, group norm divides by the small spread of rounded values.
Context detection_context(Case& c, const Tensor& mask) {
  Context ctx = training_context(c);
  if (c.family != "ddetr" || c.options.precision == Precision::f64) return ctx;
  ctx.tap = [&c, mask, tap = ctx.tap, cells = MapCells()](std::string_view name,
                                                          const Tensor& value) mutable {
    if (name == "feat/backbone") {
      cells = map_cells(mask, {value.size(2), value.size(3)}, DType::f64);
    }
    const bool rounds = c.options.precision == Precision::bf16;
    const bool map = name == "feat/pos" || (rounds && name == "feat/proj");
    const bool tokens = name == "feat/memory";
    if (!c.has(std::string(name)) || !(map || tokens)) return tap(name, value);
    const Tensor free = cells.free.to(Device{});
    c.compare_output(
        std::string(name), value.detach(),
        map ? ops::unsqueeze(free, 1) : ops::reshape(free, {free.size(0), cells.count(), 1}));
  };
  return ctx;
}

void compare_evaluation(Case& c, Detector& model, const PaddedImages& images) {
  if (!c.has("logits_eval") && !c.has("boxes_eval")) return;
  const NoGrad no_grad;
  Context ctx = evaluation_context(c);
  const DetectorOutput out = model.forward(images.input, images.mask, ctx);
  const std::int64_t last = out.logits.size(0) - 1;
  if (c.has("logits_eval")) c.compare_output("logits_eval", ops::select(out.logits, 0, last));
  if (c.has("boxes_eval")) c.compare_output("boxes_eval", ops::select(out.boxes, 0, last));
}

/// The objects of a step: labels [B, T] with -1 for none, boxes [B, T, 4].
std::vector<Objects> objects_of(const Tensor& labels, const Tensor& boxes) {
  std::vector<Objects> all(static_cast<std::size_t>(labels.size(0)));
  for (std::int64_t i = 0; i < labels.numel(); ++i) {
    const auto label = static_cast<std::int64_t>(labels.at(i));
    if (label < 0) continue;
    Objects& own = all[static_cast<std::size_t>(i / labels.size(1))];
    own.labels.push_back(label);
    for (std::int64_t j = 0; j < 4; ++j) own.boxes.push_back(boxes.at(4 * i + j));
  }
  return all;
}

/// Appends [L, B, T]: the query of each of at most `most` objects, else -1.
void append_queries(const Matches& matches, std::int64_t most, std::vector<double>& queries) {
  for (const auto& layer : matches) {
    for (const std::vector<MatchedPair>& image : layer) {
      const std::size_t first = queries.size();
      queries.resize(first + static_cast<std::size_t>(most), -1.0);
      for (const MatchedPair& pair : image) {
        queries[first + static_cast<std::size_t>(pair.target)] = static_cast<double>(pair.query);
      }
    }
  }
}

}  // namespace

void check_detector(Case& c) {
  const Tensor input = take_images(c);
  json config = c.config;
  const json sizes = take_list(config, "sizes", input.size(0));
  const json counts = take_list(config, "boxes", input.size(0));
  const auto model = model_as<Detector>(load_case_model(c, model_config(c, input, config)));
  const PaddedImages images{input, take_mask(c, input, sizes)};
  compare_evaluation(c, *model, images);

  Context ctx = detection_context(c, images.mask);
  const DetectorOutput out = model->forward(images.input, images.mask, ctx);
  compare_buffers(c, *model);
  if (c.has("logits")) c.compare_output("logits", out.logits);
  if (c.has("boxes")) c.compare_output("boxes", out.boxes);

  const std::vector<Objects> objects = take_objects(c, input.size(0), counts);
  const Matches theirs = take_matches(c, out.logits.size(0), objects.size());
  const bool exact = c.options.precision == Precision::f64;
  const SetLoss loss =
      set_loss(out.logits, out.boxes, objects, model->loss_options(), exact ? nullptr : &theirs);
  if (exact) compare_matches(c, loss.matches, theirs);
  if (c.has("losses")) c.compare_output("losses", loss.parts);
  if (c.has("loss")) c.compare_output("loss", loss.total);
  compare_gradients(c, loss.total, *model, input);
}

/// batch_mask [S, B, H, W] is 1 on padding; batch_labels [S, B, T] is -1 where an image has fewer
/// objects, and batch_boxes [S, B, T, 4] has their boxes. `queries`, if the file has them, are [S,
/// L, B, T]: the query of each object, -1 without object.
StepLoss detector_loss(Case& c, const TrainingCase& training, Model& model) {
  const DType real = c.options.parameters();
  const Tensor padding = take_steps(c, "batch_mask", training, {4}, "[S, B, H, W]", real);
  const Tensor labels = take_steps(c, "batch_labels", training, {3}, "[S, B, T]", real);
  const Tensor boxes = take_steps(c, "batch_boxes", training, {4}, "[S, B, T, 4]", real);
  auto queries = std::make_shared<std::vector<double>>();
  return [&c, &detector = model_as<Detector>(model), training, padding, labels, boxes, queries](
             std::int64_t step, Context& ctx) {
    const Tensor mask = -ops::select(padding, 0, step).to(c.options.parameters()) + 1;
    const DetectorOutput out = detector.forward(ops::select(training.images, 0, step), mask, ctx);
    const std::vector<Objects> objects =
        objects_of(ops::select(labels, 0, step), ops::select(boxes, 0, step));
    const SetLoss loss = set_loss(out.logits, out.boxes, objects, detector.loss_options());
    append_queries(loss.matches, labels.size(2), *queries);
    if (c.has("queries") && step + 1 == training.steps) {
      c.compare_output("queries", from_values({training.steps, out.logits.size(0), labels.size(1),
                                               labels.size(2)},
                                              *queries, {DType::f64, {}}));
    }
    return loss.total;
  };
}

}  // namespace fovea::golden
