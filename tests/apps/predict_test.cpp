// What predict is given and what it gives back; checkpoints as evaluate and predict find them.
#include <doctest/doctest.h>

#include <limits>
#include <nlohmann/json.hpp>
#include <sstream>

#include "apps/common/loading.h"
#include "apps/common/pictures.h"
#include "apps/tasks/predictions.h"
#include "data/geometry/evaluation_transform.h"
#include "engine/base/files.h"
#include "engine/formats/safetensors.h"
#include "models/checkpoints/pretrained.h"
#include "models/registry.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/torch_state.h"
#include "train/run/run_paths.h"

namespace fovea {
namespace {

std::vector<std::string> names_of(const std::vector<std::filesystem::path>& files) {
  std::vector<std::string> names;
  for (const auto& file : files) names.push_back(file.filename().string());
  return names;
}

std::vector<PicturePrediction> two_classified_pictures() {
  const Tensor logits = from_values({1, 3}, {0, 2, 1});
  return {{"a, b.png", top_choices(logits, 0, {"x", "y, z", "w"}, 2)},
          {"c.png", {}, "c.png: is cut off"}};
}

nlohmann::json tiny_vit() {
  return {{"family", "vit"}, {"img_size", {8, 8}}, {"patch_size", 4}, {"num_classes", 3},
          {"embed_dim", 12}, {"depth", 1},         {"num_heads", 3}};
}

/// As on a hub, with a 192-wide model of one block.
void write_hub_folder(const TemporaryFolder& folder) {
  nlohmann::json config = preset("vit_tiny_patch16_224");
  config.update({{"num_classes", 3}, {"img_size", {32, 32}}, {"depth", 1}});
  const auto model = make_model_from_config(config, 1);
  write_safetensors(folder / "model.safetensors", state_of(*model));
  write_file_atomically(
      folder / "config.json",
      R"({"architecture": "vit_tiny_patch16_224", "num_classes": 3, "label_names": ["a", "b", "c"],
          "model_args": {"depth": 1, "img_size": 32}, "pretrained_cfg": {"input_size": [3, 32, 32],
          "interpolation": "bilinear", "crop_pct": 0.9, "crop_mode": "squash",
          "mean": [0.5, 0.5, 0.5], "std": [0.5, 0.5, 0.5]}})");
}

}  // namespace

TEST_CASE("files, folders and lists become pictures, in order") {
  const TemporaryFolder folder;
  std::filesystem::create_directories(folder / "b/deep");
  std::filesystem::create_directories(folder / "empty");
  for (const char* file : {"b/2.png", "b/1.JPG", "b/deep/0.bmp", "b/notes.txt", "odd.name"}) {
    write_file_atomically(folder / file, "x");
  }
  std::istringstream list((folder / "b/2.png").string() + "\r\n\n" + (folder / "nowhere").string() +
                          "\n");
  const std::string whole = (folder / "b").string(), single = (folder / "odd.name").string();
  const PictureList found = list_pictures({single, whole, "-", (folder / "empty").string()}, list);
  CHECK(names_of(found.files) ==
        std::vector<std::string>{"odd.name", "1.JPG", "2.png", "0.bmp", "2.png"});
  REQUIRE(found.missing.size() == 2);
  CHECK(contains(found.missing[0].path, "nowhere"));
  CHECK(found.missing[0].place == 5);
  CHECK(contains(found.missing[1].reason, "contains no .jpg"));
}

TEST_CASE("lists of other programs: marks, quotes, blanks that belong to names, NULs") {
  const TemporaryFolder folder;
  for (const char* const file : {"a b.png", "c, d.png", " e.png", "'f'.png", "g\nh.png"})
    write_file_atomically(folder / file, "x");
  const std::string at = folder.path().string() + "/";
  const auto listed = [](const std::string& text) {
    std::istringstream list(text);
    const PictureList found = list_pictures({"-"}, list);
    CHECK(found.missing.empty());
    return names_of(found.files);
  };
  using Names = std::vector<std::string>;
  CHECK(listed("\xEF\xBB\xBF" + at + "a b.png\r\n" + at + "c, d.png\r\n") ==
        Names{"a b.png", "c, d.png"});
  CHECK(listed("\"" + at + "a b.png\"\n'" + at + "c, d.png'\n") == Names{"a b.png", "c, d.png"});
  CHECK(listed(at + " e.png\n" + at + "'f'.png\n") == Names{" e.png", "'f'.png"});
  CHECK(listed("  " + at + "a b.png \n") == Names{"a b.png"});
  CHECK(listed(at + "g\nh.png" + '\0' + at + "a b.png" + '\0') == Names{"g\nh.png", "a b.png"});
}

