// log.csv and steps.jsonl: their text, and that a continued run ends with the same files.
#include "train/run/run_log.h"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>

#include "engine/base/error.h"
#include "engine/base/files.h"
#include "tests/support/temporary_folder.h"
#include "tests/train/classification_task.h"
#include "train/run/logged_values.h"

using namespace fovea;
using tests::kTask;

namespace {

EpochRow epoch_row(std::int64_t epoch) {
  EpochRow row;
  row.epoch = epoch;
  row.train_loss = 1.0 / static_cast<double>(epoch + 3);
  row.lr = 1e-3;
  if (epoch % 2 == 0) {
    row.eval = {0.5, 90.25, 99};
  }
  return row;
}

StepRow step_row(std::int64_t step) {
  return {.step = step,
          .epoch = step / 4,
          .loss = 2.5,
          .lr = 5e-4,
          .img_s = 100,
          .time = {2, {.wait = 0.25, .forward = 0.5, .backward = 0.75, .optimizer = 0.125}},
          .grad_norm = {}};
}

void log_steps(RunLog& log, std::int64_t first, std::int64_t last) {
  for (std::int64_t step = first; step <= last; ++step) {
    log.step(step_row(step));
    if (step % 4 == 0) log.epoch(epoch_row(step / 4 - 1));
  }
}

}  // namespace

TEST_CASE("the text of the logs") {
  const TemporaryFolder folder;
  {
    RunLog log(folder.path(), kTask);
    log.epoch(epoch_row(0));
    log.epoch(epoch_row(1));
    StepRow row = step_row(5);
    log.step(row);
    row.loss = std::numeric_limits<double>::quiet_NaN();
    row.grad_norm = 1.5;
    row.mfu = 0.5;
    row.fingerprint = "0a1b";
    log.step(row);
  }
  CHECK(
      read_file(folder / "log.csv") ==
      "epoch,train_loss,eval_loss,eval_top1,eval_top5,lr,ema_loss,ema_top1,ema_top5,img_s,seconds\n"
      "0,0.3333333333333333,0.5,90.25,99,0.001,,,,0,0\n"
      "1,0.25,,,,0.001,,,,0,0\n");
  CHECK(read_file(folder / "steps.jsonl") ==
        R"({"step":5,"epoch":1,"loss":2.5,"lr":5e-04,"img_s":100,"wait_s":0.25,)"
        R"("forward_s":0.5,"backward_s":0.75,"optimizer_s":0.125,"other_s":0.375})"
        "\n"
        R"({"step":5,"epoch":1,"loss":null,"lr":5e-04,"img_s":100,"wait_s":0.25,)"
        R"("forward_s":0.5,"backward_s":0.75,"optimizer_s":0.125,"other_s":0.375,"mfu":0.5,)"
        R"("grad_norm":1.5,"fingerprint":"0a1b"})"
        "\n");
}

TEST_CASE("rows come back from their text") {
  std::vector<EpochRow> rows = {epoch_row(0), epoch_row(1)};
  rows[1].train_loss = std::numeric_limits<double>::infinity();
  rows[1].ema = {1, -0.1, 2};
  rows.push_back(epoch_row(2));
  rows[2].train_loss = std::numeric_limits<double>::quiet_NaN();  // all its steps were skipped
  const std::vector<EpochRow> read = parse_epochs(kTask, format_epochs(kTask, rows), "log.csv");
  REQUIRE(read.size() == 3);
  CHECK(std::isnan(read[2].train_loss));
  CHECK_FALSE(contains(format_epochs(kTask, rows), "nan"));
  CHECK_FALSE(logged_values(kTask, read[2]).front().value);
  CHECK(read[0].eval == rows[0].eval);
  CHECK(read[0].train_loss == rows[0].train_loss);
  CHECK(read[1].eval.empty());
  CHECK(read[1].train_loss == rows[1].train_loss);
  CHECK(read[1].ema == rows[1].ema);
}

TEST_CASE("a log that a spreadsheet has saved reads the same") {
  const std::string csv = format_epochs(kTask, {}) + "0,1,,,,1,,,,1,1\n";
  std::string saved = "\xEF\xBB\xBF";
  for (const char c : csv) saved += c == '\n' ? std::string("\r\n") : std::string(1, c);
  CHECK(format_epochs(kTask, parse_epochs(kTask, saved, "log.csv")) == csv);
}

