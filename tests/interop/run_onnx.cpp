// run_onnx MODEL.onnx INPUTS.safetensors OUTPUTS.safetensors: runs a file in the interpreter.
#include <cstdio>
#include <map>
#include <string>
#include <vector>

#include "engine/base/error.h"
#include "engine/formats/safetensors.h"
#include "export/interpreter.h"
#include "export/onnx_file.h"

namespace {

using namespace fovea;

void run(const char* model_path, const char* inputs_path, const char* outputs_path) {
  const onnx::ModelProto model = onnx::read_model(model_path);
  const std::vector<Tensor> values = run_model(model, read_safetensors(inputs_path).tensors);
  std::map<std::string, Tensor> outputs;
  for (std::size_t i = 0; i < values.size(); ++i) {
    outputs[model.graph.outputs[i].name] = values[i];
  }
  write_safetensors(outputs_path, outputs, {});
}

}  // namespace

int main(int argc, char** argv) try {
  check(argc == 4, "usage: run_onnx MODEL.onnx INPUTS.safetensors OUTPUTS.safetensors");
  run(argv[1], argv[2], argv[3]);
  return 0;
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
