// A group starts when its stream comes to it, a message is copied at any time after both its groups
// have started, and a group is done with its last message.
#include "tests/cuda/fake/clique.h"

#include <algorithm>
#include <cstring>

#include "tests/cuda/fake/ranges.h"

namespace fovea::fake {
namespace {

std::string call_of(int rank, std::int64_t number) {
  return "call " + std::to_string(number) + " of rank " + std::to_string(rank);
}

/// The work that moves a message's bytes. Returns a description of the error, or "".
std::string copy(const Half& from, Half& to) {
  to.done->is_done = true;
  if (from.is_aborted || to.is_aborted) return {};
  std::string wrong =
      objection(from.is_of_sum ? "ncclAllReduce" : "ncclSend", from.data, from.bytes, true);
  if (to.is_of_sum && wrong.empty()) std::memcpy(to.term.data(), from.data, to.bytes);
  if (to.is_of_sum) return wrong;
  if (wrong.empty()) wrong = objection("ncclRecv", to.data, to.bytes, false);
  if (!wrong.empty()) return wrong;
  std::memcpy(to.data, from.data, from.bytes);
  mark_written(to.data, to.bytes);
  return {};
}

}  // namespace

bool Group::is_done() const {
  return std::all_of(halves.begin(), halves.end(),
                     [](const auto& half) { return half->done->is_done; });
}

std::string Half::name() const {
  if (is_of_sum)
    return "adds up " + std::to_string(bytes) + " bytes with rank " + std::to_string(peer);
  return (is_send ? "sends " : "receives ") + std::to_string(bytes) + " bytes " +
         (is_send ? "to rank " : "from rank ") + std::to_string(peer);
}

std::string Group::name() const {
  std::string text = call_of(rank, number) + " (";
  for (const std::shared_ptr<Half>& half : halves) {
    text += (half == halves.front() ? "" : ", ") + half->name();
  }
  return text + ")";
}

Clique::~Clique() {
  for (const auto& [ranks, channel] : channels_) Queues::instance().destroy(channel.wire);
}

bool Clique::is_complete() const {
  return std::all_of(members_.begin(), members_.end(),
                     [](const Member& m) { return m.device >= 0; });
}

bool Clique::is_left() const {
  return std::all_of(members_.begin(), members_.end(), [](const Member& m) { return m.has_left; });
}

bool Clique::is_finishing(int rank) const {
  return members_[rank].is_finished &&
         !std::all_of(members_.begin(), members_.end(),
                      [](const Member& m) { return m.is_finished || m.has_left; });
}

std::string Clique::join(int rank, int device) {
  if (rank < 0 || rank >= size()) return "rank " + std::to_string(rank) + " does not exist";
  for (int other = 0; other < size(); ++other) {
    if (members_[other].device != device) continue;
    return "ranks " + std::to_string(other) + " and " + std::to_string(rank) +
           " have the same device";
  }
  if (members_[rank].device >= 0) return "rank " + std::to_string(rank) + " joins twice";
  members_[rank].device = device;
  for (int other = 0; other < size(); ++other) {
    channels_[{rank, other}].wire = Queues::instance().create_stream(/*device=*/-1);
  }
  return {};
}

void Clique::start(int rank, const std::vector<std::shared_ptr<Half>>& halves,
                   cudaStream_t stream) {
  Queues& queues = Queues::instance();
  Member& member = members_[rank];
  while (!member.groups.empty() && member.groups.front().is_done()) member.groups.pop_front();
  const auto started = std::make_shared<Mark>();
  member.groups.push_back({rank, ++member.calls, halves});
  queues.add(stream, {nullptr, nullptr, started});
  for (const std::shared_ptr<Half>& half : halves) {
    half->group = member.calls;
    half->started = started;
    Channel& channel =
        half->is_send ? channels_[{rank, half->peer}] : channels_[{half->peer, rank}];
    (half->is_send ? channel.sends : channel.receives).push_back(half);
    ++queues.from_others;
    match(channel);
  }
  for (const std::shared_ptr<Half>& half : halves)
    queues.add(stream, {nullptr, half->done, nullptr});
  find_deadlock();
}

/// The n-th send between two ranks meets the n-th receive.
void Clique::match(Channel& channel) {
  Queues& queues = Queues::instance();
  while (!channel.sends.empty() && !channel.receives.empty()) {
    const std::shared_ptr<Half> from = channel.sends.front(), to = channel.receives.front();
    channel.sends.pop_front();
    channel.receives.pop_front();
    queues.from_others -= 2;
    from->partner_group = to->group;
    to->partner_group = from->group;
    if (from->bytes != to->bytes || from->is_of_sum != to->is_of_sum) {
      queues.report("NCCL: " + call_of(from->rank, from->group) + " " + from->name() + ", and " +
                    call_of(to->rank, to->group) + " " + to->name());
    }
    queues.add(channel.wire, {nullptr, from->started, nullptr});
    queues.add(channel.wire, {[from, to] { return copy(*from, *to); }, to->started, from->done});
  }
}

const Group* Clique::head(int rank) const {
  for (const Group& group : members_[rank].groups) {
    if (!group.is_done()) return &group;
  }
  return nullptr;
}

std::vector<int> Clique::awaited(int rank) const {
  std::vector<int> ranks;
  const Group* const own = head(rank);
  if (own == nullptr) return ranks;
  for (const std::shared_ptr<Half>& half : own->halves) {
    const Group* const other = head(half->peer);
    if (half->done->is_done || other == nullptr) continue;
    const bool meets = half->partner_group == other->number;
    if (!meets) ranks.push_back(half->peer);
  }
  return ranks;
}

/// A rank's groups end in order. A rank is stuck if it awaits one that is stuck.
void Clique::find_deadlock() const {
  std::vector<bool> is_stuck(members_.size(), true);
  const auto stuck_one = [&](int rank) {
    for (const int other : awaited(rank)) {
      if (is_stuck[other]) return other;
    }
    return -1;
  };
  for (int round = 0; round < size(); ++round) {
    for (int rank = 0; rank < size(); ++rank)
      is_stuck[rank] = is_stuck[rank] && stuck_one(rank) >= 0;
  }
  const auto found = std::find(is_stuck.begin(), is_stuck.end(), true);
  if (found == is_stuck.end()) return;
  const auto rank = static_cast<int>(found - is_stuck.begin());
  Queues::instance().report("NCCL: a deadlock: " + head(rank)->name() + " waits for the end of " +
                            head(stuck_one(rank))->name());
}

bool Clique::is_deserted(int rank) const {
  const Group* const own = head(rank);
  if (own == nullptr) return false;
  return std::any_of(own->halves.begin(), own->halves.end(), [&](const auto& half) {
    return half->partner_group == 0 && members_[half->peer].has_left;
  });
}

void Clique::leave(int rank) {
  members_[rank].has_left = true;
  for (const Group& group : members_[rank].groups) {
    for (const std::shared_ptr<Half>& half : group.halves) {
      if (half->done->is_done) continue;
      half->is_aborted = half->done->is_done = true;
    }
  }
  for (auto& [ranks, channel] : channels_) {
    if (ranks.first == rank) Queues::instance().from_others -= channel.sends.size();
    if (ranks.first == rank) channel.sends.clear();
    if (ranks.second == rank) Queues::instance().from_others -= channel.receives.size();
    if (ranks.second == rank) channel.receives.clear();
  }
}

}  // namespace fovea::fake