TEST_CASE("pictures as a data set: broken ones are ImageErrors with their names") {
  const TemporaryFolder folder;
  write_png(folder / "good.png", Image(3, 5));
  write_file_atomically(folder / "bad.png", "no picture");
  const PictureFiles files({folder / "good.png", folder / "bad.png", folder / "gone.png"});
  CHECK(files.get(0).image == Image(3, 5));
  CHECK_THROWS_WITH_AS(static_cast<void>(files.get(1)), doctest::Contains("bad.png"), ImageError);
  CHECK_THROWS_WITH_AS(static_cast<void>(files.get(2)), doctest::Contains("gone.png"), ImageError);
}

TEST_CASE("the likeliest classes with their probabilities") {
  const Tensor logits = from_values({2, 3}, {0, 0, 0, 1, 3, 2});
  const auto top = top_choices(logits, 1, {"x", "y", "z"}, 2);
  REQUIRE(top.size() == 2);
  CHECK(top[0].name == "y");
  CHECK(top[1].index == 2);
  CHECK(top[0].probability ==
        doctest::Approx(1 / (1 + std::exp(-1) + std::exp(-2))).epsilon(1e-12));
  CHECK(top_choices(logits, 0, {"x", "y", "z"}, 99).size() == 3);
  CHECK(top_choices(logits, 0, {"x", "y", "z"}, 1)[0].name == "x");  // of equal ones the first
  const Tensor bad = from_values({2, 2}, {NAN, 1, INFINITY, 0});
  CHECK(top_choices(bad, 0, {"x", "y"}, 2).empty());
  CHECK(top_choices(bad, 1, {"x", "y"}, 2).empty());
  CHECK_THROWS_AS(static_cast<void>(top_choices(logits, 2, {"x", "y", "z"}, 1)), Error);
  CHECK_THROWS_AS(static_cast<void>(top_choices(logits, 0, {"x"}, 1)), Error);
}

TEST_CASE("predictions as text, CSV and JSON") {
  const auto pictures = two_classified_pictures();
  CHECK(format_predictions(pictures, "text", {"m", "model"}) ==
        "model  m\nnames  model\na, b.png\n     66.52 %  y, z\n     24.47 %  w\nc.png\n  broken: "
        "c.png: is cut "
        "off\n");
  const std::string csv = format_predictions(pictures, "csv", {"m", "none"});
  CHECK(csv.starts_with(
      "file,rank,index,class,probability,named_by\n\"a, b.png\",1,1,\"y, z\",0.66524"));
  CHECK_FALSE(contains(csv, "c.png"));
  const auto json = nlohmann::json::parse(format_predictions(pictures, "json", {"m", "model"}));
  CHECK(json["checkpoint"] == "m");
  CHECK(json["named_by"] == "model");
  CHECK(json["pictures"][0]["classes"][1]["name"] == "w");
  CHECK(json["pictures"][1]["error"] == "c.png: is cut off");
  CHECK_THROWS_AS(static_cast<void>(format_predictions(pictures, "xml", {"m", "model"})), Error);
}

TEST_CASE("pictures of a run carry its name, not its whole path") {
  const TemporaryFolder folder;
  const auto titled = [&](const char* file) {
    LoadedModel loaded;
    loaded.weights = folder / file;
    return loaded.title();
  };
  std::filesystem::create_directories(folder / "first run");
  write_file_atomically(folder / "first run/last.safetensors", "");
  CHECK(titled("first run/best.safetensors") == "first run");
  CHECK(titled("first run/last.safetensors") == "first run, last");
  CHECK(titled("model.safetensors") == "model.safetensors");
}

