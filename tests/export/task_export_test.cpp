// The models of all tasks as ONNX graphs.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "export/export_model.h"
#include "export/interpreter.h"
#include "models/registry.h"
#include "tests/export/exported.h"

using namespace fovea;

TEST_CASE("the files of encoders, depth models, detectors and denoisers compute their outputs") {
  struct Family {
    std::string name;
    std::vector<std::string> outputs;
  };
  const std::vector<Family> families{{"mae", {"features"}},
                                     {"depth", {"depth"}},
                                     {"detr", {"boxes", "scores", "classes", "probabilities"}},
                                     {"ddetr", {"boxes", "scores", "classes", "probabilities"}},
                                     {"dit", {"noise"}},
                                     {"vae", {"image"}}};
  for (const Family& family : families) {
    int count = 0;
    for (const auto& golden : tests::models_of_goldens({family.name})) {
      CAPTURE(golden.name);
      tests::disturb(*golden.model);
      const ExportedPass pass = exported_pass(*golden.model);
      const onnx::ModelProto file = tests::file_of(*golden.model);
      std::vector<std::string> names;
      for (const onnx::ValueInfoProto& output : file.graph.outputs) names.push_back(output.name);
      if (names.back() == "sigma") names.pop_back();
      CHECK(names == family.outputs);
      CHECK(difference_of(file, pass, {random_trial(pass, 3)}).relative < 2e-5);
      ++count;
    }
    CAPTURE(family.name);
    CHECK(count >= 2);
  }
}
