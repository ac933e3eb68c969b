// The state file. Tensor names: param/NAME, buffer/NAME, m/NAME, v/NAME, ema/NAME. Metadata:
// "fovea" (the format), "progress", "settings", "images" and the model's own keys, each JSON, "isa"
// (the CPU's instruction set), and "crc32c" over everything.
#include "train/run/run_state.h"

#include <map>

#include "engine/autograd.h"
#include "engine/base/error.h"
#include "engine/base/text.h"
#include "engine/copy.h"
#include "engine/cpu_isa.h"
#include "engine/formats/named_tensors.h"
#include "engine/formats/numpy/npz.h"
#include "engine/formats/torch/torch_file.h"
#include "models/checkpoints/pretrained.h"

namespace fovea {
namespace {

using Tensors = std::map<std::string, Tensor>;

constexpr const char* kFormat = "state-2";
constexpr const char* kFormatWithoutSum = "state-1";  // earlier versions

/// Handles to all tensors of the state.
Tensors tensors_of(const TrainState& state) {
  Tensors tensors;
  for (const Parameter& p : state.model->store().parameters()) {
    tensors["param/" + p.name] = p.tensor.detach();
  }
  for (const Parameter& p : state.model->store().buffers()) {
    tensors["buffer/" + p.name] = p.tensor.detach();
  }
  tensors.insert(state.moments.begin(), state.moments.end());
  for (const auto& [name, average] : state.averages) tensors["ema/" + name] = average;
  return tensors;
}

/// People give other programs' checkpoints to --resume, which continues runs of fovea alone.
void require_own_file(const std::filesystem::path& path) {
  const InputFile file(path);
  const char* const kind = is_torch_file(file) ? "a checkpoint of PyTorch"
                           : is_npz(file)      ? "a file of NumPy arrays"
                                               : nullptr;
  check(kind == nullptr, path.string(), ": is ", kind == nullptr ? "" : kind,
        ", not the state of a run (state.safetensors in a run directory); to start from its ",
        "weights, give it to --finetune or --initial-checkpoint instead of --resume");
}

SafetensorsFile read_run_state(const std::filesystem::path& path) {
  require_own_file(path);
  SafetensorsFile file = read_safetensors(path);
  const auto format = file.metadata.find("fovea");
  check(
      format != file.metadata.end(), path.string(),
      ": is not the state of a run (state.safetensors in a run directory); to start from weights, ",
      "give them to --finetune or --initial-checkpoint instead of --resume");
  if (format->second == kFormatWithoutSum) return file;
  check(format->second == kFormat, path.string(), ": has format ", format->second, ", expected ",
        kFormat);
  check(value_or(file.metadata, "crc32c", "") == checksum_of(file.tensors, file.metadata),
        path.string(), ": damaged: its checksum is wrong");
  return file;
}

/// Throws one Error with all differences in the parameters, or, if these agree, in the tensors that
/// depend on them (moments, averages).
void require_same(const Tensors& mine, const Tensors& saved, const std::string& path) {
  for (const char* kind : {"param/", "buffer/", ""}) {
    const std::vector<std::string> lines = differences(mine, saved, kind);
    std::string text;
    for (const std::string& line : lines) text.append(text.empty() ? " " : "; ").append(line);
    check(lines.empty(), path, ": does not fit this run, ", lines.size(),
          lines.size() == 1 ? " tensor differs:" : " tensors differ:", text);
  }
}

Progress progress_of(const SafetensorsFile& file, const std::string& path) try {
  return parse_run_progress(value_or(file.metadata, "progress", ""));
} catch (const std::exception& error) {  // from parsing or invalid counts
  fail(path, ": its progress cannot be read: ", error.what());
}

void set_progress(TrainState& state, const Progress& progress) {
  state.optimizer->set_steps_done(progress.updates);
  state.progress = progress;
}

}  // namespace

std::vector<std::string> nonfinite_tensors(const TrainState& state) {
  std::vector<std::string> names;
  for (const auto& [name, tensor] : tensors_of(state)) {
    if (!all_finite(tensor)) names.push_back(name);
  }
  return names;
}

PendingFile run_state_file(const std::filesystem::path& path, const TrainState& state) {
  PendingFile file{path, tensors_of(state), metadata_of(*state.model)};
  file.metadata["fovea"] = kFormat;
  file.metadata["progress"] = format_run_progress(state.progress);
  file.metadata["settings"] = state.config;
  if (!state.images.empty()) file.metadata["images"] = state.images;
  if (state.model->device().is_cpu()) file.metadata["isa"] = to_string(cpu_isa());
  return file;
}

void load_run_state(const std::filesystem::path& path, TrainState& state,
                    const std::function<void(SavedProgress&)>& accept) {
  const SafetensorsFile file = read_run_state(path);
  SavedProgress saved{progress_of(file, path.string()), value_or(file.metadata, "images", ""),
                      value_or(file.metadata, "isa", "")};
  if (accept) accept(saved);  // first: different classes explain why a head does not fit
  const Progress& progress = saved.progress;
  const Tensors mine = tensors_of(state);
  require_same(mine, file.tensors, path.string());
  const NoGrad no_grad;
  for (const auto& [name, tensor] : mine) tensor.copy_(file.tensors.at(name));
  set_progress(state, progress);
}

void broadcast_run_state(TrainState& state, Communicator& processes) {
  const NoGrad no_grad;
  for (const auto& [name, tensor] : tensors_of(state)) {
    const Tensor host = tensor.to(Device{}).contiguous();
    broadcast(processes, {host.raw(), static_cast<std::size_t>(host.byte_count())});
    if (!processes.is_first()) tensor.copy_(host);
  }
  set_progress(state,
               parse_run_progress(broadcast(processes, format_run_progress(state.progress))));
}

std::string read_state_config(const std::filesystem::path& path) {
  const SafetensorsFile file = read_run_state(path);
  const auto found = file.metadata.find("settings");
  check(found != file.metadata.end(), path.string(), ": its metadata has no settings");
  return found->second;
}

}  // namespace fovea
