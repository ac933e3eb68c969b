// Settings: reading, refusing, printing, and where a run's settings come from.
#include "train/settings/config.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "tests/support/temporary_folder.h"
#include "train/start/resolve.h"
#include "train/start/tasks.h"
#include "train/tasks/classification.h"

namespace fovea {
namespace {

void set(TrainConfig& config, const std::string& name, const std::string& text) {
  const Fields fields = fields_of(config);
  set_field(find_field(fields, name, "flag"), text);
}

std::string refusal(const std::string& name, const std::string& text) {
  TrainConfig config = config_for(TaskKind::classification);
  try {
    set(config, name, text);
  } catch (const UsageError& error) {
    return error.what();
  }
  return "";
}

std::vector<double> betas_of(const TrainConfig& config) {
  const OptimizerOptions& options = config.step.optimizer;
  if (!options.beta1) return {};
  return {*options.beta1, *options.beta2};
}

}  // namespace

TEST_CASE("values of every type") {
  TrainConfig c = config_for(TaskKind::classification);
  set(c, "batch-size", "64");
  set(c, "lr", "2.5e-4");
  set(c, "model-ema", "true");
  set(c, "opt_betas", "0.8, 0.95");  // `_` reads as `-`
  set(c, "sched", "step");
  CHECK(c.images.loader.batch_size == 64);
  CHECK(c.rate.lr == 2.5e-4);
  CHECK(c.step.ema.keep);
  CHECK(betas_of(c) == std::vector<double>{0.8, 0.95});
  CHECK(c.schedule.kind == ScheduleKind::step);
  set(c, "lr", "none");
  CHECK_FALSE(c.rate.lr.has_value());
}

TEST_CASE("numbers are whole, finite and in range") {
  CHECK(refusal("lr", "nan") == "--lr: got nan, expected none or a finite number, 0 to 1e+06");
  CHECK(refusal("lr", "inf").find("got inf") != std::string::npos);
  CHECK(refusal("lr", "1e999") != "");
  CHECK(refusal("lr", "-1") != "");
  CHECK(refusal("lr", "1e-3x") != "");
  CHECK(refusal("lr", "") == "--lr: got nothing, expected none or a finite number, 0 to 1e+06");
  CHECK(refusal("batch-size", "0") == "--batch-size: got 0, expected an integer, 1 to 65536");
  CHECK(refusal("batch-size", "12.5") != "");
  CHECK(refusal("batch-size", "99999999999999999999") != "");
  CHECK(refusal("opt-betas", "0.9") != "");
  CHECK(refusal("opt-betas", "0.9,1.0") != "");
  CHECK(refusal("model-ema", "perhaps") == "--model-ema: got perhaps, expected true or false");
}

TEST_CASE("scenes have the size of the model's images") {
  TrainConfig c = config_for(TaskKind::masked_autoencoding);
  CHECK(dataset_options(c).scene_side == 64);
  c.model.settings["img_size"] = "96";
  CHECK(dataset_options(c).scene_side == 96);
}

TEST_CASE("unknown names and choices are answered with the nearest known one") {
  CHECK(refusal("batchsize", "1") == "flag: unknown setting batchsize; did you mean batch-size?");
  CHECK(refusal("opt", "adam").find("; did you mean adamw?") != std::string::npos);
}

TEST_CASE("JSON: the same names, strict, and all or nothing said about where") {
  TrainConfig c = config_for(TaskKind::classification);
  const Fields fields = fields_of(c);
  apply_json(fields, R"({"about": 1, "weight_decay": 0.1, "opt-betas": [0.5, 0.6], "lr": null,
                         "model-args": {"class_token": false}, "epochs": "7"})",
             "f.json");
  CHECK(c.step.optimizer.weight_decay == 0.1);
  CHECK(betas_of(c) == std::vector<double>{0.5, 0.6});
  CHECK(c.model.settings["model_args"] == R"({"class_token":false})");
  CHECK(c.schedule.epochs == 7);
  for (const char* bad : {R"({"wieght-decay": 0.1})", R"({"epochs": 1.5})", R"({"epochs": []})",
                          R"({"epochs": [[1]]})", R"([1, 2])", "{", "", "\xff\xfe",
                          R"({"lr": 1e999})", R"({"opt-betas": ["a", 1]})"}) {
    CAPTURE(std::string(bad));
    CHECK_THROWS_WITH_AS(apply_json(fields, bad, "f.json"), doctest::Contains("f.json: "),
                         UsageError);
  }
  const std::string deep = std::string(100'000, '[') + std::string(100'000, ']');
  CHECK_THROWS_AS(apply_json(fields, deep, "f.json"), UsageError);
}

