// Matching a teacher's classes to those of the run, by name.
#pragma once

#include <cstdint>
#include <string>

#include "data/classes/class_match.h"
#include "engine/base/notices.h"
#include "engine/tensor.h"

namespace fovea {

/// Selects and reorders the columns of a teacher's logits [..., teacher's classes].
class TeacherClasses {
 public:
  /// Keeps all columns in their order.
  TeacherClasses() = default;
  /// Matches classes as match_classes() does: the teacher may have more classes than the run, and
  /// another order. Throws Error, starting with `where`, if the teacher lacks a class of the run.
  /// Messages for the user are added to `notices`.
  TeacherClasses(const ModelClasses& teacher, const DataClasses& own, const std::string& where,
                 Notices& notices);

  /// Returns [..., run's classes].
  [[nodiscard]] Tensor of(const Tensor& logits) const;

 private:
  Tensor columns_;  ///< i64 [run's classes]; undefined: all columns in order
};

}  // namespace fovea
