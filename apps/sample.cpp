// sample RUN: images from noise by a trained diffusion model.
#include <algorithm>
#include <chrono>

#include "apps/common/launch.h"
#include "apps/common/picture_decoder.h"
#include "apps/common/progress_line.h"
#include "apps/common/signals.h"
#include "apps/sample_command.h"
#include "apps/sample_output.h"
#include "data/figures/generated_pictures.h"
#include "engine/base/text.h"
#include "engine/parallel.h"
#include "models/model_as.h"
#include "ops/view.h"

namespace fovea::programs {
namespace {
namespace fs = std::filesystem;

/// A few samples after evenly spaced steps, for film.png.
class Film {
 public:
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
  static constexpr std::int64_t kRows = 8, kFrames = 10;

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
        info.name, " is ", noun_of(info.task),
        ", expected a diffusion model; ./run train_diffusion trains one");
  return model_as<Dit>(*trained.model);
}

SampleFiles files_of(const SampleCommand& c, const LoadedModel& trained,
                     const PictureDecoder& decoder) {
  SampleFiles files;
  files.npz = c.npz;
  files.folder = c.output;
  files.settings = settings_text(c, trained, decoder.vae());
  const bool is_run = fs::is_directory(c.load.checkpoint);
  if (c.output.empty() && c.npz.empty()) {
    const fs::path usual = is_run ? fs::path(c.load.checkpoint) / "samples" : fs::path("samples");
    files.folder = free_sample_folder(usual, files.settings);
  }
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

/// Makes samples batch by batch, until all are made or a signal asks to stop.
class SamplingRun {
 public:
  SamplingRun(const SampleCommand& command, const LoadedModel& trained,
              const PictureDecoder& decoder, ProgressLine& line)
      : command_(command),
        model_(require_generator(trained)),
        decoder_(decoder),
        line_(line),
        film_(command.film, decoder),
        output_(files_of(command, trained, decoder)) {}

  void run() {
    std::int64_t made = next_after(0);
    while (made < command_.count && SignalRequest::pending() == 0) {
      const SampleRequest batch = command_.batch_after(made);
      const Tensor images = sample_images(
          model_, command_.process, command_.sampling, batch, parse_dtype(command_.precision),
          [&](const SamplingStep& step) { return see(made, step); });
      if (SignalRequest::pending() != 0) break;
      add(batch, images);
      made = next_after(made + std::ssize(batch.indices));
    }
    line_.clear();
    film_.write(output_);
    output_.finish();
  }
  [[nodiscard]] const SampleOutput& output() const { return output_; }

 private:
  /// The first sample from `place` on that earlier calls did not make. A film needs the steps of
  /// the first batch.
  [[nodiscard]] std::int64_t next_after(std::int64_t place) const {
    if (place == 0 && command_.film) return 0;
    while (place < command_.count && output_.has(place)) ++place;
    return place;
  }

  /// Called after a step of the batch that begins with sample `made`. Returns false to stop.
  bool see(std::int64_t made, const SamplingStep& step) {
    if (made == 0) film_.see(step);
    const std::int64_t batches = (command_.count + command_.batch_size - 1) / command_.batch_size;
    ProgressState state{.label = "sampling", .note = {}};
    state.done = made / command_.batch_size * step.steps + step.done;
    state.total = batches * step.steps;
    state.seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
    state.note = concat("sample ", made + 1, " of ", command_.count);
    line_.update(state);
    return SignalRequest::pending() == 0;
  }

  void add(const SampleRequest& batch, const Tensor& images) {
    std::vector<Image> pictures = generated_pictures(decoder_(images));
    std::vector<LabelledPicture> samples;
    for (std::size_t i = 0; i < pictures.size(); ++i) {
      samples.push_back({std::move(pictures[i]), batch.indices[i], batch.classes[i]});
    }
    output_.add(samples);
  }

  const SampleCommand& command_;
  Dit& model_;
  const PictureDecoder& decoder_;
  ProgressLine& line_;
  Film film_;
  SampleOutput output_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

}  // namespace

int sample(int argc, char** argv) {
  require_one_process();
  SampleCommand command = read_sample_command(argc, argv);
  if (command.threads > 0) set_num_threads(static_cast<int>(command.threads));
  const LoadedModel trained = load_trained(command.load);
  static_cast<void>(require_generator(trained));
  complete(command, trained);
  const PictureDecoder decoder(trained, command.vae, parse_dtype(command.precision));
  ProgressLine line(1);
  for (const std::string& notice : trained.notices) line.print("note: " + notice);
  for (const std::string& note : notes_on_training(command, trained)) line.print("note: " + note);
  for (const std::string& note : decoder.notes()) line.print("note: " + note);
  line.print(concat("model     ", trained.weights.string()));
  const SignalRequest signals;
  SamplingRun sampling(command, trained, decoder, line);
  const std::int64_t before = sampling.output().done();
  if (before > 0) {
    line.print(concat("note: ", before, " of ", command.count, " samples are there already"));
  }
  sampling.run();
  for (const std::string& file : sampling.output().summary()) line.print("wrote     " + file);
  if (SignalRequest::pending() == 0) return 0;
  line.print(concat("stopped   after ", sampling.output().done(), " of ", command.count,
                    " samples; the same command continues"));
  return 128 + SignalRequest::pending();
}

}  // namespace fovea::programs
