// Which of a teacher's classes are the run's: its logits follow their names.
#pragma once

#include <cstdint>
#include <string>

#include "base/notices.h"
#include "data/class_match.h"
#include "engine/tensor.h"

namespace fovea {

/// Brings a teacher's logits [..., K of the teacher] to the run's classes.
class TeacherClasses {
 public:
  /// Every column is the run's class of the same number.
  TeacherClasses() = default;
  /// As match_classes() matches them: the teacher may have more classes than the run, and have them
  /// in another order. Throws Error, beginning with `where`, where a class of the run is none of
  /// the teacher's. `notices` gets what the user should know of it.
  TeacherClasses(const ModelClasses& teacher, const DataClasses& own, const std::string& where,
                 Notices& notices);

  [[nodiscard]] Tensor of(const Tensor& logits) const;

 private:
  Tensor columns_;  ///< i64 [K of the run]; undefined: all, in their order
};

}  // namespace fovea
