// Reads data sets with boxes for detection_data.py:
//   detection_data DATASET FOLDER OUTPUT   writes what is read as JSON
//   detection_data time FILE               prints the processor's seconds for an annotation file,
//   and MB detection_data results INPUT OUTPUT    reads COCO's results and writes them again
#include <sys/resource.h>

#include <cstdio>
#include <ctime>
#include <nlohmann/json.hpp>
#include <string>

#include "data/sources/boxes/coco_file.h"
#include "data/sources/boxes/detection_set.h"
#include "engine/base/error.h"
#include "engine/base/json.h"
#include "models/detection/coco_results.h"
#include "tests/support/coco_results_reader.h"

namespace {

using namespace fovea;
using nlohmann::json;

void write_set(const std::string& name, const std::string& folder, const std::string& output) {
  DatasetOptions options;
  options.name = name;
  options.data_dir = folder;
  json splits;
  for (const Split split : {Split::train, Split::test}) {
    const auto set = require_boxes(open_dataset(options, split), "detection_data");
    json images = json::array();
    for (std::int64_t i = 0; i < set->size(); ++i) {
      const ImageSize size = set->stored_size(i);
      json objects = json::array(), boxes = json::array();
      for (const Annotation& o : set->annotations(i))
        objects.push_back({o.id, o.label, o.x, o.y, o.width, o.height, o.area, o.crowd});
      const Sample sample = set->get(i);
      for (const ObjectBox& box : sample.targets.boxes.value())
        boxes.push_back({box.x0, box.y0, box.x1, box.y1, box.label});
      images.push_back({{"id", set->image_id(i)},
                        {"file", set->describe(i)},
                        {"height", size.height},
                        {"width", size.width},
                        {"objects", objects},
                        {"boxes", boxes}});
    }
    splits[split == Split::train ? "train" : "test"] = {
        {"images", images}, {"names", set->class_names()}, {"ids", set->category_ids()}};
  }
  write_file_atomically(output, json_text(splits));
}

void time_file(const std::string& path) {
  const std::clock_t start = std::clock();
  const CocoFile file = read_coco_file(path);
  const double seconds = static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  std::size_t objects = 0;
  for (std::int64_t i = 0; i < std::ssize(file.images()); ++i) objects += file.objects(i).size();
  std::printf("%f %ld %zu\n", seconds, usage.ru_maxrss / 1024, objects);
}

}  // namespace

int main(int argc, char** argv) try {
  const std::vector<std::string> words(argv + 1, argv + argc);
  if (words.size() == 2 && words[0] == "time") {
    time_file(words[1]);
  } else if (words.size() == 3 && words[0] == "results") {
    const auto boxes = parse_coco_results(read_file(words[1]));
    write_file_atomically(words[2], format_coco_results(boxes));
  } else {
    check(words.size() == 3,
          "usage: detection_data DATASET FOLDER OUTPUT | time FILE | results A B");
    write_set(words[0], words[1], words[2]);
  }
  return 0;
} catch (const std::exception& error) {
  std::fprintf(stderr, "error: %s\n", error.what());
  return 1;
}
