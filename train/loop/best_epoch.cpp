// Ranking of epochs by the task's main metric, then by the loss; the earlier epoch wins ties.
#include "train/loop/best_epoch.h"

namespace fovea {
namespace {

void note_best(const TaskInfo& task, std::int64_t epoch, const Scores& scores, BestEpoch& best) {
  const EpochRank rank = task.rank(scores);
  if (best.epoch >= 0 && !task.is_better(rank, {best.score, best.loss})) return;
  best = {epoch, rank.score, rank.loss};
}

}  // namespace

void note_scores(const TaskInfo& task, const ScheduleOptions& schedule, const EpochRow& row,
                 Progress& progress) {
  note_best(task, row.epoch, row.eval, progress.best);
  if (!row.ema.empty()) note_best(task, row.epoch, row.ema, progress.best_ema);
  note_metric(schedule, row.epoch, task.best_score(row.eval), task.best_measure().more_is_better,
              progress.plateau);
}

}  // namespace fovea
