// The matching of classes as an index along the last axis.
#include "train/tasks/teacher_columns.h"

#include "ops/index.h"

namespace fovea {

TeacherColumns::TeacherColumns(const ModelClasses& teacher, const std::vector<std::string>& student,
                               const std::string& where) {
  const ClassMatch match = match_classes(teacher, DataClasses{student}, where);
  if (match.is_identity()) return;
  const std::vector<double> columns(match.labels.begin(), match.labels.end());
  index_ = from_values({std::ssize(columns)}, columns, {DType::i64, {}});
}

Tensor TeacherColumns::operator()(const Tensor& logits) const {
  if (!index_.defined()) return logits;
  return ops::index_select(logits, -1, index_.to(logits.device()));
}

}  // namespace fovea
