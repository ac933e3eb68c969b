// Op-level profiling: time spans of all threads, for a trace viewer and for a table.
//
// An op is reported when it ends (record() receives its output), so its span starts where the
// thread's last span ended. Derivatives and stages are timed from start to end. Without a live
// Profile nothing is recorded and the cost is negligible.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace fovea {

class Tensor;

struct ProfileSpan {
  std::string name;  ///< name of the op or stage
  /// "forward", "backward", "nested" (within a derivative), "stage" or "sending" (to processes).
  std::string category;
  std::string detail;             ///< output shape and dtype of an op
  int thread = 0;                 ///< numbered in order of appearance
  double start = 0, seconds = 0;  ///< in seconds; `start` is relative to the start of the profile
};

/// Collects spans while it is alive. At most one may exist.
class Profile {
 public:
  Profile();
  ~Profile();
  Profile(const Profile&) = delete;
  Profile& operator=(const Profile&) = delete;

  /// The spans that have ended so far, in order of their end.
  [[nodiscard]] std::vector<ProfileSpan> spans() const;
};

[[nodiscard]] bool is_profiling();

/// Records an op that ends now and started where this thread's last span ended. Call only while
/// profiling.
void profile_op(std::string_view name, const Tensor& output);

/// Records a span from construction to destruction. `name` must outlive it.
class ProfileScope {
 public:
  ProfileScope(std::string_view name, const char* category);
  ~ProfileScope();
  ProfileScope(const ProfileScope&) = delete;
  ProfileScope& operator=(const ProfileScope&) = delete;

 private:
  std::string_view name_;
  const char* category_;
  double start_;  ///< negative: not recorded
  bool counted_ = false;
};

/// The spans in Chrome's trace format, for chrome://tracing and ui.perfetto.dev.
[[nodiscard]] std::string chrome_trace(std::span<const ProfileSpan> spans);
/// Ops sorted by total time: calls, milliseconds forward and backward, share. Shows the `rows`
/// longest and the sum of the others.
[[nodiscard]] std::string profile_table(std::span<const ProfileSpan> spans, std::size_t rows = 15);

}  // namespace fovea
