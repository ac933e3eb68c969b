// sample RUN: images from noise by a trained diffusion model.
#include <algorithm>
#include <chrono>
#include <optional>
#include <span>

#include "apps/common/launch.h"
#include "apps/common/picture_decoder.h"
#include "apps/common/progress_line.h"
#include "apps/common/rounds.h"
#include "apps/common/signals.h"
#include "apps/sample_command.h"
#include "apps/sample_output.h"
#include "data/figures/generated_pictures.h"
#include "engine/base/program_call.h"
#include "engine/base/text.h"
#include "engine/base/wrap.h"
#include "engine/comm/local_device.h"
#include "engine/parallel.h"
#include "models/model_as.h"
#include "ops/view.h"

namespace fovea::programs {
namespace {
namespace fs = std::filesystem;

/// A few samples after evenly spaced steps, for film.png.
class Film {
 public:
  static constexpr std::int64_t kRows = 8;

  Film(bool is_wanted, const PictureDecoder& decoder) : is_wanted_(is_wanted), decoder_(decoder) {}

  void see(const SamplingStep& step) {
    if (!is_wanted_ || !is_frame(step)) return;
    const std::int64_t rows = std::min(step.x.size(0), kRows);
    frames_.push_back(generated_pictures(decoder_(ops::slice(step.x, 0, 0, rows))));
  }
  void write(SampleOutput& output) const {
    std::vector<Image> rows;
    for (std::size_t row = 0; !frames_.empty() && row < frames_.front().size(); ++row) {
      for (const std::vector<Image>& frame : frames_) rows.push_back(frame[row]);
    }
    if (!rows.empty()) output.write_film(rows, std::ssize(frames_));
  }

 private:
  static constexpr std::int64_t kFrames = 10;

  /// The first step, the last, and evenly spaced ones between them.
  static bool is_frame(const SamplingStep& step) {
    const auto frame = [&](std::int64_t done) { return done * (kFrames - 1) / step.steps; };
    return step.done == 1 || frame(step.done) > frame(step.done - 1);
  }

  bool is_wanted_;
  const PictureDecoder& decoder_;
  std::vector<std::vector<Image>> frames_;
};

Dit& require_generator(const LoadedModel& trained) {
  const ModelInfo& info = trained.model->info();
  check(dynamic_cast<Dit*>(trained.model.get()) != nullptr, trained.weights.string(), ": ",
        info.name, " is ", noun_of(info.task), ", expected a diffusion model; ",
        program_call("train_diffusion"), " trains one");
  return model_as<Dit>(*trained.model);
}

/// The folder of this name in the run, or in the working folder for a file of weights.
fs::path usual_folder(const SampleCommand& c, const char* name) {
  return fs::is_directory(c.load.checkpoint) ? fs::path(c.load.checkpoint) / name : fs::path(name);
}

SampleFiles files_of(const SampleCommand& c, const LoadedModel& trained,
                     const PictureDecoder& decoder) {
  SampleFiles files;
  files.npz = c.npz;
  files.folder = c.output;
  files.settings = settings_text(c, trained, decoder.vae());
  if (c.output.empty() && c.npz.empty())
    files.folder = free_sample_folder(usual_folder(c, "samples"), files.settings);
  files.count = c.count;
  files.first = c.first;
  files.labels = c.labels;
  files.picture = decoder.picture_size(*trained.model);
  constexpr std::int64_t kMaxColumns = 10;
  files.columns = std::min<std::int64_t>(std::ssize(c.labels), kMaxColumns);
  if (files.columns == 1) files.columns = std::min<std::int64_t>(c.count, 8);
  files.seed = c.seed;
  return files;
}

/// Makes the samples that the files lack, until all are made or a signal asks a process to stop. In
/// each round, every process makes some; the first one writes the pictures of all.
class SamplingRun {
 public:
  SamplingRun(const SampleCommand& command, const LoadedModel& trained,
              const PictureDecoder& decoder, Communicator& processes)
      : command_(command),
        model_(require_generator(trained)),
        decoder_(decoder),
        processes_(processes),
        film_(command.film && processes.is_first(), decoder) {
    if (processes.is_first()) output_.emplace(files_of(command, trained, decoder));
    places_ = common_list(output_ ? missing() : std::vector<std::int64_t>());
  }

  void run() {
    tell_of_earlier();
    const Rounds rounds{.items = std::ssize(places_),
                        .batch = command_.batch_size,
                        .processes = processes_,
                        .least_of_first = command_.film ? Film::kRows : 1};
    for (std::int64_t made = 0; made < rounds.items;) {
      const Round round = rounds.from(made);
      const Tensor images = make(round);
      if (is_stopped_) break;
      add(round, gather_rows(processes_, images));
      made = round.end;
    }
    line_.clear();
    if (output_) finish();
  }
  [[nodiscard]] bool is_stopped() const { return is_stopped_; }

 private:
  /// The samples that earlier calls did not make. A film needs the steps of the first batch.
  [[nodiscard]] std::vector<std::int64_t> missing() const {
    std::vector<std::int64_t> places;
    for (std::int64_t place = 0; place < command_.count; ++place) {
      const bool is_in_film = command_.film && place < command_.batch_size;
      if (is_in_film || !output_->has(place)) places.push_back(place);
    }
    return places;
  }

  /// The first process's list.
  [[nodiscard]] std::vector<std::int64_t> common_list(std::vector<std::int64_t> list) const {
    std::int64_t size = std::ssize(list);
    broadcast(processes_, std::as_writable_bytes(std::span(&size, 1)));
    list.resize(static_cast<std::size_t>(size));
    broadcast(processes_, std::as_writable_bytes(std::span(list)));
    return list;
  }

