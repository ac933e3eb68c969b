// NCCL's functions for ranks that are threads of this program, each with a device of its own. A
// call is checked against the documented rules, then queued in its stream.
#include "nccl.h"

#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tests/cuda/emulator/memory.h"
#include "tests/cuda/fake/clique.h"
#include "tests/cuda/fake/ranges.h"

using fovea::emulate::DeviceMemory;
using fovea::fake::Clique;
using fovea::fake::Half;
using fovea::fake::Mark;
using fovea::fake::mark_written;
using fovea::fake::objection;
using fovea::fake::Queues;
using fovea::fake::Work;

struct ncclComm {
  std::shared_ptr<Clique> clique;
  int rank = 0, device = 0;
  bool is_starting = false;  ///< ncclGroupEnd has returned before all was enqueued
};

namespace {

/// The open group of a thread.
struct OpenGroup {
  int depth = 0;
  ncclComm_t comm = nullptr;
  cudaStream_t stream = nullptr;
  std::vector<std::shared_ptr<Half>> halves;
  std::vector<Work> after;  ///< of the stream, behind the messages
};
thread_local OpenGroup open_group;

std::map<std::string, std::shared_ptr<Clique>>& cliques() {
  static auto& all = *new std::map<std::string, std::shared_ptr<Clique>>;
  return all;
}

ncclResult_t refuse(const std::string& why, ncclResult_t result = ncclInvalidUsage) {
  Queues::instance().report("NCCL: " + why);
  return result;
}

ncclResult_t add(const Half& half, ncclComm_t comm, cudaStream_t stream) {
  const char* const name = half.is_of_sum ? "ncclAllReduce"
                           : half.is_send ? "ncclSend"
                                          : "ncclRecv";
  const std::string call = std::string(name) + " of rank " + std::to_string(comm->rank);
  if (!comm->clique->is_complete()) return refuse(call + ": not all ranks have joined");
  if (comm->is_starting) return refuse(call + ": the group before it is still being enqueued");
  if (half.peer < 0 || half.peer >= comm->clique->size()) {
    return refuse(call + ": no rank " + std::to_string(half.peer), ncclInvalidArgument);
  }
  if (!Queues::instance().knows(stream)) return refuse(call + ": on the legacy stream");
  const DeviceMemory& memory = DeviceMemory::instance();
  if (!memory.bytes().holds(half.data)) return refuse(call + ": not memory of a device");
  if (memory.device_of(half.data) != comm->device || stream->device != comm->device) {
    return refuse(call + ": memory or a stream of another device than its " +
                  std::to_string(comm->device));
  }
  if (stream->capture != nullptr) return refuse(call + ": in a captured graph");
  OpenGroup& group = open_group;
  if (!group.halves.empty() && (group.comm != comm || group.stream != stream)) {
    return refuse(call + ": a group has two communicators or streams");
  }
  group.comm = comm;
  group.stream = stream;
  group.halves.push_back(std::make_shared<Half>(half));
  group.halves.back()->done = std::make_shared<Mark>();
  return ncclSuccess;
}

/// A call outside of a group is a group.
ncclResult_t add_alone(const Half& half, ncclComm_t comm, cudaStream_t stream) {
  const std::lock_guard lock(Queues::instance().mutex);
  ncclGroupStart();
  const ncclResult_t result = add(half, comm, stream);
  const ncclResult_t end = ncclGroupEnd();
  return result == ncclSuccess ? end : result;
}

/// Adds up the terms in the order of ranks. Returns a description of the error, or "".
template <class T>
std::string add_up(const Half& own, const std::vector<std::shared_ptr<Half>>& others, void* to) {
  std::string wrong = objection("ncclAllReduce", to, own.bytes, false);
  if (!wrong.empty()) return wrong;
  std::vector<T> sum(own.bytes / sizeof(T));
  for (int rank = 0; rank <= static_cast<int>(others.size()); ++rank) {
    const void* term = own.data;
    for (const std::shared_ptr<Half>& other : others) {
      if (other->is_aborted) return {};
      if (other->peer == rank) term = other->term.data();
    }
    for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += static_cast<const T*>(term)[i];
  }
  std::memcpy(to, sum.data(), own.bytes);
  mark_written(to, own.bytes);
  return {};
}

ncclResult_t destroy(ncclComm_t comm) {
  comm->clique->leave(comm->rank);
  if (comm->clique->is_left()) {
    std::erase_if(cliques(), [&](const auto& entry) { return entry.second == comm->clique; });
  }
  delete comm;
  return ncclSuccess;
}

}  // namespace