TEST_CASE("JSON: comments, blanks, carriage returns and a byte-order mark are no matter") {
  TrainConfig c = config_for(TaskKind::classification);
  apply_json(fields_of(c),
             "\xEF\xBB\xBF{\r\n // a run\r\n \" batch_size \": \" 48 \", /* long */\r\n"
             "\"epochs\": \"9\\r\"}\r\n",
             "f.json");
  CHECK(c.images.loader.batch_size == 48);
  CHECK(c.schedule.epochs == 9);
}

TEST_CASE("JSON: a setting that is given twice is refused") {
  TrainConfig config = config_for(TaskKind::classification);
  const Fields fields = fields_of(config);
  const auto refusal = [&](const char* text) {
    return message_of([&] { apply_json(fields, text, "f.json"); });
  };
  CHECK(refusal(R"({"epochs": 1, "lr": 1, "epochs": 2})") ==
        "f.json: \"epochs\" is given twice, expected it once");
  CHECK(
      contains(refusal(R"({"model-args": {"depth": 1, "depth": 2}})"), "\"depth\" is given twice"));
  CHECK(refusal(R"({"batch-size": 8, "batch_size": 16})") ==
        "f.json: batch-size and batch_size are the same setting, expected one of them");
  CHECK(contains(refusal(R"({"drop-path": 0.1, "drop-path-rate": 0.2})"), "are the same setting"));
  CHECK(refusal(R"({"model-args": {"depth": 1}, "epochs": 1})").empty());
}

TEST_CASE("a whole number may be written as a real one") {
  TrainConfig c = config_for(TaskKind::classification);
  apply_json(fields_of(c), R"({"batch-size": 64.0, "grad-accum-steps": 1e1})", "f.json");
  CHECK(c.images.loader.batch_size == 64);
  CHECK(c.loop.grad_accum_steps == 10);
  set(c, "batch-size", "32.0");
  CHECK(c.images.loader.batch_size == 32);
  CHECK(refusal("batch-size", "32.5") != "");
  CHECK(refusal("batch-size", "1e30") != "");
  CHECK(refusal("batch-size", "nan") != "");
}

