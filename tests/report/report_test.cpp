// Evaluations as tables and files, and the page of a run: whole, escaped, standing alone.
#include <doctest/doctest.h>

#include <cmath>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>

#include "data/geometry/evaluation_transform.h"
#include "engine/base/files.h"
#include "report/classifier_sections.h"
#include "report/evaluations.h"
#include "report/html.h"
#include "report/mistakes.h"
#include "report/page.h"
#include "report/run_report.h"
#include "tests/support/html_check.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/tiny_run.h"
#include "train/run/recorder.h"
#include "train/tasks/classification.h"

namespace fovea {
namespace {

constexpr const char* kNasty = "<b>&\"'\x01\xff caf\u00e9";

/// Three images of two classes, one of them taken for the other.
EvaluatedModel evaluated_model() {
  EvaluatedModel model;
  model.checkpoint = "runs/a, b/best.safetensors";
  model.model = "vit_tiny_patch4_32";
  model.dataset = "builtin";
  model.size = {32, 48};
  model.classes = {kNasty, "b"};
  model.data_classes = {"n01"};
  model.match = {MatchedBy::name, {1}, 2};
  model.result.predictions = {{0, 0, 0, 0.75}, {1, 1, 0, 0.5}, {2, 1, 1, 1}};
  model.result.metrics = {.loss_sum = 1.5, .samples = 3, .correct1 = 2, .correct5 = 3};
  model.result.pass.seconds = 0.5;
  return model;
}

/// A page with everything on it.
RunPage page() {
  RunPage page;
  page.title = kNasty;
  page.facts = {{"model", kNasty}};
  EpochRow row;
  row.train_loss = 1;
  row.eval = {1, 50, 90};
  page.task = classification_info({});
  page.epochs = {row};
  page.scores = scores_of(evaluated_model());
  page.details =
      sections_of(evaluated_model(), {{{1, 1, 0, 0.5}, Image(4, 4), kNasty, "b", kNasty}});
  page.samples = Image(9, 9);
  page.sample_side = 4;
  page.samples_note = kNasty;
  page.settings = {{"Data", "dataset", kNasty, "what <to> learn"}, {"Run", "seed", "1", ""}};
  return page;
}

/// Trains, and leaves the files that a page is made of.
void record_run(TrainConfig config, const std::filesystem::path& folder) {
  Notices notices;
  const Datasets data = open_datasets(config);
  Trainer trainer = make_trainer(config, data, build_model(config, *data.train, notices));
  write_file_atomically(RunPaths{folder}.config(), to_json(fields_of(config)));
  WeightsInfo info;
  info.dataset = config.data.name;
  info.classes = data.train->class_names();
  RunRecorder recorder(folder, trainer.task(), info, trainer.progress());
  TrainWatch watch;
  watch.on_interval = [&](const StepRow& row) { recorder.step(row); };
  watch.on_epoch = [&](const EpochRow& row, const TrainState& state) {
    recorder.epoch(row, state);
  };
  watch.on_picture = [&](std::int64_t epoch, const Image& image) {
    recorder.picture(epoch, image);
  };
  REQUIRE(trainer.fit(watch));
  recorder.finish();
}

/// Of the built-in pictures, which the page opens again.
TrainConfig one_epoch(TrainConfig config) {
  config.data.fraction = 0.001;
  config.images.loader.batch_size = 10;
  config.schedule.epochs = 1;
  config.schedule.warmup_epochs = 0;
  config.loop.log_interval = 1;
  return config;
}

/// The TensorBoard events of a run as bytes, in which tags are readable.
std::string events_of(const std::filesystem::path& folder) {
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const bool has_events = entry.path().filename().string().starts_with("events.out.tfevents.");
    if (has_events) return read_file(entry.path());
  }
  return {};
}

void check_page(const std::string& html) {
  const HtmlCheck result(html);
  for (const std::string& problem : result.problems()) FAIL_CHECK(problem);
}

}  // namespace

TEST_CASE("the worst mistakes: surest first, earlier first, only finite ones, at most so many") {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const std::vector<Prediction> predictions{
      {0, 0, 0, 0.9}, {1, 0, 1, 0.5}, {2, 0, 1, 0.8}, {3, 1, 0, 0.8}, {4, 1, 0, nan}};
  std::vector<std::int64_t> order;
  for (const Prediction& p : worst_mistakes(predictions, 9)) order.push_back(p.index);
  CHECK(order == std::vector<std::int64_t>{2, 3, 1});
  CHECK(worst_mistakes(predictions, 1).size() == 1);
}