TEST_CASE("a folder of a hub: model, classes and how images are shown") {
  const TemporaryFolder folder;
  write_hub_folder(folder);
  LoadRequest request;
  request.checkpoint = folder.path().string();
  const LoadedModel loaded = load_trained(request);
  CHECK(loaded.info.classes == std::vector<std::string>{"a", "b", "c"});
  CHECK(loaded.notices.empty());
  const EvaluationTransform how = loaded.preparation();
  CHECK(how.size == ImageSize{32, 32});
  CHECK(how.crop.crop_pct == 0.9);
  CHECK(how.crop.mode == CropMode::squash);
  CHECK(how.crop.filter == Filter::bilinear);
  CHECK(how.normalization.mean[2] == 0.5F);

  request.img_size = "48x64";
  request.images->crop_pct = 1;
  request.images->crop_mode = "center";
  request.images->interpolation = "lanczos";
  request.images->mean = {0.1, 0.2, 0.3};
  request.images->std = {1, 1, 1};
  const LoadedModel other = load_trained(request);
  CHECK(other.preparation().size == ImageSize{48, 64});
  CHECK(other.preparation().crop.crop_pct == 1);
  CHECK(other.preparation().crop.mode == CropMode::center);
  CHECK(other.preparation().crop.filter == Filter::lanczos);
  CHECK(other.preparation().normalization.mean[1] == 0.2F);
  CHECK(contains(other.notices.at(0), "pos_embed was resized"));
  request.img_size = "big";
  CHECK_THROWS_AS(static_cast<void>(load_trained(request)), UsageError);
}

TEST_CASE("at another shape of as many patches positions are resized, and it is said how") {
  const TemporaryFolder folder;
  const nlohmann::json sizes{{"depth", 1}, {"num_classes", 3}};
  const auto model = make_model("vit_tiny_patch16_32x128", sizes, 1);
  const std::vector<double> table = model->store().find("pos_embed").to_vector();
  LoadRequest request;
  const auto loaded_table = [&] {
    return load_trained(request).model->store().find("pos_embed").to_vector();
  };
  request.checkpoint = (folder / "weights.safetensors").string();
  save_model(request.checkpoint, *model);
  request.img_size = "64";  // 4x4 instead of 2x8
  const std::vector<double> resized = loaded_table();
  CHECK(resized != table);
  CHECK(contains(load_trained(request).notices.at(0), "from 2x8 to 4x4 patches as in DeiT's"));
  request.positions.resize = PosResize::timm;
  CHECK(loaded_table() != resized);
  CHECK(contains(load_trained(request).notices.at(0), "from 2x8 to 4x4 patches as in timm"));

  // A bare file is of the model that --model names; --img-size is what it shall become.
  request.positions.resize = PosResize::automatic;
  request.checkpoint = (folder / "bare.pth").string();
  write_file_atomically(request.checkpoint, tests::torch_checkpoint(state_of(*model)));
  request.model = "vit_tiny_patch16_32x128";
  request.model_args = R"({"depth": 1})";
  CHECK(loaded_table() == resized);
  request.img_size.clear();
  CHECK(loaded_table() == table);
  CHECK(load_trained(request).notices.size() == 1);  // about its colours
  request.model = "vit_tiny_patch16_64";
  CHECK(loaded_table() == table);
  request.positions.grid = "2x8";
  CHECK(loaded_table() == resized);
  request.model = "vit_tiny_patch16_224";  // of other numbers of patches: that says nothing
  request.img_size = "64";
  request.positions.grid.clear();
  CHECK(contains(load_trained(request).notices.back(), "using the square 4x4"));
}

TEST_CASE("a checkpoint that names more classes than it has outputs is refused") {
  const TemporaryFolder folder;
  const auto model = make_model("vit_tiny_patch16_32", {{"depth", 1}, {"num_classes", 3}}, 1);
  LoadRequest request;
  request.checkpoint = (folder / "weights.safetensors").string();
  WeightsInfo info;
  info.classes = {"a", "b", "c"};
  weights_file(request.checkpoint, *model, state_of(*model), info).write();
  CHECK(load_trained(request).info.classes == info.classes);
  for (const std::size_t count : {std::size_t{2}, std::size_t{2000}}) {
    info.classes.assign(count, "x");
    weights_file(request.checkpoint, *model, state_of(*model), info).write();
    CHECK(contains(message_of([&] { static_cast<void>(load_trained(request)); }),
                   "names " + std::to_string(count) + " classes, expected 3"));
  }
}

