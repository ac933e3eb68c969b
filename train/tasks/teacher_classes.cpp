// The columns as an index along the last axis.
#include "train/tasks/teacher_classes.h"

#include <vector>

#include "ops/index.h"

namespace fovea {

TeacherClasses::TeacherClasses(const ModelClasses& teacher, const DataClasses& own,
                               const std::string& where, Notices& notices) {
  const ClassMatch match = match_classes(teacher, own, where);
  const std::string notice = match_notice(teacher, own, match);
  if (!notice.empty()) notices.add(where, ": ", notice);
  if (match.is_identity()) return;
  const std::vector<double> columns(match.labels.begin(), match.labels.end());
  columns_ = from_values({std::ssize(columns)}, columns, {DType::i64, {}});
}

Tensor TeacherClasses::of(const Tensor& logits) const {
  if (!columns_.defined()) return logits;
  return ops::index_select(logits, logits.rank() - 1, columns_.to(logits.device()));
}

}  // namespace fovea