TEST_CASE("mistakes are shown as the model saw them") {
  const Datasets data = tiny_data();
  const std::vector<Prediction> predictions{{3, 3, 1, 0.75}, {5, 5, 2, 0.5}};
  EvaluationTransform preparation;
  preparation.size = {40, 40};
  const auto mistakes = worst_mistakes(predictions, 9, *data.test, preparation);
  REQUIRE(mistakes.size() == 2);
  CHECK(mistakes[0].image == prepare_for_evaluation(data.test->get(3).image, preparation));
  CHECK(mistakes[0].label == data.test->class_names()[3]);
  CHECK(mistakes[0].prediction == data.test->class_names()[1]);
  const Image sheet = sheet_of_mistakes(mistakes);
  CHECK(sheet.width == 81);
  CHECK(sheet.height == 40);
  CHECK(std::equal(sheet.at(0, 41), sheet.at(0, 81), mistakes[1].image.at(0, 0)));
  CHECK(contains(svg_of_mistakes(mistakes), "predicted " + mistakes[0].prediction));
  CHECK(contains(svg_of_mistakes(mistakes), "confidence 75.0 %"));
  CHECK(contains(csv_of_mistakes(mistakes), "\n3,image 3,"));
  CHECK(contains(svg_of_mistakes({}), "No mistakes"));
  CHECK_THROWS_AS(static_cast<void>(sheet_of_mistakes({})), Error);
}

TEST_CASE("evaluations as a table, CSV and JSON") {
  const std::vector<EvaluatedModel> models{evaluated_model(), evaluated_model()};
  const std::string table = evaluation_table(models);
  CHECK(contains(table, "32x48       3  0.5000  66.67        75.00  25.00\n"));
  CHECK(contains(table, "     6  1 of 2 by name\n"));
  const std::string csv = evaluation_csv(models);
  CHECK(contains(csv,
                 "\"runs/a, b/best.safetensors\",vit_tiny_patch4_32,builtin,32,48,0.875,3,0,0.5,"));
  CHECK(contains(csv, "classes,classes_of_model,matched_by\n"));
  CHECK(contains(csv, ",1,2,name\n"));
  const auto json = nlohmann::json::parse(evaluation_json(models));
  REQUIRE(json["results"].size() == 2);
  const auto& first = json["results"][0];
  CHECK(first["top1"].get<double>() == doctest::Approx(200.0 / 3));
  CHECK(first["ece"].get<double>() == doctest::Approx(25));
  CHECK(first["confusion"] == nlohmann::json{{1, 0}, {1, 1}});
  CHECK(first["classes"][1]["recall"] == 50);
  CHECK(first["mean_recall"] == 75);
  EvaluatedModel absent = evaluated_model();
  absent.classes.emplace_back("absent");
  const auto with_absent = nlohmann::json::parse(evaluation_json({&absent, 1}))["results"][0];
  CHECK(with_absent["classes"][2]["recall"].is_null());
  CHECK(with_absent["classes"][2]["precision"].is_null());
  CHECK(with_absent["mean_recall"] == 75);
  CHECK(first["classes"][1]["in_data"] == "n01");
  CHECK(first["classes"][0]["in_data"].is_null());
  CHECK(first["matched"] == nlohmann::json{{"by", "name"}, {"classes", 1}, {"of", 2}});
}

TEST_CASE("an evaluation leaves its files") {
  const TemporaryFolder folder;
  const Datasets data = tiny_data();
  EvaluatedModel model = evaluated_model();
  model.classes = data.test->class_names();
  EvaluationTransform preparation;
  preparation.size = {32, 32};
  const auto files = write_evaluation(folder / "new", model, *data.test, preparation);
  CHECK(files.size() == 9);
  for (const auto& file : files) CHECK(std::filesystem::file_size(file) > 0);
  CHECK(read_image(folder / "new/mistakes.png").width == 32);
}

TEST_CASE("HTML is escaped, also what is no UTF-8") {
  Html html("t", "", "");
  html.element("p", kNasty, {{"title", kNasty}});
  const std::string text = std::move(html).finish();
  CHECK(contains(text, "<p title=\"&lt;b&gt;&amp;&quot;'\\x01\\xFF caf\u00e9\">&lt;b&gt;"));
  check_page(text);
  Html open("t", "", "");
  open.open("p");
  CHECK_THROWS_AS(static_cast<void>(std::move(open).finish()), Error);
}

TEST_CASE("the checker of pages finds what is wrong") {
  const std::string head = "<!DOCTYPE html>\n";
  for (const char* wrong : {"<p>", "<p></b></p>", "<p>&</p>", "<img src=\"data:image/png\">",
                            "<img src=\"http://a/b.png\" alt=\"x\">", "<a href=\"#no\">x</a>",
                            "<p id=\"a\"></p><p id=\"a\"></p>", "<p a=\"1\" a=\"2\"></p>"}) {
    INFO(wrong);
    CHECK_FALSE(HtmlCheck(head + wrong).problems().empty());
  }
  CHECK(HtmlCheck(head + "<p>a</p>").problems().empty());
}