TEST_CASE("logs of earlier versions: former names are read, and what they lack is empty") {
  TaskInfo task;
  task.measures = {{.name = "loss", .title = "loss", .is_loss = true},
                   {.name = "ap_small", .title = "AP small", .former_name = "ap small"},
                   {.name = "psnr", .title = "PSNR", .is_recent = true}};
  const std::string former =
      "epoch,train_loss,eval_loss,eval_ap small,lr,ema_loss,ema_ap small,img_s,seconds\n"
      "0,1,2,0.5,0.1,,,10,20\n";
  const std::vector<EpochRow> rows = parse_epochs(task, former, "log.csv");
  REQUIRE(rows.size() == 1);
  REQUIRE(rows[0].eval.size() == 3);
  CHECK(rows[0].eval[1] == 0.5);
  CHECK(std::isnan(rows[0].eval[2]));
  CHECK(rows[0].ema.empty());
  CHECK(rows[0].seconds == 20);
  const std::string now = format_epochs(task, rows);
  CHECK(
      now ==
      "epoch,train_loss,eval_loss,eval_ap_small,eval_psnr,lr,ema_loss,ema_ap_small,ema_psnr,img_s,"
      "seconds\n0,1,2,0.5,,0.1,,,,10,20\n");
  CHECK(format_epochs(task, parse_epochs(task, now, "log.csv")) == now);
  CHECK(contains(message_of([&] {
                   (void)parse_epochs(task, "epoch,train_loss,eval_loss,lr,img_s,seconds\n", "x");
                 }),
                 "expected epoch,train_loss,eval_loss,eval_ap_small"));
}

TEST_CASE("what is no log is refused with its line") {
  const std::string header = format_epochs(kTask, {});
  const auto message = [](const std::string& csv) {
    return message_of([&] { (void)parse_epochs(kTask, csv, "log.csv"); });
  };
  CHECK(contains(message(""), "log.csv: the first line is not the header"));
  CHECK(contains(message("a,b\n"), "not the header"));
  CHECK(contains(message(header + "0,1,,,,1,,,,1,1\nx\n"), "log.csv: line 3 is not a row"));
  CHECK(contains(message(header + "0,1,,,,1,,,,1\n"), "line 2"));      // a column is missing
  CHECK(contains(message(header + "0,1,,,,1,,,,1,1,1\n"), "line 2"));  // one too many
  CHECK(contains(message(header + "0,1,,,,,,,,1,1\n"), "line 2"));     // an empty train_loss
  CHECK(contains(message(header + "0,1 2,,,,1,,,,1,1\n"), "line 2"));
  CHECK(message(header + "0,1,,,,1,,,,1,1\n").empty());
}

TEST_CASE("a continued run ends with the files of an uninterrupted one") {
  const TemporaryFolder whole, cut;
  {
    RunLog log(whole.path(), kTask);
    log_steps(log, 1, 16);
  }
  const std::string csv = read_file(whole / "log.csv"), steps = read_file(whole / "steps.jsonl");
  for (std::int64_t saved = 0; saved <= 12; ++saved) {  // the state is from `saved`
    for (std::int64_t killed = saved; killed <= 15; killed += 3) {
      CAPTURE(saved);
      CAPTURE(killed);
      std::filesystem::remove(cut / "log.csv");
      std::filesystem::remove(cut / "steps.jsonl");
      {
        RunLog log(cut.path(), kTask);
        log_steps(log, 1, killed);
      }
      AppendFile half(cut / "steps.jsonl");
      half.append(R"({"step":)");
      half.flush();

      RunLog log(cut.path(), kTask, {.epochs = saved / 4, .steps = saved});
      CHECK(log.epochs().size() == static_cast<std::size_t>(saved / 4));
      log_steps(log, saved + 1, 16);
      CHECK(read_file(cut / "log.csv") == csv);
      CHECK(read_file(cut / "steps.jsonl") == steps);
    }
  }
}

TEST_CASE("fingerprints of ends have lines of their own; that of an end that is none is dropped") {
  const TemporaryFolder folder;
  const auto read = [&] { return read_file(folder / "steps.jsonl"); };
  const std::string epoch = R"({"step":2,"epoch":0,"fingerprint":"aa"})"
                            "\n",
                    end = R"({"step":2,"epoch":0,"fingerprint":"bb","ends_run":true})"
                          "\n";
  {
    RunLog log(folder.path(), kTask);
    log.step(step_row(1));
    log.fingerprint({2, 0, "aa"});
    log.fingerprint({2, 0, "bb", true});
  }
  const std::string first = format_step(kTask, step_row(1));
  CHECK(read() == first + epoch + end);
  const std::optional<StepRow> row = parse_step(kTask, epoch);
  REQUIRE(row);
  CHECK(row->fingerprint == "aa");
  CHECK(std::isnan(row->loss));
  RunLog again(folder.path(), kTask, {.epochs = 0, .steps = 2});
  CHECK(read() == first + epoch);
  REQUIRE(again.last_kept_step());
  CHECK(again.last_kept_step()->step == 1);  // the last with losses
  again.fingerprint({2, 0, "aa"});           // the repeated end of an epoch
  CHECK(read() == first + epoch);
  again.fingerprint({3, 0, "cc", true});
  CHECK(contains(read(), "\"cc\""));
}

TEST_CASE("a log that cannot be written is an error") {
  CHECK(contains(message_of([] { RunLog log("/no/such/folder", kTask); }),
                 "No such file or directory"));
}