TEST_CASE("JSON that is none is answered with line, column and what is meant") {
  TrainConfig c = config_for(TaskKind::classification);
  const auto complaint = [&](const std::string& text) -> std::string {
    try {
      apply_json(fields_of(c), text, "f");
    } catch (const UsageError& error) {
      return error.what();
    }
    return "";
  };
  CHECK(complaint("{\"epochs\": 3,\n}") ==
        "f: line 1, column 13: a comma before }, expected none after the last item");
  CHECK(complaint("\xEF\xBB\xBF{\"epochs\": 3,}") ==
        "f: line 1, column 13: a comma before }, expected none after the last item");
  CHECK(complaint("{\n\"scale\": [0.5, 1,\n ] }") ==
        "f: line 2, column 17: a comma before ], expected none after the last item");
  CHECK(complaint("{\n # a remark\n}") ==
        "f: line 2, column 2: got #, expected // before a comment");
  CHECK(complaint("{'epochs': 3}") ==
        "f: line 1, column 2: got ', expected names and strings in \" \"");
  CHECK(complaint("{\"report\": True}").find("line 1, column 12: got T") != std::string::npos);
  CHECK(complaint("{\"epochs\": 3").find("the text ends here") != std::string::npos);
  CHECK(complaint("{\"epochs\": 3 \"lr\": 1}").find("line 1, column 14: got a string") !=
        std::string::npos);
  CHECK(complaint(" \r\n") == "f: got nothing, expected a JSON object of settings");
  for (const char* yaml : {"aa: rand-m9-mstd0.5-inc1\naug_repeats: 0.0\n", "---\nlr: 0.1\n",
                           "# timm\n\nbatch_size: 128\n", "lr:\r\n"}) {
    CAPTURE(std::string(yaml));
    CHECK(complaint(yaml).starts_with("f: is YAML, expected JSON"));
  }
  for (const char* toml : {"epochs = 3\n", "# mine\n\n[model]\nname = 'x'\n", "lr.start=0.1\r\n"}) {
    CAPTURE(std::string(toml));
    CHECK(complaint(toml).starts_with("f: is TOML, expected JSON"));
  }
  CHECK(complaint("[3]").find("TOML") == std::string::npos);
  const std::string little("{\0}\0", 4), big("\0{\0}", 4);
  for (const std::string& wide : {"\xff\xfe" + little, "\xfe\xff" + big, little, big})
    CHECK(complaint(wide).starts_with("f: is UTF-16"));
  CHECK(complaint("\x28\xb5\x2f\xfd...").starts_with("f: is compressed with zstd; unpack it"));
}

TEST_CASE("timm's other names of settings are understood, in files and as flags") {
  TrainConfig c = config_for(TaskKind::classification);
  apply_json(fields_of(c),
             R"({"drop_path_rate": 0.2, "validation_batch_size": 16, "gp": "avg",
                 "model_kwargs": {"class_token": false}, "kd_temperature": 3.5})",
             "f.json");
  CHECK(c.model.drop_path == 0.2);
  CHECK(c.evaluation.batch_size == 16);
  CHECK(c.model.settings["global_pool"] == "avg");
  CHECK(c.model.settings["model_args"] == R"({"class_token":false})");
  set(c, "drop_connect", "0.1");
  CHECK(c.model.drop_path == 0.1);
}

TEST_CASE("unknown names of a file are said all at once") {
  TrainConfig c = config_for(TaskKind::classification);
  CHECK_THROWS_WITH_AS(
      apply_json(fields_of(c), R"({"pin_mem": 1, "epochs": 3, "fuser": ""})", "args.json"),
      "args.json: unknown settings pin_mem, fuser", UsageError);
  CHECK_THROWS_WITH_AS(apply_json(fields_of(c), R"({"epoch": 3})", "f"),
                       "f: unknown setting epoch; did you mean epochs?", UsageError);
}

TEST_CASE("dropout rates are flags of classifiers, and reach the model by timm's names") {
  TrainConfig c = config_for(TaskKind::classification);
  CHECK(c.model.overrides().empty());
  set(c, "drop", "0.1");
  set(c, "pos-drop-rate", "0.2");
  set(c, "proj_drop_rate", "0.3");
  set(c, "attn-drop-rate", "0.4");
  CHECK(c.model.overrides() == nlohmann::json{{"drop_rate", 0.1},
                                              {"pos_drop_rate", 0.2},
                                              {"proj_drop_rate", 0.3},
                                              {"attn_drop_rate", 0.4}});
  apply_json(fields_of(c), R"({"drop_rate": 0})", "f.json");
  CHECK(c.model.drop == 0);
  CHECK(refusal("drop", "1") == "--drop: got 1, expected a finite number, 0 to 0.99");
}

TEST_CASE("what is written can be read, and one-time settings are left out") {
  TrainConfig a = config_for(TaskKind::classification);
  set(a, "lr", "0.1");
  set(a, "mean", "0.1,0.2,0.3");
  set(a, "clip-grad", "1");
  set(a, "output", "somewhere");
  const std::string json = to_json(fields_of(a));
  CHECK(json.find("somewhere") == std::string::npos);
  TrainConfig b = config_for(TaskKind::classification);
  apply_json(fields_of(b), json, "config.json");
  CHECK(to_json(fields_of(b)) == json);
  CHECK(b.rate.lr == 0.1);
}

