// Flags of `sample`, and what follows from them and the model.
#include "apps/sample_command.h"

#include <algorithm>
#include <exception>
#include <nlohmann/json.hpp>
#include <numeric>

#include "apps/common/app.h"
#include "apps/common/cli.h"
#include "engine/base/error.h"
#include "engine/base/files.h"
#include "engine/base/json.h"
#include "engine/base/lists.h"
#include "engine/base/program_call.h"
#include "engine/base/text.h"
#include "models/checkpoints/checkpoint.h"
#include "models/model_as.h"
#include "train/optim/ema.h"
#include "train/run/run_paths.h"
#include "train/run/run_progress.h"
#include "train/start/tasks.h"
#include "train/tasks/diffusion.h"

namespace fovea {
namespace {

namespace fs = std::filesystem;

void add_output_fields(Fields& fields, SampleCommand& c) {
  FieldGroup g(fields, "Output");
  g.add("output", &c.output,
        "folder for the pictures and their grid (default: RUN/samples, or samples for a weights "
        "file; none with --npz)");
  g.add("npz", &c.npz,
        "write all samples to this .npz file, arr_0 (u8 [N, H, W, 3]) and arr_1 (labels), as "
        "evaluators of generated images read it; a stopped call is continued");
  g.add("film", &c.film, "also draw film.png: samples from noise to picture, step by step");
}

/// Numbers in one word, unlike those of a list, which would take RUN after them.
Access<std::string> comma_numbers(std::vector<double>* scales) {
  return {[=] {
            std::vector<std::string> words;
            for (const double scale : *scales) words.push_back(shortest_text(scale));
            return join(words, ",");
          },
          [=](const std::string& text) {
            scales->clear();
            for (const std::string& word : split_text(text, ',')) {
              const std::optional<double> scale = parse_real(word);
              check_usage(scale && *scale >= 0 && *scale <= 1000, "--cfg-scale: got ", text,
                          ", expected numbers from 0 to 1000, separated by commas");
              scales->push_back(*scale);
            }
          }};
}

/// The diffusion settings of the run that the weights belong to; empty if they belong to none.
std::optional<DiffusionOptions> options_of_run(const fs::path& weights) {
  const fs::path file = RunPaths{weights.parent_path()}.config();
  std::error_code none;
  if (!fs::exists(file, none)) return {};
  const TrainConfig config = saved_config(read_file(file), file.string());
  const DiffusionOptions* const options = diffusion_of(config);
  return options != nullptr ? std::optional(*options) : std::nullopt;
}

void check_command(const SampleCommand& c) {
  const SamplerOptions& sampler = c.sampling.sampler;
  check_usage(sampler.kind == SamplerKind::ddim || sampler.eta == 0, "--eta: got ", sampler.eta,
              " with --sampler ", name_of(sampler.kind), ", expected --sampler ddim with it");
  check_usage(c.npz.empty() || c.npz.ends_with(".npz"), "--npz: got ", c.npz,
              ", expected a file name that ends in .npz");
  const std::set<double> distinct(c.scales.begin(), c.scales.end());
  check_usage(!c.scales.empty() && distinct.size() == c.scales.size(),
              "--cfg-scale: expected one or more different numbers");
  check_usage(c.npz.empty() || c.scales.size() == 1, "--npz takes samples of one --cfg-scale, got ",
              c.scales.size(), "; call sample for each");
  check_usage(!c.load.checkpoint.empty(), "sample: name a run, as in ", program_call("sample"),
              " RUN, or a file, as in ", program_call("sample"),
              " --model dit_xl_2 --checkpoint FILE");
}

/// Whether the run has averaged weights, from which samples are better.
bool has_averages(const std::string& checkpoint) {
  std::error_code none;
  return fs::exists(RunPaths{checkpoint}.weights("last_ema"), none);
}

std::int64_t class_of(const std::string& word, const ModelClasses& classes) {
  if (const auto number = parse_integer(word)) {
    check_usage(*number >= 0 && *number < classes.count, "--classes: got ", *number,
                ", expected 0 to ", classes.count - 1);
    return *number;
  }
  check_usage(!classes.names.empty(), "--classes: got ", word, ", expected numbers 0 to ",
              classes.count - 1, ", because the model does not name its classes");
  const auto found = find_class(classes, word);
  check_usage(found.has_value(), "--classes: the model has no class ", in_quotes(word),
              did_you_mean(word, classes.names));
  return *found;
}

void check_process(const SampleCommand& c, const ProcessOptions& trained,
                   const std::string& weights) {
  check_usage(c.schedule.empty() || c.schedule == name_of(trained.schedule),
              "--noise-schedule: got ", c.schedule, ", but ", weights, " was trained with ",
              name_of(trained.schedule));
  check_usage(c.diffusion_steps == 0 || c.diffusion_steps == trained.steps,
              "--diffusion-steps: got ", c.diffusion_steps, ", but ", weights, " was trained with ",
              trained.steps);
}

/// Why the averaged weights of a run are doubtful, or "". Throws if its files cannot be read.
std::string note_on_averages(const RunPaths& run) {
  std::error_code none;
  if (!fs::exists(run.config(), none) || !fs::exists(run.state(), none)) return "";
  const EmaOptions ema = saved_config(read_file(run.config()), run.config().string()).step.ema;
  if (!ema.keep) return "";
  const std::string progress = value_or(read_metadata(run.state()), "progress", "");
  check(!progress.empty(), run.state().string(), ": is not the state of a run");
  const std::int64_t updates = parse_run_progress(progress).updates;
  const double left = share_of_first_values(ema.decay, ema.warmup, updates);
  if (left <= 0.01) return "";
  return concat("the averaged weights still keep ", percent_text(100 * left),
                " of the initial ones after the run's ", updates,
                updates == 1 ? " update" : " updates", "; --no-use-ema takes the trained ones");
}

void complete_guidance(SampleCommand& c, const LoadedModel& trained) {
  if (model_as<Dit>(*trained.model).config().has_null_class()) return;
  for (const double scale : c.scales) {
    check_usage(!c.given.contains("cfg-scale") || scale == 1, "--cfg-scale: got ", scale, ", but ",
                trained.weights.string(), " was trained without a null class, expected 1");
  }
  c.scales = {1};
}

}  // namespace

Fields fields_of(SampleCommand& c) {
  Fields fields;
  FieldGroup samples(fields, "Samples");
  samples.add("classes", &c.classes,
              "classes to sample in turn: names (quoted if they contain commas) or numbers "
              "(default: all)");
  samples.number("count", &c.count, "number of samples (default: 4 of each class, at most 40)",
                 {0, 1e8});
  samples.number("first", &c.first,
                 "index of the first sample, so that several calls can share the work", {0, 1e12});
  samples.number("seed", &c.seed, "seed of the noise; a picture is a function of seed and index",
                 {0, 1e18});
  add_fields(samples, c.sampling);
  Field& scale = *std::ranges::find(fields, "cfg-scale", &Field::name);
  scale.target = comma_numbers(&c.scales);
  scale.help += "; several make the same samples with each, and a sheet of them";
  samples.number("batch-size", &c.batch_size,
                 "samples that a process makes at once; does not change them", {1, 65536});
  add_output_fields(fields, c);
  FieldGroup model(fields, "Model");
  model.add("checkpoint", &c.load.checkpoint, "weights file, in place of RUN");
  add_weights_fields(fields, c.load);
  model.add(
      "vae", &c.vae,
      "VAE of a model of latents: a run of train_vae, a folder of diffusers or a weights file "
      "(default: the run's --vae)");
  model.choice("noise-schedule", &c.schedule,
               "noise schedule of the training (default: as recorded, else linear)",
               names_of<NoiseSchedule>());
  model.number("diffusion-steps", &c.diffusion_steps,
               "steps of the training (default: as recorded, else 1000)", {0, kMaxDiffusionSteps});
  FieldGroup run(fields, "Run");
  run.choice("precision", &c.precision, "precision of the activations", {"f32", "bf16"});
  run.number("threads", &c.threads, "compute threads; 0: all", {0, 1024});
  for (Field& field : fields) {
    if (field.name == "use-ema") field.help += " (default: if the run has them)";
    if (field.name == "clip-denoised") field.help += " (default: as the run's)";
  }
  return fields;
}

SampleCommand read_sample_command(int argc, char** argv) {
  SampleCommand c;
  c.load.images.reset();
  const CommandSpec spec{"sample", "Generates images from noise with a diffusion model.",
                         "run directory of a diffusion model", fields_of(c)};
  const CommandLine line = parse_command_line(argc, argv, spec);
  for (const Setting& setting : line.settings) {
    set_field(find_field(spec.fields, setting.name, spec.name), setting.text);
    c.given.insert(setting.name);
  }
  const std::size_t named = line.arguments.size() + (c.load.checkpoint.empty() ? 0 : 1);
  check_usage(named <= 1, "sample: got ", named, " models, expected one: RUN or --checkpoint FILE");
  if (!line.arguments.empty()) c.load.checkpoint = line.arguments.front();
  check_command(c);
  c.load.prefers_ema = !c.given.contains("use-ema");
  if (!c.given.contains("use-ema")) c.load.use_ema = has_averages(c.load.checkpoint);
  return c;
}

std::vector<std::string> notes_on_training(const SampleCommand& c, const LoadedModel& trained) {
  std::vector<std::string> notes;
  if (model_as<Dit>(*trained.model).config().class_dropout_prob == 1) {
    notes.emplace_back(
        "the model was trained with --class-dropout-prob 1, which drops every label: it knows no "
        "classes");
  }
  if (!c.load.use_ema) return notes;
  try {
    const std::string note = note_on_averages(RunPaths{trained.weights.parent_path()});
    if (!note.empty()) notes.push_back(note);
  } catch (const std::exception& error) {  // samples need the weights alone
    notes.push_back(
        concat("unknown how far the averaged weights are from the initial ones: ", error.what()));
  }
  return notes;
}

std::vector<std::int64_t> chosen_classes(const std::string& text, const ModelClasses& classes) {
  std::vector<std::int64_t> chosen;
  if (text.empty()) {
    chosen.resize(static_cast<std::size_t>(classes.count));
    std::iota(chosen.begin(), chosen.end(), 0);
    return chosen;
  }
  for (const std::string& word : comma_parts(text)) chosen.push_back(class_of(word, classes));
  return chosen;
}

void complete(SampleCommand& c, const LoadedModel& trained) {
  const std::optional<DiffusionOptions> run = options_of_run(trained.weights);
  if (const auto process = run ? std::optional(run->process) : trained.info.process) {
    check_process(c, *process, trained.weights.string());
    c.process = *process;
  } else {
    if (!c.schedule.empty()) c.process.schedule = *find_named<NoiseSchedule>(c.schedule);
    if (c.diffusion_steps > 0) c.process.steps = c.diffusion_steps;
  }
  if (run && c.vae.empty()) c.vae = run->vae.string();
  if (run && !c.given.contains("clip-denoised")) {
    c.sampling.sampler.clip_denoised = run->samples.sampler.clip_denoised;
  }
  // A process shorter than the default number of steps is not respaced.
  const auto usual = parse_integer(c.sampling.steps);
  if (!c.given.contains("num-sampling-steps") && usual > c.process.steps) c.sampling.steps = "";
  complete_guidance(c, trained);
  c.sampling.guidance.scale = c.scales.front();
  check_options(c.sampling, c.process);
  c.labels = chosen_classes(c.classes, trained.classes());
  constexpr std::int64_t each = 4, most = 40;
  if (c.count == 0) c.count = std::min(each * std::ssize(c.labels), most);
}

SampleRequest SampleCommand::request_for(std::span<const std::int64_t> places) const {
  SampleRequest batch;
  batch.seed = seed;
  for (const std::int64_t place : places) {
    const std::int64_t index = first + place;
    batch.indices.push_back(index);
    batch.classes.push_back(labels[static_cast<std::size_t>(index) % labels.size()]);
  }
  return batch;
}

std::int64_t SampleCommand::steps() const {
  ProcessOptions taken = process;
  taken.respacing = sampling.steps;
  return DiffusionProcess(taken).size();
}

std::string settings_text(const SampleCommand& c, const LoadedModel& trained,
                          const LoadedVae* vae) {
  nlohmann::ordered_json j;
  j["model"] = trained.model->info().name;
  j["weights"] = trained.weights.string();
  j["weights_hash"] = weights_hash(*trained.model);
  if (vae != nullptr) {
    j["vae"] = vae->weights.string();
    j["vae_hash"] = vae->hash;
  }
  j["dataset"] = trained.info.dataset;
  j["class_names"] = trained.info.classes;
  j["classes"] = c.labels;
  j["count"] = c.count;
  j["first"] = c.first;
  j["seed"] = c.seed;
  j["sampler"] = name_of(c.sampling.sampler.kind);
  j["eta"] = c.sampling.sampler.eta;
  j["clip_denoised"] = c.sampling.sampler.clip_denoised;
  j["num_sampling_steps"] = c.steps();
  j["respacing"] = c.sampling.steps;
  j["noise_schedule"] = name_of(c.process.schedule);
  j["diffusion_steps"] = c.process.steps;
  j["cfg_scale"] = c.sampling.guidance.scale;
  j["cfg_channels"] = c.sampling.guidance.channels;
  j["precision"] = c.precision;
  return json_text(j, 2) + "\n";
}

}  // namespace fovea
