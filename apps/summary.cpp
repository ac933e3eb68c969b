// summary MODEL [--img-size N|HxW] [--num-classes N] [--graph FILE] ...: the tree of a model with
// output shapes, parameters and multiply-adds, and the memory that it takes; its ops as a drawing.
#include <iostream>
#include <nlohmann/json.hpp>

#include "apps/app.h"
#include "apps/cli.h"
#include "apps/graph_file.h"
#include "models/config_reader.h"
#include "models/registry.h"
#include "models/summary.h"
#include "settings/model_settings.h"

namespace {

using namespace fovea;
using nlohmann::json;

struct Request {
  ModelSettings settings;
  std::string classes, device = "cpu", graph;
};

CommandSpec command(Request& request) {
  CommandSpec spec;
  spec.name = "summary";
  spec.description =
      "The modules of a model with output shapes, parameters and multiply-adds, and its memory.\n"
      "Models: FAMILY_SIZE_patchP_IMAGE with any P and image; --list-models has the customary "
      "ones.";
  spec.models = model_names();
  spec.arguments = "MODEL";
  FieldGroup model(spec.fields, "Model");
  model.add("num-classes", &request.classes, "logits; 0: no head");
  model.add("device", &request.device, "whose memory is measured: cpu, cuda or cuda:N");
  model.add(
      "graph", &request.graph,
      "draw the ops of a forward pass, with attributes and shapes, into FILE: *.dot, or *.svg "
      "where Graphviz is installed");
  request.settings.add_fields(spec.fields);
  return spec;
}

int summary(int argc, char** argv) {
  Request request;
  const std::vector<std::string> names = parse_into_fields(argc, argv, command(request));
  if (names.size() != 1) throw UsageError("summary: name one MODEL");
  const Device device = parse_device(request.device);
  require_device(device);
  json overrides = request.settings.overrides();
  if (!request.classes.empty()) {
    overrides["num_classes"] = parse_config_value(request.classes);
  }
  if (!request.graph.empty()) require_graph_file(request.graph);
  std::unique_ptr<Model> model;
  try {
    model = make_model(names.front(), overrides, 0, {DType::f32, device});
    print_summary(std::cout, *model);
  } catch (const Error& error) {  // a name or a setting that does not exist
    throw UsageError(error.what());
  }
  if (!request.graph.empty()) {
    write_graph(request.graph, draw_graph(*model));
    std::cout << "graph         " << request.graph << '\n';
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) { return fovea::run_app(argc, argv, summary); }
