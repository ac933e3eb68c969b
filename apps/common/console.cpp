// Texts and layout of the console output; contains no decisions.
#include "apps/common/console.h"

#include <algorithm>
#include <cstdio>
#include <sstream>

#include "data/loading/sampler.h"
#include "engine/base/program_call.h"
#include "engine/base/text.h"
#include "engine/base/wrap.h"
#include "engine/cpu_isa.h"
#include "engine/parallel.h"
#include "train/run/run_log.h"

namespace fovea {
namespace {

std::string scientific(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.2e", value);
  return text;
}

/// The settings that differ from the recipe, or with --verbose all settings and their sources.
std::string settings_of(TrainConfig config, StartingPoint start) {
  if (config.request.verbose) {
    return "settings and their sources\n" + sources_table(fields_of(config), config.sources);
  }
  start.config.data.name = config.data.name;
  const std::string table = settings_table(fields_of(config), fields_of(start.config));
  return "settings  recipe " + start.recipe + " (--verbose shows all)" +
         (table.empty() ? "\n" : ", except for\n" + table);
}

/// The settings that the weights brought and nothing overrode, or "".
std::string settings_of_weights(TrainConfig config, StartingPoint start) {
  if (start.weights.empty() || config.request.verbose) return "";
  const Fields fields = fields_of(config), first = fields_of(start.config);
  Fields brought;
  for (std::size_t i = 0; i < fields.size(); ++i) {
    const bool is_theirs = source_of(start.config.sources, fields[i].name) == start.weights;
    if (is_theirs && field_text(fields[i]) == field_text(first[i])) brought.push_back(fields[i]);
  }
  if (brought.empty()) return "";
  const bool is_hub = start.weights.ends_with("config.json");
  return "weights   " + config.weights.finetune +
         (is_hub ? ", whose config.json sets\n" : ", a run's, which sets\n") +
         settings_table(brought);
}

/// "wait 2% forward 30% backward 55% optimizer 8% other 5%".
std::string shares_of(const TimeShares& time) {
  const auto share = [&](double seconds) {
    return fixed_text(time.seconds > 0 ? 100 * seconds / time.seconds : 0, 0) + "%";
  };
  return "wait " + share(time.stages.wait) + " forward " + share(time.stages.forward) +
         " backward " + share(time.stages.backward) + " optimizer " + share(time.stages.optimizer) +
         (time.stages.exchange > 0 ? " exchange " + share(time.stages.exchange) : "") + " other " +
         share(time.other());
}

std::string with_all(std::string text, std::string_view word, std::string_view other) {
  for (std::size_t at = text.find(word); at != std::string::npos;
       at = text.find(word, at + other.size())) {
    text.replace(at, word.size(), other);
  }
  return text;
}

/// A result and below it the command, in one piece to copy.
std::string text_of(const NextStep& step, const std::string& folder) {
  const std::string command = with_all(step.command, " RUN", " " + folder);
  return "  " + step.result + "\n    " + with_all(command, "\n", "\n    ") + "\n";
}

/// "4 processes x 64 images of ": the first part of the machine's line; "" for one process.
std::string processes_text(const Communicator& processes, const TrainConfig& config) {
  const int size = processes.size();
  if (size == 1) return "";
  const std::int64_t batch = config.images.loader.batch_size;
  return std::to_string(size) + " processes x " + (batch % size == 0 ? "" : "about ") +
         std::to_string(batch / size) + " images, each with ";
}

/// print() adds the last one.
std::string without_last_newline(std::string lines) {
  lines.pop_back();
  return lines;
}

/// A line of the first screen, or several that fit a terminal.
std::string introduction(std::string name, const std::string& text) {
  name.resize(10, ' ');
  return name + wrapped(pieces_of(text), name.size(), name.size()) + "\n";
}

std::string classes_text(const TaskInfo& task, const Trainer& trainer) {
  return task.needs_labels ? concat(", ", trainer.data().train->classes(), " classes") : "";
}

/// "cpu, 4 processes x 64 images, each with 8 threads, v4, f32".
std::string machine_text(const TrainConfig& config, const Communicator& processes) {
  return concat(device_name(config.run.device), ", ", processes_text(processes, config),
                num_threads(), num_threads() == 1 ? " thread, " : " threads, ",
                to_string(cpu_isa()), ", ", to_string(config.run.precision));
}

/// "2 x 32 images, 10 steps per epoch; 21 of 661 images left out of each epoch".
std::string batch_text(const TrainConfig& config, Trainer& trainer) {
  const LoaderOptions& loader = config.images.loader;
  const std::int64_t group = config.loop.grad_accum_steps;
  const std::int64_t shown = epoch_size(trainer.data().train->size(), loader.epoch.repeats);
  const std::int64_t left = loader.epoch.drop_last ? shown % loader.batch_size : 0;
  std::string text = (group > 1 ? std::to_string(group) + " x " : "") +
                     std::to_string(loader.batch_size) + " images, " +
                     std::to_string(trainer.steps_per_epoch()) + " steps per epoch";
  if (left > 0) text += concat("; ", left, " of ", shown, " images left out of each epoch");
  return text;
}

/// What goes to a GPU; "" on the CPU.
std::string upload_text(const TrainConfig& config, const Trainer& trainer) {
  if (config.run.device.is_cpu()) return "";
  return trainer.uploads_bytes()
             ? introduction("uploads", "u8 pixels: the GPU normalises, erases and mixes them")
             : introduction("uploads", "f32 values: the CPU prepares them");
}

}  // namespace

std::string best_text(const TaskInfo& task, const BestEpoch& best) {
  const Measure& measure = task.best_measure();
  if (best.epoch < 0) return "no best epoch, as " + measure.title + " could not be measured";
  return concat("best ", measure.title, " ", measure.text(best.score), " after epoch ",
                best.epoch + 1);
}

std::vector<std::string> score_texts(const TaskInfo& task, const Scores& scores) {
  std::vector<std::string> texts;
  for (std::size_t i = 0; i < scores.size(); ++i) {
    const Measure& measure = task.measures.at(i);
    if (measure.is_detail || measure.is_trivial) continue;
    const std::string name = measure.is_loss ? "test loss" : measure.title;
    texts.push_back("  " + name + " " + measure.text(scores[i]));
  }
  return texts;
}

void Console::introduce(const ResolvedRun& run, Trainer& trainer) {
  const TrainConfig& config = run.config;
  epochs_ = trainer.epochs();
  task_ = trainer.task();
  Model& model = trainer.model();
  std::ostringstream text;
  text << settings_of(config, run.start) << settings_of_weights(config, run.start) << '\n'
       << "model     " << model.info().name << ", " << model.store().parameter_count()
       << " parameters,\n          "
       << fixed_text(static_cast<double>(model.multiply_adds()) / 1e6, 1)
       << " M multiply-adds per image\n"
       << introduction(
              "data",
              concat(images_given_ ? "given" : config.data.name, ", ", trainer.data().train->size(),
                     " + ", trainer.data().test->size(), " images", classes_text(task_, trainer)))
       << introduction("batch", batch_text(config, trainer)) << upload_text(config, trainer)
       << introduction("machine", machine_text(config, trainer.processes()));
  if (!cores_.empty()) text << introduction("cores", cores_ + " (by process)");
  print(without_last_newline(text.str()));
  for (const std::string& notice : run.notices.texts()) print(note_of(notice));
}

void Console::step(const EpochPosition& at) {
  ProgressState state;
  state.label = "epoch " + std::to_string(at.epoch + 1) + "/" + std::to_string(at.epochs);
  state.done = at.step;
  state.total = at.steps;
  // Steps before a resume are not timed: those after it stand for them.
  const auto timed = static_cast<double>(std::max<std::int64_t>(at.steps_timed, 1));
  state.seconds = at.seconds * static_cast<double>(at.step) / timed;
  state.img_s = at.img_s;
  state.note = "loss " + loss_text(at.loss, 3) + " lr " + scientific(at.lr) + " wait " +
               fixed_text(100 * at.wait_share, 0) + "%";
  line_.update(state);
}

void Console::evaluation(std::int64_t done, std::int64_t total) {
  show_images("evaluating", done, total);
}

void Console::report(std::int64_t done, std::int64_t total) { show_images("report", done, total); }

void Console::show_images(const char* label, std::int64_t done, std::int64_t total) {
  ProgressState state;
  state.label = label;
  state.done = done;
  state.total = total;
  line_.update(state);
}

std::string epoch_text(const TaskInfo& task, const EpochRow& row, const EpochsOfRun& run) {
  std::vector<std::string> parts{concat("epoch ", row.epoch + 1, "/", run.count),
                                 "  train loss " + loss_text(row.train_loss, 4)};
  if (row.eval.empty()) parts.emplace_back("  not evaluated");
  for (std::string& score : score_texts(task, row.eval)) parts.push_back(std::move(score));
  if (!row.ema.empty()) {
    const Measure& measure = task.best_measure();
    parts.push_back("  EMA " + measure.title + " " + measure.text(task.best_score(row.ema)));
  }
  parts.push_back("  " + fixed_text(row.img_s, 0) + " img/s");
  if (row.mfu) parts.back() += " (" + fixed_text(100 * *row.mfu, 0) + " % MFU)";
  parts.push_back("  " + format_duration(row.seconds));
  if (run.left_seconds > 0) parts.push_back("  left " + format_duration(run.left_seconds));
  return wrapped(parts, 2) + "\n  " + shares_of(row.time);
}

void Console::epoch(const EpochRow& row, const Progress& progress) {
  seconds_ += row.seconds;
  epoch_seconds_ = row.seconds;
  const auto left = static_cast<double>(epochs_ - progress.finished_epochs);
  print(epoch_text(task_, row, {epochs_, left * epoch_seconds_}));
  if (row.time.data_bound()) {
    print(note_of(
        "data loading is the bottleneck: training waited for images " +
        fixed_text(100 * row.time.stages.wait / row.time.seconds, 0) +
        " % of the time; more --workers, a packed data set or lighter augmentation may help"));
  }
}

void Console::finish(const RunPaths& paths, const Progress& progress) {
  const std::string folder = shell_word(paths.folder.string());
  std::ostringstream text;
  text << "\ndone in " << format_duration(seconds_) << ": " << best_text(task_, progress.best)
       << "\n"
       << "  curves      " << paths.curves().string() << "\n"
       << "  checkpoint  "
       << paths.weights(std::filesystem::exists(paths.weights("best")) ? "best" : "last").string()
       << "\n"
       << (std::filesystem::exists(paths.report())
               ? "  report      " + paths.report().string() + "\n"
               : "")
       << "  log         " << paths.log().string() << "\n\n"
       << "next steps\n";
  if (!images_given_) {
    for (const NextStep& step : task_.next_steps) text << text_of(step, folder);
  }
  text << text_of({"curves in a browser", "tensorboard --logdir RUN"}, folder);
  print(without_last_newline(text.str()));
}

void Console::stopped(const RunPaths& paths, const Progress& progress) {
  const std::string folder = paths.folder.string();
  print("stopped after step " + std::to_string(progress.step) + ", saved " +
        paths.state().string() + "\nto continue:  " +
        (images_given_ ? "the same call with resume=\"auto\", output=\"" + folder + "\""
                       : program_call(program_) + " --resume auto --output " + shell_word(folder)));
}

}  // namespace fovea
