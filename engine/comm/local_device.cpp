// Local ranks to GPUs. A launcher may show each process one GPU only, through CUDA_VISIBLE_DEVICES.
#include "engine/comm/local_device.h"

#include <algorithm>
#include <cstdlib>
#include <string>
#include <vector>

#include "engine/base/error.h"
#include "engine/base/fields.h"
#include "engine/base/files.h"
#include "engine/cuda/runtime.h"

namespace fovea {
namespace {

/// What this process sees of which machine. A machine that has started is named by its boot, as
/// several may have the same host name.
std::string seen_gpus() {
  const char* const visible = std::getenv("CUDA_VISIBLE_DEVICES");
  return read_file("/proc/sys/kernel/random/boot_id") + (visible == nullptr ? "all" : visible);
}

}  // namespace

Device local_device(Device asked, const LocalPlace& place) {
  if (asked.is_cpu() || place.size == 1) return asked;
  check_usage(asked.index == 0, "--device: got ", asked, " for ", place.size,
              " processes of a machine, expected cuda: each uses the GPU of its own number");
  if (place.gpus >= place.size) return {DeviceType::cuda, place.rank};
  if (place.gpus == 0 || (place.gpus == 1 && place.sees_its_own)) return asked;
  fail("--device cuda: ", place.size, " processes of a machine see ", place.gpus,
       " GPU(s); start one process for each GPU, or show each a GPU of its own by "
       "CUDA_VISIBLE_DEVICES");
}

Device local_device(Device asked, Communicator& processes) {
  if (asked.is_cpu() || processes.size() == 1) return asked;
  const std::string mine = seen_gpus();
  const std::vector<std::string> all = all_gather(processes, mine);
  return local_device(asked, {.rank = processes.local_rank(),
                              .size = processes.local_size(),
                              .gpus = cuda::device_count(),
                              .sees_its_own = std::count(all.begin(), all.end(), mine) == 1});
}

}  // namespace fovea
