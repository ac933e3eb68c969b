// Ranking of epochs by the task's main metric, then by the loss; the earlier epoch wins ties.
#include "train/loop/best_epoch.h"

#include <cmath>

namespace fovea {
namespace {

void note_best(const TaskInfo& task, std::int64_t epoch, const Scores& scores, BestEpoch& best) {
  const EpochRank rank = task.rank(scores);
  if (std::isnan(rank.score)) return;
  if (best.epoch >= 0 && !task.is_better(rank, {best.score, best.loss})) return;
  best = {epoch, rank.score, rank.loss};
}

}  // namespace

void note_scores(const TaskInfo& task, const ScheduleOptions& schedule, const EpochRow& row,
                 Progress& progress) {
  if (row.eval.empty()) return;
  note_best(task, row.epoch, row.eval, progress.best);
  if (!row.ema.empty()) note_best(task, row.epoch, row.ema, progress.best_ema);
  const double score = task.best_score(row.eval);
  if (std::isnan(score)) return;
  note_metric(schedule, row.epoch, score, task.best_measure().more_is_better, progress.plateau);
}

}  // namespace fovea
