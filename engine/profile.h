// Where the time goes, op by op: spans of all threads, for a trace viewer and for a table.
//
// An op is known when it ends (record() sees its output), so its span begins where the thread's
// last one ended. Derivatives and stages are timed from both sides. Nothing is kept, and next to
// nothing spent, unless a Profile is alive.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace fovea {

class Tensor;

struct ProfileSpan {
  std::string name;      ///< of the op or the stage
  std::string category;  ///< "forward", "backward", "stage", or "nested": within a derivative
  std::string detail;    ///< of an op: its output's shape and dtype
  int thread = 0;        ///< numbered as they appear
  double start = 0, seconds = 0;  ///< start counts from the profile's
};

/// Collects spans while it lives. One at a time.
class Profile {
 public:
  Profile();
  ~Profile();
  Profile(const Profile&) = delete;
  Profile& operator=(const Profile&) = delete;

  /// What has ended so far, in the order in which it began.
  [[nodiscard]] std::vector<ProfileSpan> spans() const;
};

[[nodiscard]] bool is_profiling();

/// An op that ends now and began where this thread's last span ended. Call only while profiling.
void profile_op(std::string_view name, const Tensor& output);

/// A span of the time that it lives. `name` must outlive it.
class ProfileScope {
 public:
  ProfileScope(std::string_view name, const char* category);
  ~ProfileScope();
  ProfileScope(const ProfileScope&) = delete;
  ProfileScope& operator=(const ProfileScope&) = delete;

 private:
  std::string_view name_;
  const char* category_;
  double start_;  ///< negative: nothing is kept
  bool counted_ = false;
};

/// Chrome's trace format, for chrome://tracing and ui.perfetto.dev.
[[nodiscard]] std::string chrome_trace(std::span<const ProfileSpan> spans);
/// Ops by their time, both directions: calls, milliseconds, share; the longest `rows` and the rest.
[[nodiscard]] std::string profile_table(std::span<const ProfileSpan> spans, std::size_t rows = 15);

}  // namespace fovea
