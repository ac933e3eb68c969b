// Heads and class embeddings go by the names of their classes: rows move, are kept or reset.
#include "train/start/class_heads.h"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <numeric>
#include <utility>

#include "engine/autograd.h"
#include "engine/base/text.h"
#include "models/registry.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/tiny_run.h"
#include "tests/support/torch_state.h"
#include "train/run/weights_info.h"

namespace fovea {
namespace {

/// The built-in pictures under other names.
class Renamed : public Builtin {
 public:
  explicit Renamed(std::vector<std::string> names)
      : Builtin(Split::train, {.seed = 3, .train_size = 24}), names_(std::move(names)) {}
  [[nodiscard]] const std::vector<std::string>& class_names() const override { return names_; }

 private:
  std::vector<std::string> names_;
};

/// 0, 1, 2, ... in a tensor's place.
Tensor counted(const Shape& shape) {
  std::vector<double> values(static_cast<std::size_t>(shape.numel()));
  std::iota(values.begin(), values.end(), 0);
  return from_values(shape, values);
}

/// Weights of a run whose classes are called so; its head differs from every model's first values.
TensorMap save_run(const std::filesystem::path& file, const TrainConfig& config,
                   const std::vector<std::string>& classes) {
  Notices none;
  const auto model = start_model(config, tiny_data(), none);
  const NoGrad no_grad;
  for (const Parameter& p : model->store().parameters())
    if (is_head(p.role)) p.tensor.copy_(counted(p.tensor.shape()));
  WeightsInfo info;
  info.dataset = "folder";
  info.classes = classes;
  weights_file(file, *model, state_of(*model), info).write();
  return state_of(*model);
}

/// The weights that a run on images of these classes starts with, and its notices.
struct Started {
  TensorMap weights;
  std::string notices;
};
Started start_on(const TrainConfig& config, const std::vector<std::string>& classes) {
  Notices notices;
  const Datasets data{std::make_shared<Renamed>(classes), std::make_shared<Renamed>(classes)};
  const auto model = start_model(config, data, notices);
  return {state_of(*model), join(notices.texts(), "\n")};
}

}  // namespace

TEST_CASE("a head goes by the names of its classes when a run starts from it") {
  const TemporaryFolder folder;
  const std::string file = (folder / "run.safetensors").string();
  const std::vector<std::string> names = Builtin(Split::test).class_names();
  TrainConfig config = plain_config();
  const TensorMap saved = save_run(file, config, names);
  const TensorMap fresh = start_on(config, names).weights;
  config.weights.finetune = file;
  const auto values = [](const TensorMap& weights, const char* name) {
    return weights.at(name).to_vector();
  };

  const Started same = start_on(config, names);
  CHECK(values(same.weights, "head.weight") == values(saved, "head.weight"));
  CHECK_FALSE(contains(same.notices, "its head"));

  std::vector<std::string> turned(names.rbegin(), names.rend());
  const Started moved = start_on(config, turned);
  CHECK(
      contains(moved.notices, "run.safetensors: its head has this run's classes in another order"));
  for (std::int64_t k = 0; k < 10; ++k) {
    CHECK(moved.weights.at("head.bias").at(k) == saved.at("head.bias").at(9 - k));
    CHECK(moved.weights.at("head.weight").at(12 * k + 5) ==
          saved.at("head.weight").at(12 * (9 - k) + 5));
  }

  std::vector<std::string> others = names;
  others[9] = "chessboard";
  const Started anew = start_on(config, others);
  CHECK(values(anew.weights, "head.weight") == values(fresh, "head.weight"));
  CHECK(values(anew.weights, "head.bias") == values(fresh, "head.bias"));
  CHECK(values(anew.weights, "cls_token") == values(saved, "cls_token"));
  CHECK(contains(anew.notices, "its head has other classes (disc, square, triangle and 7 more)"));
  CHECK(contains(anew.notices, "it is reinitialised"));
  CHECK(contains(anew.notices, "copied 30 of 32 tensors"));

  config.weights.checkpoint = std::exchange(config.weights.finetune, "");
  const Started kept = start_on(config, others);
  CHECK(values(kept.weights, "head.weight") == values(saved, "head.weight"));
  CHECK(contains(kept.notices, "it is kept; --finetune reinitialises it"));
  CHECK(start_on(config, turned).weights.at("head.bias").at(0) == saved.at("head.bias").at(9));
}

TEST_CASE("both heads of a distilled model go by the names of their classes") {
  const TemporaryFolder folder;
  const std::string file = (folder / "run.safetensors").string();
  const std::vector<std::string> names = Builtin(Split::test).class_names();
  TrainConfig config = plain_config();
  config.model.name = "deit_tiny_distilled_patch4_32";
  const TensorMap saved = save_run(file, config, names);
  config.weights.finetune = file;
  const TensorMap moved = start_on(config, {names.rbegin(), names.rend()}).weights;
  for (const char* const head : {"head.bias", "head_dist.bias"})
    CHECK(moved.at(head).at(0) == saved.at(head).at(9));
}

TEST_CASE("only rows of classes move: not boxes, noise, or the last row of no class") {
  struct Moved {
    const char *model, *rows, *output;
    std::int64_t none;  ///< rows of no class
  };
  for (const Moved& c :
       {Moved{"detr_tiny_scenes", "class_embed.weight", "bbox_embed.layers.0.weight", 1},
        Moved{"deformable_detr_tiny_scenes", "class_embed.0.weight", "bbox_embed.0.layers.0.weight",
              0},
        Moved{"dit_s_8_32", "y_embedder.embedding_table.weight", "final_layer.linear.weight", 1}}) {
    CAPTURE(c.model);
    const auto model = make_model(c.model, {{"num_classes", 3}});
    TensorMap before;
    for (const Parameter& p : model->store().parameters()) {
      const NoGrad no_grad;
      if (is_head(p.role) || has_class_rows(p.role)) p.tensor.copy_(counted(p.tensor.shape()));
      before[p.name] = p.tensor.detach().clone();
    }
    LoadReport report;
    Notices notices;
    match_heads({"file", {3, {"a", "b", "c"}}, true}, {"c", "b", "a"}, {}, *model, report, notices);
    const TensorMap after = state_of(*model);
    const Tensor &rows = after.at(c.rows), &were = before.at(c.rows);
    const std::int64_t width = rows.size(1);
    CHECK(rows.size(0) == 3 + c.none);
    for (std::int64_t k = 0; k < rows.size(0); ++k)
      CHECK(rows.at(k * width) == were.at((k < 3 ? 2 - k : k) * width));
    CHECK(after.at(c.output).to_vector() == before.at(c.output).to_vector());
    CHECK(report.kept.empty());
    CHECK(contains(join(notices.texts(), "\n"), "in another order"));
  }
}

TEST_CASE("a head whose classes have no names is kept, and a notice reports it") {
  const TemporaryFolder folder;
  const std::string file = (folder / "run.safetensors").string();
  TrainConfig config = plain_config();
  const TensorMap saved = save_run(file, config, {});
  config.weights.finetune = file;
  const Started kept = start_on(config, Builtin(Split::test).class_names());
  CHECK(kept.weights.at("head.bias").to_vector() == saved.at("head.bias").to_vector());
  CHECK(contains(kept.notices, "its head is kept: the model does not name its classes"));
}

}  // namespace fovea
