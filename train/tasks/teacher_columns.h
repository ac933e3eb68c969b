// Which column of a teacher's logits belongs to which of the student's classes.
#pragma once

#include <string>
#include <vector>

#include "data/class_match.h"
#include "engine/tensor.h"

namespace fovea {

/// Puts the columns of a teacher's logits into the order of the student's classes. A teacher may
/// know more classes than the student; their columns are left out.
class TeacherColumns {
 public:
  /// Matches by name, as match_classes() does. Throws Error, beginning with `where`, if the teacher
  /// does not know a class of the student.
  TeacherColumns(const ModelClasses& teacher, const std::vector<std::string>& student,
                 const std::string& where);

  /// `logits` [..., teacher's classes]; returns [..., student's classes].
  [[nodiscard]] Tensor operator()(const Tensor& logits) const;

 private:
  Tensor index_;  ///< i64 [student's classes]; undefined if the orders are equal
};

}  // namespace fovea