TEST_CASE("every setting has a help text, a group and its own name") {
  TrainConfig config = config_for(TaskKind::classification);
  std::vector<std::string> names;
  for (const Field& field : fields_of(config)) {
    CAPTURE(field.name);
    CHECK_FALSE(field.help.empty());
    CHECK_FALSE(field.group.empty());
    CHECK(std::find(names.begin(), names.end(), field.name) == names.end());
    names.push_back(field.name);
  }
  CHECK(settings_table(fields_of(config)).find("batch-size 128") != std::string::npos);

  TrainConfig other = config_for(TaskKind::classification);
  other.rate.lr = 7;
  CHECK(settings_table(fields_of(config), fields_of(config)).empty());
  const std::string changed = settings_table(fields_of(other), fields_of(config));
  CHECK(changed.find("lr 7") != std::string::npos);
  CHECK(changed.find("batch-size") == std::string::npos);
}

TEST_CASE("recipe, then file, then flags") {
  const TemporaryFolder folder;
  const std::string file = (folder.path() / "c.json").string();
  write_file_atomically(file, R"({"epochs": 5, "mixup": 0.3, "dataset": "cifar10"})");
  const TrainConfig c = resolve_run({{"config", file}, {"epochs", "6"}}).config;
  CHECK(c.data.name == "cifar10");
  CHECK(c.schedule.epochs == 6);                  // the flag
  CHECK(classification_of(c).mix.mixup == 0.3);   // the file
  CHECK(classification_of(c).mix.cutmix == 1.0);  // the recipe of CIFAR
  CHECK(c.model.name == "vit_tiny_patch4_32");
  CHECK(resolve_run({}).config.data.name == "builtin");
  CHECK(resolve_run({{"dataset", "cifar100"}}).config.schedule.epochs == 200);
}

TEST_CASE("a model asked for by name comes without the changes that the recipe makes to its own") {
  CHECK(resolve_run({}).config.model.settings["depth"] == "4");
  TrainConfig c = resolve_run({{"model", "vit_small_patch4_32"}, {"num-heads", "2"}}).config;
  CHECK(c.model.settings["depth"].empty());
  CHECK(c.model.settings["num_heads"] == "2");
  CHECK(resolve_run({{"model", "linear"}}).config.model.overrides().empty());
}

TEST_CASE("CIFAR's recipe has every setting of training from scratch") {
  const TrainConfig c = resolve_run({{"dataset", "cifar10"}}).config;
  CHECK(peak_lr(c) == doctest::Approx(2.5e-4).epsilon(1e-12));  // 1e-3 per 512
  CHECK(c.schedule.warmup_epochs == 10);
  CHECK(c.schedule.min_lr == 1e-5);
  CHECK(c.step.optimizer.weight_decay == 0.05);
  CHECK(c.model.drop_path == 0.1);
  CHECK(classification_of(c).objective.smoothing == 0.1);
  CHECK(classification_of(c).mix.mixup == 0.8);
  CHECK(c.images.augment.crop_padding == 4);
  CHECK(c.run.normalization.deviation == std::array{0.2470F, 0.2435F, 0.2616F});
}

