// Every family and every flag of its ablations, every optimizer, schedule and loss: eighteen steps
// lower the loss, a run goes on bit by bit from its state, and its weights come back from a file.
#include <doctest/doctest.h>

#include <memory>
#include <numeric>

#include "engine/autograd.h"
#include "engine/random.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/tiny_run.h"

namespace fovea {
namespace {

struct Ablation {
  std::string model;
  std::map<std::string, std::string> settings;  ///< by key, beside those of the family's tiny model
  std::map<std::string, std::string> flags{};   ///< of training
};

using Settings = std::map<std::string, std::string>;

/// A data set in memory: drawing the pictures for each of 300 runs would be a third of the work.
class Kept : public Dataset {
 public:
  explicit Kept(std::shared_ptr<const Dataset> source) : source_(std::move(source)) {
    for (std::int64_t i = 0; i < source_->size(); ++i) samples_.push_back(source_->get(i));
  }
  using Dataset::get;
  [[nodiscard]] std::int64_t size() const override { return std::ssize(samples_); }
  [[nodiscard]] const std::vector<std::string>& class_names() const override {
    return source_->class_names();
  }
  [[nodiscard]] Sample get(std::int64_t index) const override { return samples_.at(index); }
  void list_entry(std::int64_t index, ListEntry& entry) const override {
    source_->list_entry(index, entry);
  }
  [[nodiscard]] ImageSize image_size() const override { return source_->image_size(); }

