// summary MODEL|RUN_DIR|HUB_FOLDER [--img-size N|HxW] [--num-classes N] [--graph FILE] ...: a
// model's tree with output shapes, parameters and multiply-adds, its memory, and a drawing of its
// ops.
#include <iostream>
#include <nlohmann/json.hpp>

#include "apps/common/cli.h"
#include "apps/common/computing.h"
#include "apps/common/graph_file.h"
#include "apps/common/named_model.h"
#include "engine/base/json.h"
#include "models/config_reader.h"
#include "models/registry.h"
#include "models/summary.h"
#include "train/settings/model_settings.h"

namespace fovea::programs {
namespace {
using nlohmann::json;

struct SummaryRequest {
  ModelSettings settings;
  std::string classes, device = "cpu", graph;
};

CommandSpec command(SummaryRequest& request) {
  CommandSpec spec;
  spec.name = "summary";
  spec.description =
      "Shows a model's modules with output shapes, parameters and multiply-adds, and its memory.\n"
      "Models: FAMILY_SIZE_patchP_IMAGE with any patch and image size (--list-models lists the\n"
      "common ones), or the model of a run directory, hub folder or weights file.";
  spec.models = {model_names(), all_model_names()};
  spec.arguments = "model name, run directory, hub folder or weights file";
  FieldGroup model(spec.fields, "Model");
  model.add("num-classes", &request.classes, "number of logits; 0: no head");
  model.add("device", &request.device, "device to measure memory on: cpu, cuda or cuda:N");
  model.add("graph", &request.graph,
            "draw the ops of a forward pass, with attributes and shapes, to FILE: *.dot, or *.svg "
            "if Graphviz is installed");
  request.settings.add_fields(spec.fields);
  return spec;
}

}  // namespace

int run_summary(int argc, char** argv) {
  SummaryRequest request;
  const std::vector<std::string> names = parse_into_fields(argc, argv, command(request));
  check_usage(names.size() == 1, "summary: got ", names.size(),
              " models, expected one: a name, a run directory, a hub folder or a weights file");
  const Device device = parse_device(request.device);
  start_computing(device);
  json overrides = request.settings.overrides();
  if (!request.classes.empty()) {
    overrides["num_classes"] = parse_config_value(request.classes);
  }
  if (!request.graph.empty()) require_graph_file(request.graph);
  const std::unique_ptr<Model> model =
      make_named_model(names.front(), json_text(overrides), {DType::f32, device});
  print_summary(std::cout, *model);
  if (!request.graph.empty()) {
    write_graph(request.graph, draw_graph(*model));
    std::cout << "graph         " << request.graph << '\n';
  }
  return 0;
}

}  // namespace fovea::programs
