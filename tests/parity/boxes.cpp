// Golden files of the matching of boxes to objects: costs and exact pairs, which are computed in
// f64 whatever the precision of the predictions.
#include "engine/base/error.h"
#include "engine/base/json.h"
#include "models/config_reader.h"
#include "models/detection/matching_costs.h"
#include "tests/parity/case.h"

namespace fovea::golden {
namespace {

using nlohmann::json;

/// A case of a file: its name, and the options that its family and its weights give.
struct BoxesCase {
  std::string name;
  SetLossOptions options;
};

double weight_at(const json& weights, std::size_t i) {
  const bool is_number = weights.is_array() && weights.size() == 3 && weights[i].is_number();
  check(is_number, "config: weights: got ", json_text(weights), ", expected three numbers");
  return weights[i].get<double>();
}

BoxesCase read_case(json entry) {
  check(entry.is_object(), "config: cases: got ", json_text(entry), ", expected objects");
  const json name = entry.value("name", json()), weights = entry.value("weights", json());
  check(name.is_string(), "config: name: got ", json_text(name), ", expected a string");
  entry.erase("name");
  entry.erase("weights");
  ConfigReader r("config", entry);
  r.require("family");
  const std::string family = r.read_name("family", {"detr", "ddetr"}, "detr");
  r.finish();
  return {name.get<std::string>(),
          {.class_loss = family == "detr" ? ClassLoss::softmax : ClassLoss::focal,
           .class_weight = weight_at(weights, 0),
           .box_weight = weight_at(weights, 1),
           .giou_weight = weight_at(weights, 2)}};
}

Objects take_objects(Case& c, const std::string& name) {
  Objects objects;
  for (const double label : c.take(name + "/target_labels").to_vector()) {
    objects.labels.push_back(static_cast<std::int64_t>(label));
  }
  objects.boxes = c.take(name + "/target_boxes").to_vector();
  check(std::ssize(objects.boxes) == 4 * objects.count(), name, ": got ", objects.boxes.size(),
        " coordinates for ", objects.count(), " objects, expected four each");
  return objects;
}

void check_case(Case& c, const BoxesCase& boxes) {
  const Predictions predictions{c.take(boxes.name + "/logits", c.options.parameters()),
                                c.take(boxes.name + "/boxes", c.options.parameters())};
  const Objects objects = take_objects(c, boxes.name);
  const MatchingCosts costs = matching_costs(predictions, objects, boxes.options.class_loss);
  c.compare_output(boxes.name + "/giou", costs.giou);
  c.compare_output(boxes.name + "/l1", costs.l1);
  c.compare_pairs(boxes.name + "/match", match_objects(predictions, objects, boxes.options));
}

}  // namespace

void check_boxes(Case& c) {
  const json cases = c.config.value("cases", json());
  check(cases.is_array() && c.config.size() == 1, "config: got ", json_text(c.config),
        ", expected a list `cases` and nothing else");
  for (const json& entry : cases) check_case(c, read_case(entry));
}

}  // namespace fovea::golden
