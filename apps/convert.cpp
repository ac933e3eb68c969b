// convert FILE: writes a checkpoint's weights as safetensors, for programs without other readers.
#include <filesystem>
#include <iostream>
#include <map>

#include "apps/common/cli.h"
#include "apps/common/launch.h"
#include "engine/base/error.h"
#include "engine/base/text.h"
#include "engine/base/wrap.h"
#include "engine/formats/safetensors.h"
#include "engine/formats/weights_file.h"
#include "models/checkpoints/hub_config.h"
#include "models/checkpoints/weights_folder.h"

namespace fovea::programs {
namespace {

struct ConvertRequest {
  std::string output, weights_key;
  bool overwrite = false;
};

Fields fields_of(ConvertRequest& r) {
  Fields fields;
  FieldGroup group(fields, "Convert");
  group.add("output", &r.output, "the .safetensors file to write");
  group.add("weights-key", &r.weights_key,
            "which weights to read from a PyTorch file with several sets: model, model_ema, ...");
  group.add("overwrite", &r.overwrite, "overwrite an existing file");
  return fields;
}

/// "152 tensors: 2 F16 as F32, 150 F32".
std::string count_text(const WeightsList& list) {
  std::map<StoredType, int> counts;
  for (const StoredEntry& entry : list.entries) ++counts[entry.type];
  std::vector<std::string> parts;
  for (const auto& [type, count] : counts) {
    const StoredType written = stored_type(held_dtype(type));
    std::string part = std::to_string(count) + " " + std::string(to_string(type));
    if (written != type) part += " as " + std::string(to_string(written));
    parts.push_back(std::move(part));
  }
  const std::size_t all = list.entries.size();
  return std::to_string(all) + (all == 1 ? " tensor: " : " tensors: ") + join(parts, ", ");
}

std::string left_out_text(const WeightsList& list) {
  constexpr std::size_t kMaxShown = 20;
  std::vector<std::string> names = list.others;
  if (names.size() > kMaxShown) {
    names.resize(kMaxShown);
    names.push_back("and " + std::to_string(list.others.size() - kMaxShown) + " more");
  }
  return note_of("skipped entries that are not tensors: " + join(names, ", "));
}

}  // namespace

int run_convert(int argc, char** argv) {
  require_one_process();
  ConvertRequest request;
  const std::vector<std::string> arguments = parse_into_fields(
      argc, argv,
      {"convert",
       "Converts the weights of a torch.save file (.pth, .pt, .bin) or a safetensors file to\n"
       "safetensors. Nothing in the file is executed.",
       "weights file, or folder that contains one", fields_of(request)});
  if (arguments.size() != 1) throw UsageError("convert: name one file");
  if (request.output.empty()) throw UsageError("convert: needs --output FILE.safetensors");
  const std::filesystem::path output = request.output, input = weights_in(arguments.front());
  check(request.overwrite || !std::filesystem::exists(output), output.string(),
        ": already exists; --overwrite replaces it");
  const WeightsList list = list_weights(input, request.weights_key);
  const WeightsFile file = read_weights(input, request.weights_key);
  write_safetensors(output, file.tensors, file.metadata);
  if (!file.note.empty()) std::cerr << note_of(input.string() + ": " + file.note, 2) << '\n';
  if (!list.others.empty()) std::cerr << left_out_text(list) << '\n';
  std::cout << "wrote " << output.string() << ": " << count_text(list) << '\n';
  return 0;
}

}  // namespace fovea::programs
