// The ranks of an NCCL communicator, all in this program: their groups of messages, which halves
// meet, and what hardware would punish by never ending.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "nccl.h"
#include "tests/cuda/fake/queues.h"

namespace fovea::fake {

/// One half of a message: ncclSend, ncclRecv, or what ncclAllReduce gives to and takes from one of
/// the other ranks.
struct Half {
  bool is_send = false;
  bool is_of_sum = false;
  void* data = nullptr;
  std::vector<std::byte> term{};  ///< taken for a sum, in place of `data`
  std::size_t bytes = 0;
  int rank = 0, peer = 0;
  std::int64_t group = 0;          ///< number of its group
  std::shared_ptr<Mark> started;   ///< of its group
  std::int64_t partner_group = 0;  ///< of the other half, once both are there; 0: not yet
  std::shared_ptr<Mark> done{};
  bool is_aborted = false;

  /// "sends 40 bytes to rank 1"
  [[nodiscard]] std::string name() const;
};

/// The messages of one rank that ncclGroupEnd starts together.
struct Group {
  int rank = 0;
  std::int64_t number = 0;  ///< of its rank, from 1
  std::vector<std::shared_ptr<Half>> halves;

  [[nodiscard]] bool is_done() const;
  /// "call 2 of rank 0 (sends 40 bytes to rank 1, receives 40 bytes from rank 1)"
  [[nodiscard]] std::string name() const;
};

/// Every function needs the lock of Queues.
class Clique {
 public:
  explicit Clique(int size) : members_(static_cast<std::size_t>(size)) {}
  Clique(const Clique&) = delete;
  Clique& operator=(const Clique&) = delete;
  ~Clique();

  [[nodiscard]] int size() const { return static_cast<int>(members_.size()); }
  [[nodiscard]] bool is_complete() const;
  /// Why the rank cannot join; empty once it has.
  [[nodiscard]] std::string join(int rank, int device);
  /// Enqueues a rank's messages on its stream.
  void start(int rank, const std::vector<std::shared_ptr<Half>>& halves, cudaStream_t stream);
  /// Ends a rank. Messages that it has not completed never arrive.
  void leave(int rank);
  /// Says that the rank has nothing more to send.
  void finish(int rank) { members_[rank].is_finished = true; }
  /// Whether the rank has finished and others have not.
  [[nodiscard]] bool is_finishing(int rank) const;
  [[nodiscard]] bool is_left() const;  ///< by all

  [[nodiscard]] int device(int rank) const { return members_[rank].device; }
  [[nodiscard]] bool is_idle(int rank) const { return head(rank) == nullptr; }
  /// Whether the rank waits for one that has left.
  [[nodiscard]] bool is_deserted(int rank) const;

 private:
  struct Member {
    int device = -1;  ///< -1: has not joined
    bool is_finished = false, has_left = false;
    std::int64_t calls = 0;
    std::deque<Group> groups;  ///< those that were not done when the last one started
  };
  /// Halves between two ranks that have no partner yet, in order, and the stream of the copies.
  struct Channel {
    std::deque<std::shared_ptr<Half>> sends, receives;
    cudaStream_t wire = nullptr;
  };

  void match(Channel& channel);
  void find_deadlock() const;
  /// The first group that is not done; null if all are.
  [[nodiscard]] const Group* head(int rank) const;
  /// The ranks whose next group must end before this rank's can.
  [[nodiscard]] std::vector<int> awaited(int rank) const;

  std::vector<Member> members_;
  std::map<std::pair<int, int>, Channel> channels_;  ///< by sender and receiver
};

}  // namespace fovea::fake
