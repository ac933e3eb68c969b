// Rounds of images, between which a signal is obeyed.
#include "apps/common/verification.h"

#include <algorithm>

#include "apps/common/progress_line.h"
#include "apps/common/rounds.h"
#include "apps/common/signals.h"
#include "data/sources/verify.h"
#include "engine/base/text.h"
#include "train/loop/evaluation_pass.h"

namespace fovea {

std::string Verification::text() const {
  if (is_complete()) return concat(broken.size(), " of ", images, " images are broken");
  return concat("stopped after ", checked, " of ", images, " images, ", broken.size(),
                " of them broken");
}

Verification verify_until_stopped(const Dataset& images, Communicator& processes,
                                  const std::function<void(std::int64_t done)>& on_progress) {
  constexpr std::int64_t kPiece = 256;
  const Rounds rounds{.items = images.size(), .batch = kPiece, .processes = processes};
  Verification found{.images = images.size()};
  std::vector<BrokenImage> own;
  while (!found.is_complete() && !any(processes, SignalRequest::pending() != 0)) {
    const Round round = rounds.from(found.checked);
    const std::vector<BrokenImage> more = verify_images(images, round.own_first, round.own_end);
    own.insert(own.end(), more.begin(), more.end());
    found.checked = round.end;
    if (on_progress) on_progress(found.checked);
  }
  found.broken = all_bad_images(own, processes);
  std::ranges::sort(found.broken, {}, &BrokenImage::index);
  return found;
}

int verify_data(const std::vector<NamedImages>& parts, Communicator& processes) {
  const SignalRequest signals;
  ProgressLine line(1);
  bool is_complete = true, is_sound = true;
  for (const NamedImages& part : parts) {
    const std::string label = part.name.empty() ? "verifying" : "verifying " + part.name;
    const auto show = [&](std::int64_t done) {
      line.update({.label = label, .done = done, .total = part.images.size(), .note = {}});
    };
    const Verification found = verify_until_stopped(part.images, processes, show);
    for (const BrokenImage& image : found.broken) line.print("broken: " + image.message);
    line.print((part.name.empty() ? "" : part.name + ": ") + found.text());
    is_complete = is_complete && found.is_complete();
    is_sound = is_sound && found.broken.empty();
  }
  const int signal = SignalRequest::pending();  // 0 where another process has received it
  if (!is_complete && signal != 0) return 128 + signal;
  return is_sound ? 0 : 1;
}

}  // namespace fovea
