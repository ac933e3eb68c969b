// Objects in picture files: search, drawing, COCO's results, texts.
#include "apps/tasks/predict_detection.h"

#include <cmath>
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "apps/common/pictures.h"
#include "apps/tasks/detection.h"
#include "data/figures/boxes.h"
#include "data/sources/boxes/coco_file.h"
#include "engine/base/csv.h"
#include "engine/base/files.h"
#include "engine/base/json.h"
#include "engine/base/lists.h"
#include "engine/base/output_folder.h"
#include "engine/base/text.h"
#include "engine/base/wrap.h"
#include "models/detection/coco_results.h"
#include "models/model_as.h"

namespace fovea {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

/// The ids that an annotation file gives the pictures, by the longest end of their paths that is a
/// name in it. Throws if it has none for some.
std::vector<std::int64_t> ids_in(const fs::path& annotations, const std::vector<fs::path>& files) {
  const CocoFile file = read_coco_file(annotations);
  std::map<std::string, std::int64_t> listed;
  for (const CocoImage& image : file.images())
    listed.emplace(fs::path(image.file_name).lexically_normal().string(), image.id);
  std::vector<std::int64_t> ids;
  std::vector<std::string> missing;
  for (const fs::path& picture : files) {
    const fs::path whole = picture.lexically_normal();
    auto found = listed.end();
    for (auto part = whole.begin(); part != whole.end() && found == listed.end(); ++part) {
      fs::path end;
      for (auto rest = part; rest != whole.end(); ++rest) end /= *rest;
      found = listed.find(end.string());
    }
    if (found == listed.end()) {
      missing.push_back(picture.string());
    } else {
      ids.push_back(found->second);
    }
  }
  check(missing.empty(), "--annotations: ", annotations.string(), " does not list ",
        first_few(missing), ", so these pictures have no id in it");
  return ids;
}

/// The ids of the files in COCO's results. Says so if they are not in the files' names.
std::vector<std::int64_t> ids_of(const std::vector<fs::path>& files) {
  std::vector<std::int64_t> ids;
  std::set<std::int64_t> distinct;
  for (const fs::path& file : files) {
    const std::optional<std::int64_t> number = parse_integer(file.stem().string());
    if (!number || !distinct.insert(*number).second) break;
    ids.push_back(*number);
  }
  if (ids.size() == files.size()) return ids;
  std::cerr << note_of(
                   "the image ids of --json are 1, 2, ... in the order of the files, as their "
                   "names are not different numbers",
                   2)
            << '\n';
  ids.clear();
  for (std::int64_t i = 1; i <= std::ssize(files); ++i) ids.push_back(i);
  return ids;
}

/// All objects as COCO's results; `ids` are those of the pictures.
std::string coco_results(const std::vector<FoundObject>& objects,
                         const std::vector<std::int64_t>& ids, const CategoryIds& categories) {
  std::vector<ScoredBox> results;
  for (const FoundObject& object : objects) {
    const std::int64_t category = categories.id_of(object.where.category);
    if (category < 0) continue;
    results.push_back(object.where);
    results.back().image = ids.at(static_cast<std::size_t>(object.where.image));
    results.back().category = category;
  }
  return format_coco_results(results);
}

std::string label_of(const PictureObject& object) {
  return object.name + " " + fixed_text(object.score, 2);
}

std::vector<ShownBox> boxes_of(const std::vector<PictureObject>& objects) {
  std::vector<ShownBox> boxes;
  for (const PictureObject& o : objects) {
    boxes.push_back({o.x, o.y, o.width, o.height, static_cast<std::size_t>(o.index), label_of(o)});
  }
  return boxes;
}

json json_of(const PictureObject& object) {
  return {{"index", object.index},
          {"name", object.name},
          {"score", object.score},
          {"box", {object.x, object.y, object.width, object.height}}};
}

std::string as_json(const std::vector<PictureObjects>& pictures, const std::string& checkpoint) {
  json list = json::array();
  for (const PictureObjects& picture : pictures) {
    json entry{{"file", picture.file}};
    if (!picture.error.empty()) {
      entry["error"] = picture.error;
    } else {
      entry["objects"] = json::array();
      for (const PictureObject& object : picture.objects)
        entry["objects"].push_back(json_of(object));
    }
    list.push_back(std::move(entry));
  }
  return json_text(json{{"checkpoint", checkpoint}, {"pictures", list}}, 2) + "\n";
}

std::string as_csv(const std::vector<PictureObjects>& pictures) {
  Csv csv("file,index,class,score,x,y,width,height");
  for (const PictureObjects& picture : pictures) {
    for (const PictureObject& o : picture.objects)
      csv.row(picture.file, o.index, o.name, o.score, o.x, o.y, o.width, o.height);
  }
  return csv.text();
}

std::string as_text(const std::vector<PictureObjects>& pictures, const std::string& checkpoint) {
  std::string text = "model  " + checkpoint + "\n";
  for (const PictureObjects& picture : pictures) {
    text += picture.file + "\n";
    if (!picture.error.empty()) {
      text += "  broken: " + picture.error + "\n";
    } else if (picture.objects.empty()) {
      text += "  no objects\n";
    }
    for (const PictureObject& o : picture.objects) {
      text +=
          concat("  ", fixed_text(o.score, 2), "  ", o.name, "  at ", std::lround(o.x), ",",
                 std::lround(o.y), "  ", std::lround(o.width), " x ", std::lround(o.height), "\n");
    }
  }
  return text;
}

}  // namespace