TEST_CASE("settings that do not fit each other are refused") {
  const auto refused = [](const std::vector<Setting>& flags, const char* why) {
    CAPTURE(std::string(why));
    CHECK_THROWS_WITH_AS(static_cast<void>(resolve_run(flags)), doctest::Contains(why), UsageError);
  };
  refused({{"mixup", "0.8"}, {"batch-size", "33"}}, "even number");
  refused({{"distillation-type", "soft"}}, "--teacher-checkpoint");
  refused({{"distillation-type", "soft"}, {"teacher-checkpoint", "a"}, {"teacher-logits", "b"}},
          "needs either");
  refused({{"distillation-type", "soft"}, {"teacher-logits", "b"}, {"mixup", "0.8"}}, "--mixup 0");
  refused({{"teacher-logits", "b"}}, "--distillation-type soft, hard or bce");
  refused({{"finetune", "a"}, {"initial-checkpoint", "b"}}, "expected only one of them");
  refused({{"cooldown-epochs", "1"}, {"sched", "step"}},
          "does not end at a constant learning rate");
  refused({{"decay-milestones", "3,2"}}, "ascending numbers");
  refused({{"sched", "plateau"}, {"decay-rate", "1"}}, "less than 1");
  refused({{"sched", "half-cosine"}, {"warmup-prefix", "true"}}, "--warmup-prefix");
  refused({{"sched", "wsd"}, {"epochs", "10"}, {"warmup-epochs", "4"}, {"decay-epochs", "7"}},
          "at most the 6 epochs");
  refused({{"bce-sum", "true"}}, "--bce-loss");
  refused({{"bce-pos-weight", "2"}}, "--bce-loss");
  refused({{"clip-mode", "agc"}, {"clip-grad", "none"}}, "--clip-grad");
  refused({{"model-ema-warmup", "true"}}, "--model-ema");
  refused({{"freeze", "a"}, {"linear-probe", "true"}}, "expected only one of them");
  refused({{"freeze", "a("}}, "is not a regular expression");
  refused({{"train-img-sizes", "32"}}, "two or more");
  refused({{"train-img-sizes", "16.5,32"}}, "whole numbers");
  refused({{"eval", "true"}}, "--eval needs weights");
  refused({{"use-ema", "true"}}, "--use-ema needs --eval");
  refused({{"teacher", "vit_tiny_patch4_32"}}, "needs its weights, --teacher-checkpoint");
  refused({{"distillation-type", "hard"}, {"teacher", "a"}, {"teacher-logits", "b"}},
          "needs its weights, --teacher-checkpoint");
  refused({{"resume", "auto"}}, "--output");
  refused({{"img-size", "32x"}}, "expected N or HxW");
  refused({{"model-args", "depth"}}, "JSON object");
  refused({{"device", "gpu"}}, "--device");
}

TEST_CASE("a run shorter than its recipe's warm-up or decay begins") {
  const auto resolved = [](TaskKind task, const char* dataset, const std::vector<Setting>& flags) {
    return resolve_run(flags, {.task = task, .dataset = dataset});
  };
  const ResolvedRun epoch = resolved(TaskKind::diffusion, "builtin", {{"epochs", "1"}});
  const ScheduleOptions schedule = schedule_options(epoch.config);  // whose warm-up is the run
  CHECK(epochs_after_warmup(schedule) == 0);
  for (std::int64_t step = 1; step < 10; ++step)
    CHECK(learning_rate(schedule, step, 10) > learning_rate(schedule, step - 1, 10));

  const ResolvedRun short_run =
      resolved(TaskKind::detection, "scenes", {{"sched", "wsd"}, {"epochs", "10"}});
  CHECK(short_run.config.schedule.decay_epochs == 0.2);
  REQUIRE(short_run.notices.texts().size() == 1);
  CHECK(contains(short_run.notices.texts()[0], "--decay-epochs 0.2 instead of the recipe's 20"));
}

TEST_CASE("an optimizer's own averaging factors and eps, until others are asked for") {
  const auto options = [](const std::vector<Setting>& flags) {
    return moment_decay_of(resolve_run(flags).config.step.optimizer);
  };
  CHECK(options({}).beta2 == 0.999);
  CHECK(options({{"opt", "lion"}}).beta2 == 0.99);
  CHECK(options({{"opt", "muon"}}).eps == 1e-7);
  CHECK(options({{"opt", "lamb"}}).eps == 1e-6);
  CHECK(options({{"opt", "lamb"}, {"opt-eps", "1e-3"}, {"opt-betas", "0.5,0.75"}}).eps == 1e-3);
  CHECK(options({{"opt", "lamb"}, {"opt-betas", "0.5,0.75"}}).beta2 == 0.75);
  CHECK(options({{"opt", "lamb"}, {"opt-betas", "none"}}).beta2 == 0.999);
  TrainConfig c = config_for(TaskKind::classification);
  const std::string json = to_json(fields_of(c));  // an empty list goes there and back
  CHECK(json.find("\"opt-betas\": []") != std::string::npos);
  set(c, "opt-betas", "0.1,0.2");
  apply_json(fields_of(c), json, "config.json");
  CHECK(betas_of(c).empty());
}