  void tell_of_earlier() {
    const std::int64_t before = output_ ? output_->done() : 0;
    if (before == 0) return;
    line_.print(note_of(concat(before, " of ", command_.count, " samples are there already")));
  }

  [[nodiscard]] SampleRequest request_for(std::int64_t first, std::int64_t end) const {
    const std::span<const std::int64_t> all(places_);
    return command_.request_for(
        all.subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(end - first)));
  }

  /// This process's images of the round, f32 [n, 3, H, W] on the CPU, if it is not stopped.
  Tensor make(const Round& round) {
    if (round.own() == 0) return wait_for_others();
    const Tensor samples =
        sample_images(model_, command_.process, command_.sampling,
                      request_for(round.own_first, round.own_end), parse_dtype(command_.precision),
                      [&](const SamplingStep& step) { return see(round, step); });
    return is_stopped_ ? samples : decoder_(samples).to(Device{}).contiguous();
  }

  /// The part of a process that has no samples in a round.
  Tensor wait_for_others() {
    for (std::int64_t steps = command_.steps(); steps > 0 && !asks_to_stop(); --steps) {
    }
    const ImageSize size = decoder_.picture_size(model_);
    return empty({0, Image::kChannels, size.height, size.width});
  }

  /// Whether a signal has reached one of the processes. All ask this after each step.
  bool asks_to_stop() {
    is_stopped_ = any(processes_, SignalRequest::pending() != 0);
    return is_stopped_;
  }

  /// Called after a step. Returns false to stop.
  bool see(const Round& round, const SamplingStep& step) {
    if (round.first == 0) film_.see(step);
    ProgressState state{.label = "sampling", .note = {}};
    state.done = round.first * step.steps + (round.end - round.first) * step.done;
    state.total = std::ssize(places_) * step.steps;
    state.seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
    state.note = concat("sample ", places_[static_cast<std::size_t>(round.first)] + 1, " of ",
                        command_.count);
    line_.update(state);
    return !asks_to_stop();
  }

  /// `images`: those of all processes.
  void add(const Round& round, const Tensor& images) {
    if (!output_) return;
    std::vector<Image> pictures = generated_pictures(images);
    const SampleRequest request = request_for(round.first, round.end);
    std::vector<LabelledPicture> samples;
    for (std::size_t i = 0; i < pictures.size(); ++i) {
      samples.push_back({std::move(pictures[i]), request.indices[i], request.classes[i]});
    }
    output_->add(samples);
  }

  void finish() {
    film_.write(*output_);
    output_->finish();
    for (const std::string& file : output_->summary()) line_.print("wrote     " + file);
    if (!is_stopped_) return;
    line_.print(concat("stopped   after ", output_->done(), " of ", command_.count,
                       " samples; the same command continues"));
  }

  const SampleCommand& command_;
  Dit& model_;
  const PictureDecoder& decoder_;
  Communicator& processes_;
  ProgressLine line_{/*descriptor=*/1};
  Film film_;
  std::optional<SampleOutput> output_;  ///< of the first process
  std::vector<std::int64_t> places_;    ///< of the samples to make
  bool is_stopped_ = false;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

void print_notes(const SampleCommand& command, const LoadedModel& trained,
                 const PictureDecoder& decoder) {
  ProgressLine line(1);
  for (const std::string& notice : trained.notices) line.print(note_of(notice));
  for (const std::string& note : notes_on_training(command, trained)) line.print(note_of(note));
  for (const std::string& note : decoder.notes()) line.print(note_of(note));
  line.print(concat("model     ", trained.weights.string()));
}

/// Makes the samples. Returns whether a signal stopped it.
bool sample_once(const SampleCommand& command, const LoadedModel& trained,
                 const PictureDecoder& decoder, Communicator& processes) {
  SamplingRun sampling(command, trained, decoder, processes);
  sampling.run();
  return sampling.is_stopped();
}

/// The same samples with each scale of the guidance, and a sheet of all.
bool sample_scales(SampleCommand command, const LoadedModel& trained, const PictureDecoder& decoder,
                   Communicator& processes) {
  const fs::path folder =
      command.output.empty() ? usual_folder(command, "guidance") : fs::path(command.output);
  for (const double scale : command.scales) {
    command.sampling.guidance.scale = scale;
    command.output = scale_folder(folder, scale).string();
    if (sample_once(command, trained, decoder, processes)) return true;
  }
  if (processes.is_first()) {
    const fs::path sheet = write_guidance_sheet(folder, command.scales);
    ProgressLine(1).print("wrote     " + sheet.string() + "  a row per --cfg-scale");
  }
  return false;
}

int sample_in(Communicator& processes, int argc, char** argv) {
  SampleCommand command = read_sample_command(argc, argv);
  if (command.threads > 0) set_num_threads(static_cast<int>(command.threads));
  std::string& device = command.load.device;
  device = to_string(local_device(parse_device(device), processes));
  const LoadedModel trained = load_trained(command.load);
  trained.model->store().keep_single_copies();
  static_cast<void>(require_generator(trained));
  complete(command, trained);
  const PictureDecoder decoder(trained, command.vae, parse_dtype(command.precision));
  print_notes(command, trained, decoder);
  const SignalRequest signals;
  const bool is_stopped = command.scales.size() == 1
                              ? sample_once(command, trained, decoder, processes)
                              : sample_scales(command, trained, decoder, processes);
  const int signal = SignalRequest::pending();  // 0 where another process has received it
  return is_stopped && signal != 0 ? 128 + signal : 0;
}

}  // namespace

int run_sample(int argc, char** argv) {
  return run_in_processes(
      argc, argv, [&](const Launch& launch) { return sample_in(launch.processes, argc, argv); });
}

}  // namespace fovea::programs
