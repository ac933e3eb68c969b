// Builds without libhdf5: HDF5 files cannot be read.
#include "data/sources/dense/nyu/hdf5.h"
#include "engine/base/error.h"

namespace fovea {

struct Hdf5File::State {};

Hdf5File::Hdf5File(const std::filesystem::path& path) {
  fail(path.string(), ": is an HDF5 file, and this build has no libhdf5; install libhdf5-dev and ",
       "build again");
}
Hdf5File::~Hdf5File() = default;
Hdf5File::Hdf5File(Hdf5File&&) noexcept = default;
Hdf5File& Hdf5File::operator=(Hdf5File&&) noexcept = default;

bool Hdf5File::has(const std::string& /*name*/) const { return false; }
StoredEntry Hdf5File::entry(const std::string& /*name*/) const { return {}; }
Tensor Hdf5File::read_rows(const std::string& /*name*/, std::int64_t /*first*/,
                           std::int64_t /*count*/) const {
  return {};
}

}  // namespace fovea