TEST_CASE("rates by patterns of names: repeated, in JSON a list or an object") {
  const auto rates_of = [](const std::vector<Setting>& flags) {
    std::string text;
    for (const auto& [pattern, factor] : resolve_run(flags).config.step.optimizer.named_rates)
      text += pattern + ":" + std::to_string(factor).substr(0, 4) + " ";
    return text;
  };
  CHECK(rates_of({}).empty());
  CHECK(rates_of({{"lr-scale", "head=10 ^blocks.0=0.5"}}) == "head:10.0 ^blocks.0:0.50 ");
  CHECK(rates_of({{"lr-scale", "a=b=2"}}) == "a=b:2.00 ");
  TrainConfig c = config_for(TaskKind::classification);
  const Fields fields = fields_of(c);
  for (const char* json :
       {R"({"lr-scale": ["head=10", "norm=2"]})", R"({"lr-scale": {"head": 10, "norm": 2}})",
        R"({"lr-scale": "head=10 norm=2"})"}) {
    set(c, "lr-scale", "none");
    apply_json(fields, json, "f.json");
    CHECK(field_text(find_field(fields, "lr-scale", "")) == "head=10 norm=2");
  }
  TrainConfig again = config_for(TaskKind::classification);
  apply_json(fields_of(again), to_json(fields), "config.json");
  CHECK(again.step.optimizer.named_rates.size() == 2);
  CHECK(refusal("lr-scale", "head") ==
        "--lr-scale: got head, expected PATTERN=FACTOR, as in head=10: the pattern and \"=\" must "
        "come "
        "first");
  for (const char* bad : {"=2", "head=", "head=nan", "head=-1", "head=x", "he(ad=2"}) {
    CAPTURE(std::string(bad));
    CHECK(refusal("lr-scale", bad).find("PATTERN=FACTOR") != std::string::npos);
  }
}

TEST_CASE("the rate for larger steps grows as asked") {
  TrainConfig c = config_for(TaskKind::classification);
  c.rate.base = 0.1;
  c.rate.base_size = 256;
  c.images.loader.batch_size = 1024;
  CHECK(peak_lr(c) == doctest::Approx(0.4).epsilon(1e-12));
  c.rate.growth = RateGrowth::sqrt;
  CHECK(peak_lr(c) == doctest::Approx(0.2).epsilon(1e-12));
}

TEST_CASE("the model's settings that differ from the registry's") {
  TrainConfig c = config_for(TaskKind::classification);
  set(c, "img-size", "32x48");
  set(c, "depth", "2");
  set(c, "model-args", R"({"class_token": false})");
  CHECK(c.model.overrides().dump() == R"({"class_token":false,"depth":2,"img_size":[32,48]})");
}

TEST_CASE("an average that keeps its first weights is told, with their share") {
  TrainConfig config = config_for(TaskKind::classification);
  const auto told = [&](std::int64_t updates) {
    Notices notices;
    note_average(config, updates, notices);
    return notices.texts().empty() ? "" : notices.texts()[0];
  };
  set(config, "model-ema-decay", "0.99996");
  CHECK(told(60).empty());  // nothing is averaged
  set(config, "model-ema", "true");
  CHECK(told(60) ==
        "--model-ema-decay 0.99996 keeps 99.76 % of the initial weights in the average after the "
        "run's 60 updates, so the average reflects little of the training; use a smaller decay "
        "or --model-ema-warmup");
  CHECK(told(200'000).empty());  // 0.03 %
  set(config, "model-ema-warmup", "true");
  CHECK(told(60).empty());
}

}  // namespace fovea
