// Depth of picture files.
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <iostream>
#include <set>

#include "apps/tasks/depth.h"
#include "data/codecs/depth_png.h"
#include "data/figures/contact_sheet.h"
#include "data/figures/depth_figure.h"
#include "data/geometry/transforms.h"
#include "engine/base/files.h"
#include "engine/base/lists.h"
#include "engine/base/text.h"
#include "models/depth_transformer.h"
#include "models/model_as.h"
#include "ops/view.h"
#include "train/loop/evaluation_pass.h"

namespace fovea {
namespace {

namespace fs = std::filesystem;

/// The files' names without folder and ending; the second "room" becomes "room-2".
std::vector<std::string> output_names(const std::vector<fs::path>& files) {
  std::set<std::string> taken;
  std::vector<std::string> names;
  for (const fs::path& file : files) names.push_back(distinct_name(file.stem().string(), taken));
  return names;
}

bool is_finite(std::span<const double> metres) {
  return std::all_of(metres.begin(), metres.end(), [](double m) { return std::isfinite(m); });
}

/// As f32 of one channel; a linear head may predict less than 0, which becomes 0.
Image stored_metres(const DepthMap& map) {
  Image image(map.size.height, map.size.width, {PixelType::f32, 1});
  std::transform(map.metres.begin(), map.metres.end(), image.values<float>(0, 0),
                 [](double m) { return static_cast<float>(std::max(m, 0.0)); });
  return image;
}

/// A map resized to `size`; its depths are interpolated linearly.
std::vector<double> resized_metres(const DepthMap& map, ImageSize size) {
  const Image whole = resized(stored_metres(map), size, Filter::bilinear);
  const float* const values = whole.values<float>(0, 0);
  return {values, values + size.height * size.width};
}

class DepthWriter {
 public:
  DepthWriter(const PictureFiles& files, std::vector<std::string> names, const fs::path& folder,
              const Normalization& normalization, bool of_picture)
      : files_(files),
        names_(std::move(names)),
        folder_(folder),
        normalization_(normalization),
        of_picture_(of_picture) {
    make_folder(folder);
  }

  /// Writes the files of a batch of depths [B, H, W].
  void write(const Batch& batch, const Tensor& depths) {
    for (std::int64_t b = 0; b < batch.size(); ++b) {
      const std::vector<double> metres = ops::select(depths, 0, b).to_vector();
      const auto index = static_cast<std::int64_t>(batch.indices.at(b));
      const DepthMap map{metres, {depths.size(1), depths.size(2)}};
      if (!is_finite(metres)) {
        report(files_.describe(index) + ": the model's outputs for it are not finite");
        continue;
      }
      write_one(index, ops::slice(batch.images, 0, b, b + 1), map);
    }
  }
  void report(const std::string& message) {
    std::cerr << "broken: " << message << '\n';
    ++failed_;
  }
  [[nodiscard]] int failed() const { return failed_; }

 private:
  void write_one(std::int64_t index, const Tensor& input, const DepthMap& map) {
    if (!of_picture_) {
      return write_files(index, contact_sheet(input, normalization_, 1), map);
    }
    const Image picture = files_.get(index).image;
    const std::vector<double> metres = resized_metres(map, picture.size());
    write_files(index, picture, {metres, picture.size()});
  }
  void write_files(std::int64_t index, const Image& picture, const DepthMap& map) {
    const fs::path stem = folder_ / (names_[static_cast<std::size_t>(index)] + "-depth");
    const fs::path png = stem.string() + ".png", svg = stem.string() + ".svg",
                   view = stem.string() + "-view.png";
    write_file_atomically(png, encode_depth_png(stored_metres(map)));
    write_file_atomically(svg, svg_of_depth(picture, map));
    write_png(view, image_of_depth(picture, map));
    const auto [least, most] = std::minmax_element(map.metres.begin(), map.metres.end());
    std::cout << files_.describe(index) << "\n  " << fixed_text(*least, 2) << " to "
              << fixed_text(*most, 2) << " m\n  " << png.string() << "\n  " << view.string()
              << "\n  " << svg.string() << '\n';
  }

  const PictureFiles& files_;
  std::vector<std::string> names_;
  fs::path folder_;
  Normalization normalization_;
  bool of_picture_;  ///< maps have the size of the picture
  int failed_ = 0;
};

/// Throws unless the model sees whole pictures.
void require_whole_pictures(const LoadedModel& trained) {
  const EvaluationCrop& crop = trained.info.crop;
  check_usage(crop.mode == CropMode::squash && crop.crop_pct == 1,
              "--depth-size picture: the model sees a part of a picture (crop-mode ",
              name_of(crop.mode), ", crop-pct ", crop.crop_pct,
              "), expected crop-mode squash with crop-pct 1, or --depth-size model");
}

}  // namespace

int predict_depths(const PredictRequest& request, LoadedModel& trained,
                   const PictureList& pictures) {
  const EvaluateOptions options = request.options(trained);
  const fs::path folder = request.output.empty() ? "predictions" : request.output;
  auto& model = model_as<DepthTransformer>(*trained.model);
  const auto files = std::make_shared<PictureFiles>(pictures.files, trained.info.exif_orientation);
  const bool of_picture = request.depth_size == "picture";
  if (of_picture) require_whole_pictures(trained);
  DepthWriter writer(*files, output_names(pictures.files), folder, options.normalization,
                     of_picture);
  const auto write = [&](const EvaluationBatch& batch) {
    const auto read = batch.forward({batch.there.images}, [&](const auto& there) {
      return std::vector{model.forward(there[0], batch.ctx)};
    });
    writer.write(batch.host, read[0].to(DType::f64));
    return std::int64_t{0};
  };
  if (!pictures.files.empty()) {
    const EvaluationPass pass = evaluate_batches(model, files, options, write);
    for (const BrokenImage& image : pass.bad_images) writer.report(image.message);
  }
  for (const PictureList::Missing& missing : pictures.missing)
    writer.report(missing.path + ": " + missing.reason);
  return writer.failed() > 0 ? 1 : 0;
}

}  // namespace fovea
