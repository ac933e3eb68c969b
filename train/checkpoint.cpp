// Names in state.safetensors: param/NAME, buffer/NAME, m/NAME, v/NAME, ema/NAME. Metadata: "fovea"
// (the format), "progress", "settings" and the model's own keys, each JSON, and "crc32c" of all of
// it.
#include "train/checkpoint.h"

#include <nlohmann/json.hpp>

#include "base/crc32c.h"
#include "base/error.h"
#include "base/json.h"
#include "base/names.h"
#include "base/text.h"
#include "data/evaluation.h"
#include "engine/autograd.h"
#include "engine/copy.h"
#include "engine/safetensors.h"
#include "models/hub_config.h"
#include "models/pretrained.h"

namespace fovea {
namespace {

using nlohmann::json;
using Tensors = std::map<std::string, Tensor>;

constexpr const char* kFormat = "state-2";
constexpr const char* kFormatWithoutSum = "state-1";  // of earlier versions

/// Handles to everything that the state consists of.
Tensors tensors_of(const TrainState& state) {
  Tensors tensors;
  for (const Parameter& p : state.model->store().parameters()) {
    tensors["param/" + p.name] = p.tensor.detach();
  }
  for (const Parameter& p : state.model->store().buffers()) {
    tensors["buffer/" + p.name] = p.tensor.detach();
  }
  tensors.merge(state.optimizer->state());
  if (state.ema != nullptr) {
    for (const auto& [name, average] : state.ema->averages()) tensors["ema/" + name] = average;
  }
  return tensors;
}

json to_json(const LossSums& sums) {
  return {{"samples", sums.samples}, {"loss_sum", sums.total}, {"parts", sums.parts}};
}

json to_json(const BestEpoch& best) { return {{"epoch", best.epoch}, {"score", best.score}}; }

/// Throws where the counts could not have come from a run.
void check_progress(const Progress& p) {
  constexpr std::int64_t kMost = std::int64_t{1} << 53;  // steps and images beyond any run
  for (const auto& [name, count] : {std::pair("step", p.step),
                                    {"updates", p.updates},
                                    {"forward", p.forward},
                                    {"finished_epochs", p.finished_epochs},
                                    {"cursor_epoch", p.cursor.epoch},
                                    {"cursor_batch", p.cursor.batch},
                                    {"epoch.samples", p.epoch.samples},
                                    {"interval.samples", p.interval.samples}}) {
    check(count >= 0 && count <= kMost, name, ": got ", count, ", expected 0 to ", kMost);
  }
  check(p.updates <= p.step && p.step <= p.forward, "got ", p.updates, " updates in ", p.step,
        " steps of ", p.forward, " batches, expected no more of the former");
  const bool between = p.cursor.epoch == p.finished_epochs + 1 && p.cursor.batch == 0;
  check(p.cursor.epoch == p.finished_epochs || between, "got a place in epoch ", p.cursor.epoch,
        ", batch ", p.cursor.batch, " after ", p.finished_epochs, " finished epochs");
  for (const BestEpoch& best : {p.best, p.best_ema}) {
    check(best.epoch >= -1 && best.epoch < std::max<std::int64_t>(p.finished_epochs, 1),
          "got a best epoch of ", best.epoch, " after ", p.finished_epochs);
  }
  check(p.epoch.is_finite() && p.interval.is_finite(), "got sums of losses that are not finite");
  check(p.guard.in_row >= 0 && p.guard.skipped >= 0 && p.plateau.bad_epochs >= 0,
        "got negative counts of skipped steps or bad epochs");
}

LossSums sums_from(const json& j) {
  LossSums sums;
  sums.samples = j.at("samples").get<std::int64_t>();
  sums.total = j.at("loss_sum").get<double>();
  sums.parts = j.value("parts", std::vector<double>{});  // earlier versions had none
  return sums;
}

/// States of earlier versions, which classified only, have "best_top1" and "best_epoch".
BestEpoch best_from(const json& j, const std::string& name) {
  if (!j.contains(name)) return {j.at(name + "_epoch"), j.at(name + "_top1")};
  return {j.at(name).at("epoch"), j.at(name).at("score")};
}

json to_json(const PlateauState& s) {
  return {{"lowered", s.lowered},
          {"lr", s.lr},
          {"has_best", s.has_best},
          {"best", s.best},
          {"bad_epochs", s.bad_epochs}};
}

PlateauState plateau_from(const json& j) {
  PlateauState s;
  s.lowered = j.at("lowered").get<bool>();
  s.lr = j.at("lr").get<double>();
  s.has_best = j.at("has_best").get<bool>();
  s.best = j.at("best").get<double>();
  s.bad_epochs = j.at("bad_epochs").get<std::int64_t>();
  return s;
}

json to_json(const GuardState& s) {
  return {{"losses", s.losses}, {"in_row", s.in_row}, {"skipped", s.skipped}};
}

GuardState guard_from(const json& j) {
  GuardState s;
  s.losses = j.at("losses").get<std::vector<double>>();
  s.in_row = j.at("in_row").get<std::int64_t>();
  s.skipped = j.at("skipped").get<std::int64_t>();
  check(s.losses.size() <= StepGuard::kWindow, "the guard remembers ", s.losses.size(),
        " losses, expected at most ", StepGuard::kWindow);
  return s;
}

json to_json(const Progress& p) {
  return {{"step", p.step},
          {"updates", p.updates},
          {"forward", p.forward},
          {"finished_epochs", p.finished_epochs},
          {"cursor_epoch", p.cursor.epoch},
          {"cursor_batch", p.cursor.batch},
          {"epoch", to_json(p.epoch)},
          {"epoch_seconds", p.epoch_seconds},
          {"interval", to_json(p.interval)},
          {"best", to_json(p.best)},
          {"best_ema", to_json(p.best_ema)},
          {"plateau", to_json(p.plateau)},
          {"guard", to_json(p.guard)}};
}

Progress progress_from(const json& j) {
  Progress p;
  p.step = j.at("step").get<std::int64_t>();
  p.updates = j.value("updates", p.step);  // states of earlier versions skipped none
  p.forward = j.at("forward").get<std::int64_t>();
  p.finished_epochs = j.at("finished_epochs").get<std::int64_t>();
  p.cursor.epoch = j.at("cursor_epoch").get<std::int64_t>();
  p.cursor.batch = j.at("cursor_batch").get<std::int64_t>();
  p.epoch = sums_from(j.at("epoch"));
  p.epoch_seconds = j.at("epoch_seconds").get<double>();
  p.interval = sums_from(j.at("interval"));
  p.best = best_from(j, "best");
  p.best_ema = best_from(j, "best_ema");
  if (j.contains("plateau")) p.plateau = plateau_from(j.at("plateau"));
  if (j.contains("guard")) p.guard = guard_from(j.at("guard"));
  check_progress(p);
  return p;
}

/// Of everything in a state's file but the checksum itself.
std::string checksum_of(const Tensors& tensors, const Metadata& metadata) {
  std::uint32_t crc = 0;
  const auto add = [&](const std::string& text) { crc = crc32c(text + '\0', crc); };
  for (const auto& [key, value] : metadata) {
    if (key == "crc32c") continue;
    add(key);
    add(value);
  }
  for (const auto& [name, tensor] : tensors) {
    add(name);
    const Tensor bytes = tensor.detach().to(Device{}).contiguous();
    const auto count = static_cast<std::size_t>(bytes.numel()) * size_of(bytes.dtype());
    crc = crc32c({reinterpret_cast<const char*>(bytes.raw()), count}, crc);
  }
  return std::to_string(crc);
}

std::string text_or(const std::map<std::string, std::string>& metadata, const std::string& key,
                    const std::string& otherwise) {
  const auto found = metadata.find(key);
  return found == metadata.end() ? otherwise : found->second;
}

SafetensorsFile read_run_state(const std::filesystem::path& path) {
  SafetensorsFile file = read_safetensors(path);
  const auto format = file.metadata.find("fovea");
  check(format != file.metadata.end(), path.string(),
        ": is no state of a run (a run directory's state.safetensors)");
  if (format->second == kFormatWithoutSum) return file;
  check(format->second == kFormat, path.string(), ": has format ", format->second, ", expected ",
        kFormat);
  check(text_or(file.metadata, "crc32c", "") == checksum_of(file.tensors, file.metadata),
        path.string(),
        ": damaged: its checksum is wrong; the weights files beside it may be whole: ",
        "--initial-checkpoint starts a new run from one");
  return file;
}

/// One line per difference of names, shapes and dtypes among the tensors of one kind ("m/").
std::vector<std::string> differences(const Tensors& mine, const Tensors& saved,
                                     const std::string& kind) {
  std::vector<std::string> lines;
  const auto note = [&](const auto&... parts) {
    std::ostringstream line;
    (line << ... << parts);
    lines.push_back(line.str());
  };
  for (const auto& [name, tensor] : mine) {
    if (!name.starts_with(kind)) continue;
    const auto found = saved.find(name);
    if (found == saved.end()) {
      note("missing ", name, " ", tensor.shape());
    } else if (found->second.shape() != tensor.shape() || found->second.dtype() != tensor.dtype()) {
      note(name, " is ", found->second.dtype(), " ", found->second.shape(), ", expected ",
           tensor.dtype(), " ", tensor.shape());
    }
  }
  for (const auto& [name, tensor] : saved) {
    if (name.starts_with(kind) && !mine.contains(name)) {
      note("unexpected ", name, " ", tensor.shape());
    }
  }
  return lines;
}

/// Throws one Error with all differences of the parameters; of what hangs on them (moments,
/// averages) only where the parameters agree.
void require_same(const Tensors& mine, const Tensors& saved, const std::string& path) {
  for (const char* kind : {"param/", "buffer/", ""}) {
    const std::vector<std::string> lines = differences(mine, saved, kind);
    std::string text;
    for (const std::string& line : lines) text.append(text.empty() ? " " : "; ").append(line);
    check(lines.empty(), path, ": does not fit this run, ", lines.size(), " tensors differ:", text);
  }
}

std::array<float, 3> channel_values(const std::string& text, std::array<float, 3> otherwise) {
  const json values = parse_json(text);
  if (!values.is_array() || values.size() != 3) return otherwise;
  for (std::size_t c = 0; c < 3; ++c) {
    if (!values[c].is_number()) return otherwise;
    otherwise[c] = values[c].get<float>();
  }
  return otherwise;
}

double number_or(const std::map<std::string, std::string>& metadata, const std::string& key,
                 double otherwise) {
  const json value = parse_json(text_or(metadata, key, ""));
  return value.is_number() ? value.get<double>() : otherwise;
}

/// Of weights that another program wrote.
WeightsInfo foreign_weights_info(const std::filesystem::path& path) {
  WeightsInfo info;
  info.normalization = kImageNetNormalization;
  info.crop.mode = CropMode::center;
  const std::optional<HubConfig> hub = find_hub_config(path);
  if (!hub) return info;
  for (const std::string& name : hub->classes) info.classes.push_back(visible_text(name));
  info.normalization = {hub->mean, hub->deviation};
  info.crop.crop_pct = hub->crop_pct;
  info.crop.mode = parse_name<CropMode>("crop_mode", hub->crop_mode);
  info.crop.filter = parse_name<Filter>("interpolation", hub->interpolation);
  return info;
}

}  // namespace

std::vector<std::string> nonfinite_tensors(const TrainState& state) {
  std::vector<std::string> names;
  for (const auto& [name, tensor] : tensors_of(state)) {
    if (!all_finite(tensor)) names.push_back(name);
  }
  return names;
}

void PendingFile::detach_from_run() {
  const NoGrad no_grad;
  for (auto& [name, tensor] : tensors) {
    tensor = tensor.device() == Device{} ? tensor.detach().clone() : tensor.detach().to(Device{});
  }
}

void PendingFile::write() const {
  Metadata complete = metadata;
  if (complete.contains("fovea")) {
    complete.emplace("format", "pt");  // as the writer would: it counts
    complete["crc32c"] = checksum_of(tensors, complete);
  }
  write_safetensors(path, tensors, complete);
}

PendingFile run_state_file(const std::filesystem::path& path, const TrainState& state) {
  PendingFile file{path, tensors_of(state), metadata_of(*state.model)};
  file.metadata["fovea"] = kFormat;
  file.metadata["progress"] = json_text(to_json(state.progress));
  file.metadata["settings"] = state.config;
  return file;
}

void save_run_state(const std::filesystem::path& path, const TrainState& state) {
  run_state_file(path, state).write();
}

void load_run_state(const std::filesystem::path& path, TrainState& state,
                    const std::function<void(const Progress&)>& accept) {
  const SafetensorsFile file = read_run_state(path);
  const Tensors mine = tensors_of(state);
  require_same(mine, file.tensors, path.string());
  Progress progress;
  try {
    progress = progress_from(parse_json(text_or(file.metadata, "progress", "")));
  } catch (const std::exception& error) {  // of its JSON, or what check_progress() says
    fail(path.string(), ": its progress cannot be read: ", error.what());
  }
  if (accept) accept(progress);
  const NoGrad no_grad;
  for (const auto& [name, tensor] : mine) tensor.copy_(file.tensors.at(name));
  state.optimizer->set_steps_done(progress.updates);
  state.progress = progress;
}

std::string read_state_config(const std::filesystem::path& path) {
  const SafetensorsFile file = read_run_state(path);
  const auto found = file.metadata.find("settings");
  check(found != file.metadata.end(), path.string(), ": its metadata has no settings");
  return found->second;
}

PendingFile weights_file(const std::filesystem::path& path, const Model& model,
                         const Tensors& values, const WeightsInfo& info) {
  PendingFile file{path, values, metadata_of(model)};
  Metadata& metadata = file.metadata;
  metadata["dataset"] = info.dataset;
  metadata["classes"] = json_text(json(info.classes));
  metadata["mean"] = json_text(json(info.normalization.mean));
  metadata["std"] = json_text(json(info.normalization.deviation));
  metadata["crop_pct"] = json_text(json(info.crop.crop_pct));
  metadata["crop_mode"] = name_of(info.crop.mode);
  metadata["interpolation"] = name_of(info.crop.filter);
  metadata["epoch"] = std::to_string(info.epoch);
  metadata["scores"] = json_text(json(info.scores));
  return file;
}

void save_weights(const std::filesystem::path& path, const Model& model, const Tensors& values,
                  const WeightsInfo& info) {
  weights_file(path, model, values, info).write();
}

WeightsInfo weights_info(const Metadata& metadata, const std::filesystem::path& path) {
  if (!metadata.contains("config")) return foreign_weights_info(path);
  WeightsInfo info;
  info.dataset = visible_text(text_or(metadata, "dataset", ""));
  const json classes = parse_json(text_or(metadata, "classes", "[]"));
  if (classes.is_array()) {
    for (const json& name : classes) {
      if (name.is_string()) info.classes.push_back(visible_text(name.get<std::string>()));
    }
  }
  Normalization& n = info.normalization;
  n.mean = channel_values(text_or(metadata, "mean", ""), n.mean);
  n.deviation = channel_values(text_or(metadata, "std", ""), n.deviation);
  for (const float deviation : n.deviation) {
    check(deviation > 0, path.string(), ": its std is not positive");
  }
  info.crop.crop_pct = number_or(metadata, "crop_pct", info.crop.crop_pct);
  check(info.crop.crop_pct > 0 && info.crop.crop_pct <= 1, path.string(), ": its crop_pct is ",
        info.crop.crop_pct, ", expected more than 0 and at most 1");
  info.crop.mode =
      parse_name<CropMode>("crop_mode", text_or(metadata, "crop_mode", name_of(info.crop.mode)));
  info.crop.filter = parse_name<Filter>(
      "interpolation", text_or(metadata, "interpolation", name_of(info.crop.filter)));
  const double epoch = number_or(metadata, "epoch", -1);
  if (epoch >= 0 && epoch < 1e15) info.epoch = static_cast<std::int64_t>(epoch);
  if (metadata.contains("top1")) info.scores["top1"] = number_or(metadata, "top1", 0);  // earlier
  const json scores = parse_json(text_or(metadata, "scores", "{}"));
  if (scores.is_object()) {
    for (const auto& [name, score] : scores.items()) {
      if (score.is_number()) info.scores[visible_text(name)] = score.get<double>();
    }
  }
  return info;
}

WeightsInfo read_weights_info(const std::filesystem::path& path) {
  return weights_info(read_safetensors(path).metadata, path);
}

}  // namespace fovea