TEST_CASE("a page is well formed and stands alone, whatever the names are") {
  const std::string html = html_of(page());
  check_page(html);
  const HtmlCheck result(html);
  CHECK(result.count("section") == 7);
  CHECK(result.count("img") == 5);  // curves, calibration, confusion, mistake, samples
  CHECK(result.count("h1") == 1);
  CHECK_FALSE(contains(html, "<b>&"));
  CHECK(contains(html, "prefers-color-scheme: dark"));
}

TEST_CASE("a page without evaluation, images or epochs says so") {
  RunPage empty;
  empty.title = "Run";
  empty.no_evaluation = "Not evaluated: no weights";
  empty.samples_note = "No training images: no data";
  const std::string html = html_of(empty);
  check_page(html);
  CHECK(contains(html, "Not evaluated: no weights"));
  CHECK(contains(html, "No training images: no data"));
  CHECK(contains(html, "No epoch has finished yet."));
  CHECK_FALSE(contains(html, "id=\"mistakes\""));
}

TEST_CASE("many classes become pixels, and a table that is folded away") {
  RunPage many = page();
  EvaluatedModel model = evaluated_model();
  model.classes.clear();
  for (int k = 0; k < 120; ++k) model.classes.push_back("class " + std::to_string(k));
  many.details = sections_of(model, {});
  const std::string html = html_of(many);
  check_page(html);
  CHECK(HtmlCheck(html).count("details") == 2);
  CHECK(html.size() < 500'000);
}

TEST_CASE("from a run's folder to its page") {
  const TemporaryFolder folder;
  TrainConfig config = one_epoch(tiny_config());
  config.step.ema.keep = false;
  record_run(config, folder.path());

  const auto file = write_run_report({folder.path()}, {});
  CHECK(file == folder / "report.html");
  const std::string html = read_file(file);
  check_page(html);
  CHECK(HtmlCheck(html).count("figure") == 24);
  CHECK(contains(html, "best.safetensors, epoch 1"));
  CHECK(contains(html, "2000 images of builtin at 32 x 32"));
  CHECK(contains(html, "one draw of mixing"));

  RunReportOptions stopped;
  stopped.on_progress = [](std::int64_t, std::int64_t) { return false; };
  const std::string without = read_file(write_run_report({folder.path()}, stopped));
  check_page(without);
  CHECK(contains(without, "Not evaluated: interrupted"));
  std::filesystem::remove(folder / "best.safetensors");
  std::filesystem::remove(folder / "last.safetensors");
  CHECK(contains(read_file(write_run_report({folder.path()}, {})), "Not evaluated"));
  std::filesystem::remove(folder / "config.json");
  CHECK(contains(message_of([&] { static_cast<void>(write_run_report({folder.path()}, {})); }),
                 "expected a run directory"));
}

TEST_CASE("a masked autoencoder's run: its own columns, tags, pictures and section") {
  const TemporaryFolder folder;
  record_run(one_epoch(tiny_mae_config()), folder.path());
  const std::string log = read_file(folder / "log.csv");
  CHECK(log.starts_with(
      "epoch,train_loss,eval_loss,eval_fill,lr,ema_loss,ema_fill,img_s,seconds\n0,"));
  const std::string events = events_of(folder.path());
  for (const char* tag : {"train/loss", "train/lr", "epoch/train_loss", "eval/loss", "eval/fill",
                          "eval_ema/loss", "eval_ema/fill"}) {
    CHECK_MESSAGE(contains(events, tag), std::string(tag));
  }
  CHECK_FALSE(contains(events, "top1"));
  const Image strip = read_image(folder / "pictures/epoch-0001.png");
  CHECK(strip.width == 8 * 33 - 1);  // eight images: as they are, as seen, as reconstructed
  CHECK(strip.height == 3 * 33 - 1);

  const std::string html = read_file(write_run_report({folder.path()}, {}));
  check_page(html);
  CHECK(contains(html, "<section id=\"pictures\""));
  CHECK(contains(html, "Reconstructions"));
  CHECK(contains(html, "Held-out images after epoch 1."));
  CHECK(contains(html, "inpainting baseline loss"));
  CHECK(contains(html, "2000 images of builtin at 32 x 32"));
  CHECK(contains(html, "<dt>inpainting baseline loss</dt>"));  // measured, not from the log
  for (const char* part : {">top-1", "Not evaluated", "id=\"mistakes\"", "id=\"calibration\""}) {
    CHECK_MESSAGE(!contains(html, part), std::string(part));
  }
}

}  // namespace fovea