TEST_CASE("--model-args changes what a checkpoint was trained with") {
  const TemporaryFolder folder;
  const auto mae = make_model("mae_vit_tiny_patch16_32", {{"depth", 1}, {"decoder_depth", 1}}, 1);
  LoadRequest request;
  request.checkpoint = (folder / "mae.safetensors").string();
  save_model(request.checkpoint, *mae);
  request.model_args = R"({"mask_ratio": 0.5})";
  const LoadedModel loaded = load_trained(request);
  CHECK(nlohmann::json::parse(loaded.model->info().config).at("mask_ratio") == 0.5);
  request.model_args = R"({"mask_ratoi": 0.5})";
  CHECK(contains(message_of([&] { static_cast<void>(load_trained(request)); }), "mask_ratio"));
  request.model_args = "0.5";
  CHECK_THROWS_AS(static_cast<void>(load_trained(request)), UsageError);
}

TEST_CASE("a checkpoint of torch.save says its classes and its pooling by its tensors") {
  const TemporaryFolder folder;
  const auto model =
      make_model("vit_tiny_patch16_32", {{"global_pool", "avg"}, {"num_classes", 3}}, 1);
  LoadRequest request;
  request.checkpoint = (folder / "mae_finetuned.pth").string();
  write_file_atomically(request.checkpoint, tests::torch_checkpoint(state_of(*model)));
  CHECK(contains(message_of([&] { static_cast<void>(load_trained(request)); }), "add --model"));
  request.model = "vit_tiny_patch16_32";
  request.weights_key = "model";
  const LoadedModel loaded = load_trained(request);
  CHECK(loaded.model->info().num_classes == 3);
  for (const auto& entry : state_of(*model)) {
    CAPTURE(entry.first);
    CHECK(entry.second.to_vector() == state_of(*loaded.model).at(entry.first).to_vector());
  }
  CHECK(loaded.title() == "mae_finetuned.pth");
  CHECK(contains(loaded.notices.at(0), "mean and std of ImageNet"));
  request.weights_key = "ema";
  CHECK(contains(message_of([&] { static_cast<void>(load_trained(request)); }),
                 "\"ema\" is not in it, expected one of \"model\""));
}

TEST_CASE("a run's weights, a bare file, and what is not there") {
  const TemporaryFolder folder;
  const auto model = make_model_from_config(tiny_vit(), 1, {}, "tiny");
  WeightsInfo info;
  info.crop = {0.75, CropMode::border, Filter::hamming};
  info.epoch = 4;
  for (const char* name : {"best", "last", "last_ema"}) {
    info.scores = {{"top1", name == std::string("best") ? 2 : 1}};
    weights_file(RunPaths{folder.path()}.weights(name), *model, state_of(*model), info).write();
  }
  LoadRequest request;
  request.checkpoint = folder.path().string();
  const LoadedModel best = load_trained(request);
  CHECK(best.info.scores.at("top1") == 2);
  CHECK(best.info.epoch == 4);
  CHECK(best.info.crop.crop_pct == 0.75);
  CHECK(best.info.crop.mode == CropMode::border);
  CHECK(best.info.crop.filter == Filter::hamming);
  CHECK(best.run.options.data_dir.empty());
  const std::string data = folder.path().string();
  write_file_atomically(folder / "config.json", nlohmann::json{{"data-dir", data}}.dump());
  CHECK(load_trained(request).run.options.data_dir == data);
  CHECK(load_trained(request).run.options.val_fraction == 0);
  write_file_atomically(folder / "config.json",
                        R"({"val-fraction": 0.25, "val-split": "held", "val-labels": "l.csv"})");
  CHECK(load_trained(request).run.options.val_fraction == 0.25);
  CHECK(load_trained(request).run.options.val_split == "held");
  CHECK(load_trained(request).run.options.val_labels == "l.csv");
  write_file_atomically(folder / "config.json", R"({"data-dir": "/not/there/any/more"})");
  CHECK(load_trained(request).run.options.data_dir == "/not/there/any/more");
  request.last = true;
  CHECK(load_trained(request).info.scores.at("top1") == 1);
  request.use_ema = true;
  CHECK(load_trained(request).weights.filename() == "last_ema.safetensors");

  LoadRequest bare;
  bare.checkpoint = (folder / "bare.safetensors").string();
  CHECK(contains(message_of([&] { static_cast<void>(load_trained(bare)); }), "does not exist"));
  write_safetensors(bare.checkpoint, state_of(*model));
  CHECK(contains(message_of([&] { static_cast<void>(load_trained(bare)); }), "add --model"));
}

}  // namespace fovea
