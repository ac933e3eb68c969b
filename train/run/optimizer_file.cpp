// Writing and reading an optimizer.
#include "train/run/optimizer_file.h"

#include "engine/base/error.h"
#include "engine/base/text.h"
#include "engine/formats/named_tensors.h"
#include "engine/formats/safetensors.h"

namespace fovea {

void save_optimizer(const std::filesystem::path& path, const Optimizer& optimizer) {
  write_safetensors(path, optimizer.state(),
                    {{"optimizer", name_of(optimizer.options().kind)},
                     {"steps", std::to_string(optimizer.steps_done())}});
}

void load_optimizer(const std::filesystem::path& path, Optimizer& optimizer) {
  const SafetensorsFile file = read_safetensors(path);
  const std::string kind = value_or(file.metadata, "optimizer", ""),
                    own = name_of(optimizer.options().kind);
  check(!kind.empty(), path.string(), ": is no file of save_optimizer()");
  check(kind == own, path.string(), ": is of the optimizer ", kind, ", expected ", own);
  const std::optional<std::int64_t> steps = parse_integer(value_or(file.metadata, "steps", ""));
  check(steps && *steps >= 0, path.string(), ": does not say how many steps were done");
  copy_all(optimizer.state(), file.tensors, path.string());
  optimizer.set_steps_done(*steps);
}

}  // namespace fovea