 private:
  std::shared_ptr<const Dataset> source_;
  std::vector<Sample> samples_;
};

Trainer trainer_of(const TrainConfig& config) {
  static const Datasets drawn = tiny_data();
  static const Datasets kept{std::make_shared<Kept>(drawn.train),
                             std::make_shared<Kept>(drawn.test)};
  Notices notices;
  return make_trainer(config, kept, start_model(config, kept, notices));
}

/// A model of each family that takes milliseconds a step.
Settings tiny_settings(const std::string& model) {
  if (model.starts_with("pervit")) {
    return {
        {"emb_dims", "12,16"}, {"depths", "1,1"}, {"convstem_dims", "3,8,12"}, {"num_heads", "2"}};
  }
  Settings settings{{"patch_size", "8"}, {"depth", "2"}, {"embed_dim", "12"}, {"num_heads", "2"}};
  if (model.starts_with("mae")) {
    settings["decoder_embed_dim"] = "8";
    settings["decoder_depth"] = "1";
    settings["decoder_num_heads"] = "2";
    if (model.starts_with("mae_pit")) settings["img_size"] = "8", settings["patch_size"] = "1";
  }
  if (model.starts_with("pit")) settings["img_size"] = "8", settings["patch_size"] = "1";
  return settings;
}

const std::vector<Ablation>& ablations() {
  static const std::vector<Ablation> rows{
      {"vit_tiny_patch4_32", {}},
      {"vit_tiny_patch4_32", {{"pos_embed", "sincos"}}},
      {"vit_tiny_patch4_32", {{"pos_embed", "none"}, {"global_pool", "avg"}}},
      {"vit_tiny_patch4_32", {{"pos_embed", "rpe2d"}}},
      {"vit_tiny_patch4_32", {{"irpe", "true"}}},
      {"vit_tiny_patch4_32", {{"pos_embed_qk_first", "true"}}},
      {"vit_tiny_patch4_32", {{"rope", "axial"}, {"pos_embed", "none"}, {"num_heads", "3"}}},
      {"vit_tiny_patch4_32", {{"rope", "mixed"}, {"num_heads", "3"}}},
      {"vit_tiny_patch4_32", {{"class_token", "false"}, {"global_pool", "avg"}}},
      {"deit_tiny_patch4_32", {}},
      {"cpvt_tiny_peg0_patch4_32", {}},
      {"cpvt_tiny_peg0_gap_patch4_32", {}},
      {"cpvt_tiny_peg0_patch4_32", {{"peg_positions", "-1,0"}}},
      {"cpvt_tiny_peg0_patch4_32", {{"peg_stack", "3"}}},
      {"cpvt_tiny_peg0_patch4_32", {{"peg_kernel", "5"}}},
      {"cpvt_tiny_peg0_patch4_32", {{"peg_padding", "none"}}},
      {"cpvt_tiny_peg0_patch4_32", {{"peg_conv", "separable"}}},
      {"cpvt_tiny_peg0_patch4_32", {{"peg_conv", "full"}}},
      {"cpvt_tiny_peg0_patch4_32", {{"peg_residual", "false"}}},
      {"cpvt_tiny_peg0_patch4_32", {{"peg_frozen", "true"}}},
      {"cpvt_tiny_peg0_patch4_32", {{"peg_init", "torch"}}},
      {"cpvt_tiny_peg0_patch4_32", {{"pos_embed", "learned"}}},
      {"cpvt_tiny_peg0_patch4_32", {{"pos_embed", "sincos"}}},
      {"cpvt_tiny_peg0_patch4_32", {{"pos_embed", "learned"}, {"pos_embed_qk_first", "true"}}},
      {"cpvt_tiny_peg0_patch4_32", {{"pos_embed", "rpe2d"}}},
      {"cpvt_tiny_peg0_patch4_32", {{"irpe", "true"}}},
      {"pervit_tiny_32", {}},
      {"pervit_tiny_32", {{"phi_p", "false"}}},
      {"pervit_tiny_32", {{"phi_c", "false"}}},
      {"pervit_tiny_32", {{"conv_stem", "false"}, {"patch_size", "4"}}},
      {"pervit_tiny_32", {{"cpe", "false"}}},
      {"pervit_tiny_32", {{"ppe_embed", "lrn"}}},
      {"pervit_tiny_32", {{"ppe_kernel", "1"}}},
      {"pervit_tiny_32", {{"ppe_layers", "1"}}},
      {"pervit_tiny_32", {{"ppe_init", "conv"}}},
      {"pervit_tiny_32", {{"ppe_init", "rand"}}},
      {"pervit_tiny_32", {{"ppe_init_noise", "0.01"}}},
      {"pervit_tiny_32", {{"ppe_frozen", "true"}}},
      {"pervit_tiny_32", {{"pos_embed", "learned"}}},
      {"pit_tiny_32", {}},
      {"pit_tiny_32", {{"pos_embed", "sincos"}}},
      {"pit_tiny_32", {{"pos_embed", "none"}}},
      {"pit_tiny_32", {{"permute_T", "20"}, {"permute_delta", "2"}, {"permute_seed", "5"}}},
      {"pit_tiny_patch2_32", {{"img_size", "16"}, {"patch_size", "2"}}},
      {"mae_vit_tiny_patch8_32", {}},
      {"mae_vit_tiny_patch8_32", {{"mask_ratio", "0.5"}}},
      {"mae_vit_tiny_patch8_32", {{"norm_pix_loss", "true"}}},
      {"mae_vit_tiny_patch8_32", {{"pos_embed", "learned"}}},
      {"mae_pit_tiny_32", {{"pos_embed", "learned"}}},
      {"dit_s_8_32", {}},
      {"dit_s_8_32", {{"pos_embed", "learned"}}},
      {"dit_s_8_32", {{"learn_sigma", "false"}}},
      {"dit_s_8_32", {{"class_dropout_prob", "0"}}, {{"cfg-scale", "1"}}},
      {"dit_s_8_32", {}, {{"noise-schedule", "squaredcos_cap_v2"}, {"rescale-vb", "true"}}},
      {"dit_s_8_32", {}, {{"grad-accum-steps", "2"}, {"epochs", "6"}}},
      {"dit_s_8_32", {}, {{"grad-checkpointing", "true"}}},
  };
  return rows;
}

/// How one may train, on the smallest model.
const std::vector<Settings>& ways_to_train() {
  static const std::vector<Settings> ways{
      {{"opt", "sgd"}, {"lr", "0.05"}},
      {{"opt", "momentum"}, {"lr", "0.05"}, {"weight-decay", "1e-4"}},
      {{"opt", "lamb"}, {"lr", "0.02"}},
      {{"opt", "lars"}, {"lr", "1"}},
      {{"opt", "lion"}, {"lr", "2e-3"}},
      {{"opt", "muon"}, {"momentum", "0.95"}},
      {{"opt", "adamw"}, {"opt-betas", "0.9,0.99"}, {"opt-eps", "1e-6"}},
      {{"layer-decay", "0.75"}},
      {{"sched", "half-cosine"}},
      {{"sched", "linear"}},
      {{"sched", "poly"}, {"decay-rate", "0.9"}},
      {{"sched", "step"}, {"decay-epochs", "1"}, {"decay-rate", "0.5"}},
      {{"sched", "multistep"}, {"decay-milestones", "1,2"}, {"decay-rate", "0.5"}},
      {{"sched", "plateau"}, {"patience-epochs", "0"}, {"decay-rate", "0.7"}, {"min-lr", "1e-3"}},
      {{"sched", "constant"}, {"warmup-epochs", "1"}},
      {{"sched", "wsd"}, {"warmup-epochs", "1"}, {"decay-epochs", "2"}},
      {{"sched", "cosine"},
       {"sched-on-updates", "false"},
       {"epochs", "2"},
       {"cooldown-epochs", "1"}},
      {{"warmup-prefix", "true"}, {"warmup-epochs", "1"}, {"epochs", "2"}},
      {{"clip-grad", "0.5"}},
      {{"clip-grad", "0.05"}, {"clip-mode", "value"}},
      {{"clip-grad", "0.02"}, {"clip-mode", "agc"}},
      {{"bce-loss", "true"}},
      {{"bce-loss", "true"}, {"bce-sum", "true"}, {"smoothing", "0.1"}},
      {{"bce-loss", "true"}, {"bce-target-thresh", "0.2"}, {"bce-pos-weight", "4"}},
      {{"loss-class-weight", "inv_freq"}, {"loss-weight-power", "0.5"}, {"mixup", "0.8"}},
      {{"loss-class-weight", "effective_num"}, {"bce-loss", "true"}},
      {{"val-interval", "2"}, {"sched", "plateau"}, {"patience-epochs", "0"}},
      {{"model-ema-warmup", "true"}},
      {{"freeze", "patch_embed pos_embed blocks\\.0"}},
      {{"linear-probe", "true"}},
      {{"overfit-batch", "true"}},
      {{"skip-nonfinite", "true"}, {"spike-zscore", "3"}},
      {{"grad-accum-steps", "2"}, {"epochs", "6"}},
      {{"grad-checkpointing", "true"}, {"drop-path", "0.2"}},
      {{"jsd-loss", "true"}, {"aug-splits", "2"}, {"aa", "augmix-m3-w3"}},
      {{"train-img-sizes", "24,32"}},
  };
  return ways;
}

/// What reaches into the model or its task, and is not refused by it.
const std::vector<Settings>& ways_to_train_without_labels() {
  static const std::vector<Settings> ways{
      {{"opt", "lars"}, {"lr", "1"}},
      {{"layer-decay", "0.75"}, {"layer-decay-norm", "head"}},
      {{"sched", "half-cosine"}, {"warmup-epochs", "1"}},
      {{"sched", "plateau"}, {"patience-epochs", "0"}, {"decay-rate", "0.7"}, {"min-lr", "1e-3"}},
      {{"clip-grad", "0.02"}, {"clip-mode", "agc"}},
      {{"freeze", "patch_embed cls_token blocks\\.0"}},
      {{"overfit-batch", "true"}},
      {{"skip-nonfinite", "true"}, {"spike-zscore", "3"}},
      {{"grad-accum-steps", "2"}, {"epochs", "6"}},
      {{"grad-checkpointing", "true"}, {"drop-path", "0.2"}},
  };
  return ways;
}

constexpr std::int64_t kSteps = 18;
constexpr std::int64_t kSavedStep = 11;  ///< neither the first nor the last of an epoch

TrainConfig config_of(const Ablation& row) {
  TrainConfig c = tiny_config();
  c.model.name = row.model;
  c.model.settings = {};
  for (const auto& [key, text] : tiny_settings(row.model)) c.model.settings[key] = text;
  for (const auto& [key, text] : row.settings) c.model.settings[key] = text;
  c.model.drop_path = c.images.augment.flip = 0;
  c.task = config_for(task_kind(row.model)).task;
  c.images.augment.crop_padding = 0;
  if (row.model.starts_with("dit")) c.run.normalization = {{0.5F, 0.5F, 0.5F}, {0.5F, 0.5F, 0.5F}};
  c.rate.lr = 1e-2;
  c.schedule.warmup_epochs = 0;
  c.schedule.epochs = 3;
  c.loop.log_interval = 1;
  c.loop.recovery_interval = kSavedStep;
  const Fields fields = fields_of(c);
  for (const auto& [name, text] : row.flags) set_field(find_field(fields, name, "flag"), text);
  check_config(c);
  return c;
}

std::string text_of(const Ablation& row) {
  std::string text = row.model;
  for (const auto* settings : {&row.settings, &row.flags}) {
    for (const auto& [key, value] : *settings) text += " " + key + "=" + value;
  }
  return text;
}

/// Runs to the end and writes the state of the saved step; returns the loss of each step.
std::vector<double> losses(Trainer& trainer, const std::filesystem::path& state) {
  std::vector<double> losses;
  TrainWatch watch;
  watch.on_interval = [&](const StepRow& row) { losses.push_back(row.loss); };
  watch.on_save = [&](const TrainState& now) { run_state_file(state, now).write(); };
  static_cast<void>(trainer.fit(watch));
  return losses;
}

double mean(std::span<const double> values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

Tensor outputs_of(Model& model) {
  const NoGrad no_grad;
  Context ctx;
  const auto [height, width] = model.info().img_size;
  return model.probe(rand_normal({2, 3, height, width}, {0, 1}, {9}), ctx);
}

/// Eighteen steps; the same from a state on the way; and through a file.
void check_run(const Ablation& row) {
  const std::string what = text_of(row);
  CAPTURE(what);
  const TrainConfig config = config_of(row);
  const TemporaryFolder folder;
  Trainer straight = trainer_of(config);
  const std::vector<double> loss = losses(straight, folder / "state.safetensors");
  REQUIRE(std::ssize(loss) == kSteps);
  CHECK(mean(std::span(loss).last(6)) < mean(std::span(loss).first(6)));

  Trainer second = trainer_of(config);
  second.resume(folder / "state.safetensors");
  CHECK(std::ssize(losses(second, folder / "later.safetensors")) == kSteps - kSavedStep);
  CHECK(bits_of(second) == bits_of(straight));

  save_model(folder / "weights.safetensors", straight.model());
  const auto loaded = load_model(folder / "weights.safetensors");
  CHECK(outputs_of(*loaded).to_vector() == outputs_of(straight.model()).to_vector());
}

}  // namespace

TEST_CASE("every model and every ablation learns, resumes bit by bit, and comes back from a file") {
  for (const Ablation& row : ablations()) check_run(row);
}

TEST_CASE("and so does every optimizer, schedule, loss and way of clipping") {
  for (const Settings& flags : ways_to_train()) check_run({"vit_tiny_patch4_32", {}, flags});
  for (const Settings& flags : ways_to_train_without_labels()) {
    check_run({"mae_vit_tiny_patch8_32", {}, flags});
  }
}

}  // namespace fovea