std::vector<PictureObjects> find_in_pictures(const LoadedModel& trained,
                                             const std::vector<fs::path>& files,
                                             const ObjectOptions& options,
                                             std::vector<fs::path>& written) {
  std::vector<PictureObjects> pictures;
  for (const fs::path& file : files) pictures.push_back({file.string(), {}});
  std::vector<std::int64_t> ids;  // read first, to name a picture without one before the work
  if (!options.json.empty())
    ids = options.annotations.empty() ? ids_of(files) : ids_in(options.annotations, files);
  const auto images = std::make_shared<PictureFiles>(files, trained.info.exif_orientation);
  const auto size_of = [&](std::int64_t index) { return images->get(index).image.size(); };
  const FoundObjects found =
      find_objects(model_as<Detector>(*trained.model), images, options.run, size_of);
  found.pass.require_finite(trained.weights.string() + ": ");
  for (const BrokenImage& image : found.pass.bad_images)
    pictures.at(static_cast<std::size_t>(image.index)).error = image.message;

  for (const FoundObject& object : found.objects) {
    const ScoredBox& box = object.where;
    const auto picture = static_cast<std::size_t>(box.image);
    const std::int64_t category = trained.info.categories.id_of(box.category);
    if (box.score < options.threshold || category < 0) continue;
    const auto& name = trained.info.classes.at(static_cast<std::size_t>(box.category));
    pictures.at(picture).objects.push_back(
        {category, name, box.score, box.x, box.y, box.width, box.height});
  }
  if (!options.json.empty()) {
    write_file_atomically(options.json, coco_results(found.objects, ids, trained.info.categories));
    written.push_back(options.json);
  }
  if (options.drawn.empty()) return pictures;
  OutputFolder output(options.drawn);
  std::set<std::string> taken;
  for (std::size_t i = 0; i < files.size(); ++i) {
    if (!pictures[i].error.empty()) continue;
    const std::string name = distinct_name(files[i].stem().string(), taken);
    const Image picture = images->get(static_cast<std::int64_t>(i)).image;
    const std::vector<ShownBox> boxes = boxes_of(pictures[i].objects);
    output.write(name + ".png", encode_png(image_of_boxes(picture, boxes)));
    output.write(name + ".svg", svg_of_boxes(picture, boxes));
  }
  written.insert(written.end(), output.files().begin(), output.files().end());
  return pictures;
}

std::string format_objects(const std::vector<PictureObjects>& pictures, const std::string& format,
                           const std::string& checkpoint) {
  if (format == "text") return as_text(pictures, checkpoint);
  if (format == "csv") return as_csv(pictures);
  check(format == "json", "format_objects: got ", format, ", expected text, csv or json");
  return as_json(pictures, checkpoint);
}

int predict_objects(const PredictRequest& request, LoadedModel& trained, const PictureList& list) {
  require_classes(trained);
  check_usage(request.annotations.empty() || !request.json.empty(),
              "--annotations: has the image ids of --json, expected --json FILE with it");
  static_cast<void>(name_classes(request.class_map, trained));
  ObjectOptions options;
  options.threshold = request.threshold.value_or(options.threshold);
  options.drawn = request.pictures.empty() ? "predictions" : request.pictures;
  options.json = request.json;
  options.annotations = request.annotations;
  options.run = request.options(trained);
  options.run.pad_multiple = 1;
  std::vector<fs::path> written;
  std::vector<PictureObjects> pictures;
  if (!list.files.empty()) pictures = find_in_pictures(trained, list.files, options, written);
  for (const fs::path& file : written) std::cerr << "wrote " << file.string() << '\n';
  insert_missing(pictures, list.missing);
  request.write(format_objects(pictures, request.format, trained.weights.string()));
  refuse_broken(errors_of(pictures), pictures.size());
  return 0;
}

}  // namespace fovea
