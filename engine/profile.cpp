// One list of spans under a lock: an op takes microseconds to milliseconds, adding an entry far
// less.
#include "engine/profile.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>
#include <sstream>
#include <utility>

#include "engine/base/error.h"
#include "engine/base/json.h"
#include "engine/tensor.h"

namespace fovea {
namespace {

using Clock = std::chrono::steady_clock;

struct Collector {
  std::mutex mutex;
  std::vector<ProfileSpan> spans;
  Clock::time_point start;
  int threads = 0;
  std::uint64_t session = 0;
};

std::atomic<bool> profiling{false};

Collector& collector() {
  static auto& instance = *new Collector;  // never destroyed: static destructors may compute
  return instance;
}

/// This thread's number and the end of its last span, in the session that it last joined.
struct ThreadState {
  std::uint64_t session = 0;
  int number = 0;
  double last = 0;
  int derivatives = 0;  ///< number of nested derivatives that are running
};
thread_local ThreadState this_thread;

double now() { return std::chrono::duration<double>(Clock::now() - collector().start).count(); }

/// Requires the lock.
ThreadState& enter(Collector& c) {
  if (this_thread.session != c.session) this_thread = {c.session, c.threads++, 0, 0};
  return this_thread;
}

void keep(ProfileSpan span) {
  Collector& c = collector();
  const std::lock_guard lock(c.mutex);
  ThreadState& thread = enter(c);
  span.thread = thread.number;
  thread.last = span.start + span.seconds;
  c.spans.push_back(std::move(span));
}

/// Makes this thread's next span start here.
double begin_span() {
  Collector& c = collector();
  const std::lock_guard lock(c.mutex);
  return enter(c).last = now();
}

double last_end() {
  Collector& c = collector();
  const std::lock_guard lock(c.mutex);
  return enter(c).last;
}

}  // namespace

Profile::Profile() {
  Collector& c = collector();
  const std::lock_guard lock(c.mutex);
  check(!profiling, "Profile: another profile is active, expected one at a time");
  c.spans.clear();
  c.start = Clock::now();
  c.threads = 0;
  ++c.session;
  profiling = true;
}

Profile::~Profile() { profiling = false; }

std::vector<ProfileSpan> Profile::spans() const {
  Collector& c = collector();
  const std::lock_guard lock(c.mutex);
  std::vector<ProfileSpan> spans = c.spans;
  std::ranges::stable_sort(spans, [](const ProfileSpan& a, const ProfileSpan& b) {
    return std::pair(a.start, -a.seconds) < std::pair(b.start, -b.seconds);
  });
  return spans;
}

bool is_profiling() { return profiling.load(std::memory_order_relaxed); }

void profile_op(std::string_view name, const Tensor& output) {
  const double start = last_end();
  std::ostringstream detail;
  detail << output.shape() << ' ' << output.dtype();
  const char* const category = this_thread.derivatives > 0 ? "nested" : "forward";
  keep({std::string(name), category, detail.str(), 0, start, now() - start});
}

ProfileScope::ProfileScope(std::string_view name, const char* category)
    : name_(name), category_(category), start_(is_profiling() ? begin_span() : -1) {
  if (start_ < 0 || std::string_view(category) != "backward") return;
  if (this_thread.derivatives++ > 0) category_ = "nested";
  counted_ = true;
}

ProfileScope::~ProfileScope() {
  if (counted_) --this_thread.derivatives;
  if (start_ < 0 || !is_profiling()) return;
  keep({std::string(name_), category_, {}, 0, start_, now() - start_});
}

std::string chrome_trace(std::span<const ProfileSpan> spans) {
  nlohmann::json events = nlohmann::json::array();
  for (const ProfileSpan& s : spans) {
    nlohmann::json event{{"name", s.name},         {"cat", s.category}, {"ph", "X"},
                         {"ts", s.start * 1e6},  // in microseconds
                         {"dur", s.seconds * 1e6}, {"pid", 1},          {"tid", s.thread}};
    if (!s.detail.empty()) event["args"] = {{"output", s.detail}};
    events.push_back(std::move(event));
  }
  return json_text(nlohmann::json{{"displayTimeUnit", "ms"}, {"traceEvents", std::move(events)}}) +
         "\n";
}

std::string profile_table(std::span<const ProfileSpan> spans, std::size_t rows) {
  struct ProfileRow {
    double forward = 0, backward = 0;
    std::int64_t calls = 0;
    [[nodiscard]] double total() const { return forward + backward; }
  };
  std::map<std::string, ProfileRow> by_name;
  double total = 0;
  for (const ProfileSpan& s : spans) {
    if (s.category != "forward" && s.category != "backward") continue;
    ProfileRow& row = by_name[s.name];
    (s.category == "forward" ? row.forward : row.backward) += s.seconds;
    row.calls += s.category == "forward" ? 1 : 0;
    total += s.seconds;
  }
  std::vector<std::pair<std::string, ProfileRow>> sorted(by_name.begin(), by_name.end());
  std::ranges::stable_sort(
      sorted, [](const auto& a, const auto& b) { return a.second.total() > b.second.total(); });
  std::string table = "op                        calls   forward ms  backward ms   share\n";
  ProfileRow rest;
  const auto print = [&](const std::string& name, const ProfileRow& row) {
    char line[128];
    std::snprintf(line, sizeof line, "%-24.24s %6lld %12.2f %12.2f %6.1f%%\n", name.c_str(),
                  static_cast<long long>(row.calls), row.forward * 1e3, row.backward * 1e3,
                  total > 0 ? 100 * row.total() / total : 0.0);
    table += line;
  };
  for (std::size_t i = 0; i < sorted.size(); ++i) {
    if (i < rows) {
      print(sorted[i].first, sorted[i].second);
      continue;
    }
    rest.forward += sorted[i].second.forward;
    rest.backward += sorted[i].second.backward;
    rest.calls += sorted[i].second.calls;
  }
  if (sorted.size() > rows) print("the other " + std::to_string(sorted.size() - rows), rest);
  return table;
}

}  // namespace fovea