extern "C" {

const char* ncclGetErrorString(ncclResult_t result) {
  switch (result) {
    case ncclSuccess:
      return "no error";
    case ncclInvalidArgument:
      return "invalid argument";
    case ncclInvalidUsage:
      return "invalid usage";
    case ncclRemoteError:
      return "remote process exited or there was a network error";
    case ncclInProgress:
      return "NCCL operation in progress";
    default:
      return "unknown result code";
  }
}
const char* ncclGetLastError(ncclComm_t) {
  static thread_local std::string text;
  const std::lock_guard lock(Queues::instance().mutex);
  const std::vector<std::string>& findings = Queues::instance().findings();
  text = findings.empty() ? "" : findings.front();
  return text.c_str();
}

ncclResult_t ncclGetUniqueId(ncclUniqueId* id) {
  const std::lock_guard lock(Queues::instance().mutex);
  static std::uint64_t number = 0;
  *id = {};
  const std::string text = "clique " + std::to_string(++number);
  std::memcpy(id->internal, text.data(), text.size());
  return ncclSuccess;
}

ncclResult_t ncclCommInitRankConfig(ncclComm_t* comm, int ranks, ncclUniqueId id, int rank,
                                    ncclConfig_t* config) {
  const std::lock_guard lock(Queues::instance().mutex);
  *comm = nullptr;
  if (id.internal[0] == 0)
    return refuse("a rank joins with an id that ncclGetUniqueId did not make");
  if (config->blocking != 0) return refuse("a blocking communicator waits without an end");
  std::shared_ptr<Clique>& clique = cliques()[id.internal];
  if (clique == nullptr) clique = std::make_shared<Clique>(ranks);
  if (clique->size() != ranks) return refuse("ranks join with different numbers of ranks");
  int device = 0;
  cudaGetDevice(&device);
  const std::string why = clique->join(rank, device);
  if (!why.empty()) return refuse(why);
  *comm = new ncclComm{clique, rank, device};
  return ncclInProgress;
}

ncclResult_t ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t* error) {
  const std::lock_guard lock(Queues::instance().mutex);
  const Clique& clique = *comm->clique;
  const bool is_waiting = !clique.is_complete() || clique.is_finishing(comm->rank);
  *error = clique.is_deserted(comm->rank)                          ? ncclRemoteError
           : is_waiting || std::exchange(comm->is_starting, false) ? ncclInProgress
                                                                   : ncclSuccess;
  return ncclSuccess;
}

ncclResult_t ncclCommFinalize(ncclComm_t comm) {
  const std::lock_guard lock(Queues::instance().mutex);
  if (!comm->clique->is_idle(comm->rank)) return refuse("ncclCommFinalize before all has arrived");
  comm->clique->finish(comm->rank);
  return ncclInProgress;
}
ncclResult_t ncclCommDestroy(ncclComm_t comm) {
  const std::lock_guard lock(Queues::instance().mutex);
  if (!comm->clique->is_idle(comm->rank)) return refuse("ncclCommDestroy before all has arrived");
  return destroy(comm);
}
ncclResult_t ncclCommAbort(ncclComm_t comm) {
  const std::lock_guard lock(Queues::instance().mutex);
  return destroy(comm);
}

ncclResult_t ncclGroupStart() {
  ++open_group.depth;
  return ncclSuccess;
}
ncclResult_t ncclGroupEnd() {
  const std::lock_guard lock(Queues::instance().mutex);
  if (open_group.depth == 0) return refuse("ncclGroupEnd without ncclGroupStart");
  if (--open_group.depth > 0 || open_group.halves.empty()) return ncclSuccess;
  const OpenGroup group = std::exchange(open_group, {});
  group.comm->clique->start(group.comm->rank, group.halves, group.stream);
  for (const Work& work : group.after) Queues::instance().add(group.stream, work);
  group.comm->is_starting = true;
  return ncclInProgress;
}

ncclResult_t ncclAllReduce(const void* from, void* to, std::size_t count, ncclDataType_t type,
                           ncclRedOp_t, ncclComm_t comm, cudaStream_t stream) {
  const std::lock_guard lock(Queues::instance().mutex);
  Half half;
  half.is_of_sum = true;
  half.data = const_cast<void*>(from);
  half.bytes = count * (type == ncclDouble ? 8 : 4);
  half.rank = comm->rank;
  std::vector<std::shared_ptr<Half>> taken;
  ncclGroupStart();
  ncclResult_t result = ncclSuccess;
  for (half.peer = 0; half.peer < comm->clique->size(); ++half.peer) {
    if (half.peer == half.rank) continue;
    for (const bool is_send : {true, false}) {
      half.is_send = is_send;
      half.term.resize(is_send ? 0 : half.bytes);
      const ncclResult_t added = add(half, comm, stream);
      if (added != ncclSuccess) result = added;
      if (added == ncclSuccess && !is_send) taken.push_back(open_group.halves.back());
    }
  }
  open_group.after.push_back({[=] {
                                return type == ncclDouble ? add_up<double>(half, taken, to)
                                                          : add_up<float>(half, taken, to);
                              },
                              nullptr, nullptr});
  const ncclResult_t end = ncclGroupEnd();
  return result == ncclSuccess ? end : result;
}
ncclResult_t ncclSend(const void* data, std::size_t count, ncclDataType_t, int peer,
                      ncclComm_t comm, cudaStream_t stream) {
  Half half;
  half.is_send = true;
  half.data = const_cast<void*>(data);
  half.bytes = count;
  half.rank = comm->rank;
  half.peer = peer;
  return add_alone(half, comm, stream);
}
ncclResult_t ncclRecv(void* data, std::size_t count, ncclDataType_t, int peer, ncclComm_t comm,
                      cudaStream_t stream) {
  Half half;
  half.data = data;
  half.bytes = count;
  half.rank = comm->rank;
  half.peer = peer;
  return add_alone(half, comm, stream);
}
}
