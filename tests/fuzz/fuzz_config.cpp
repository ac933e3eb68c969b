// Fuzzes the reader of --config files: any text sets every field or throws, and writing the fields
// gives text that sets the same values.
#include <cstdint>
#include <string>

#include "engine/base/error.h"
#include "train/start/tasks.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string json(reinterpret_cast<const char*>(data), size);
  fovea::TrainConfig config = fovea::config_for(fovea::TaskKind::classification);
  const fovea::Fields fields = fovea::fields_of(config);
  try {
    fovea::apply_json(fields, json, "input");
  } catch (const fovea::Error&) {  // the documented answer to bad input
    return 0;
  }
  const std::string written = fovea::to_json(fields);
  fovea::TrainConfig again = fovea::config_for(fovea::TaskKind::classification);
  const fovea::Fields fields_again = fovea::fields_of(again);
  fovea::apply_json(fields_again, written, "output");
  if (fovea::to_json(fields_again) != written) __builtin_trap();
  try {
    fovea::check_config(config);
  } catch (const fovea::Error&) {
  }
  return 0;
}
