// Golden cases of decoding, normalisation and whole pipelines from JPEG bytes to network input.
#include <algorithm>

#include "data/augment/op.h"
#include "data/geometry/evaluation_transform.h"
#include "data/image.h"
#include "engine/base/error.h"
#include "engine/base/json.h"
#include "tests/parity/image_case.h"

namespace fovea::golden {
namespace {

Image decode(ImageCase& c, const std::string& name) {
  const Tensor bytes = c.tensor(name);
  check(bytes.dtype() == DType::u8 && bytes.rank() == 1, name, ": got ", bytes.dtype(), " ",
        bytes.shape(), ", expected u8 [bytes]");
  return decode_image({bytes.data<std::uint8_t>(), static_cast<std::size_t>(bytes.numel())}, name);
}

void check_decoder(ImageCase& c, const std::string& folder) {
  for (const char* remark : {"mode", "what"}) static_cast<void>(c.has(remark));
  c.compare(decode(c, folder + c.name()));
}

void check_evaluation(ImageCase& c) {
  EvaluationTransform options;
  options.size = c.size("img_size");
  options.crop.crop_pct = c.number("crop_pct", 1e-3, 1);
  options.crop.mode = CropMode::center;
  options.crop.filter = c.filter();
  options.normalization = c.normalization();
  const Image image = decode(c, "jpeg/" + c.text("jpeg"));
  c.compare("output", to_normalized(prepare_for_evaluation(image, options), options.normalization));
}

/// Applies one step {"op": name, "args": [argument]} of a chain.
Image apply_step(const nlohmann::json& step, const Image& image, const Sampling& sampling) {
  const bool ok = step.is_object() && step.size() == 2 && step.contains("op") &&
                  step["op"].is_string() && step.contains("args") && step["args"].is_array() &&
                  step["args"].size() <= 1 &&
                  std::all_of(step["args"].begin(), step["args"].end(),
                              [](const nlohmann::json& v) { return v.is_number(); });
  check(ok, "augment: got ", json_text(step), ", expected op and args");
  const double argument = step["args"].empty() ? 0 : step["args"][0].get<double>();
  return apply_augment(parse_augment_kind(step["op"].get<std::string>()), {image}, argument,
                       sampling)
      .image;
}

void check_training(ImageCase& c) {
  const ImageSize part{c.integer("box_height", 1), c.integer("box_width", 1)};
  const Image whole = decode(c, "jpeg/" + c.text("jpeg"));
  const Sampling sampling{c.filter(), c.color("fill")};
  Image image = crop(whole, c.integer("top", 0), c.integer("left", 0), part);
  image = resize(image, c.size("img_size"), sampling.filter);
  if (c.flag("hflip")) image = flip_horizontal(std::move(image));
  for (const nlohmann::json& step : c.json("augment")) image = apply_step(step, image, sampling);
  Tensor values = to_normalized(image, c.normalization());
  if (c.has("erase")) {
    ImageCase erasing = c.nested("erase");
    erase_as_told(erasing, values);
    erasing.finish();
  }
  c.compare("output", values);
}

}  // namespace

bool check_values(ImageCase& c) {
  if (c.op() == "decode_jpeg") return check_decoder(c, "jpeg/"), true;
  if (c.op() == "decode_png") return check_decoder(c, "png/"), true;
  if (c.op() == "pipeline_eval") return check_evaluation(c), true;
  if (c.op() == "pipeline_train") return check_training(c), true;
  if (c.op() == "to_tensor") {
    c.compare("output", to_normalized(c.image(), {{0, 0, 0}, {1, 1, 1}}));
  } else if (c.op() == "to_tensor_normalize" || c.op() == "prefetch_normalize") {
    c.compare("output", to_normalized(c.image(), c.normalization()));
  } else {
    return false;
  }
  return true;
}

}  // namespace fovea::golden
