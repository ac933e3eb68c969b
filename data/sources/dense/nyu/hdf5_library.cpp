// HDF5 through libhdf5.
#include "data/sources/dense/nyu/hdf5_library.h"

#include <hdf5.h>

#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

#include "engine/base/error.h"
#include "engine/base/files.h"
#include "engine/base/json.h"
#include "engine/formats/numpy/layout.h"

namespace fovea {
namespace detail {

/// A handle of the library.
class Handle {
 public:
  using Close = herr_t (*)(hid_t);

  Handle(hid_t id, Close close) : id_(id), close_(close) {}
  ~Handle() {
    if (id_ >= 0) close_(id_);
  }
  Handle(Handle&& other) noexcept : id_(std::exchange(other.id_, -1)), close_(other.close_) {}
  Handle& operator=(Handle&&) = delete;

  [[nodiscard]] bool valid() const { return id_ >= 0; }
  operator hid_t() const { return id_; }  // NOLINT(google-explicit-constructor): as in the library

 private:
  hid_t id_;
  Close close_;
};

}  // namespace detail

namespace {

using detail::Handle;

/// What the library says about its last failure: the innermost of its messages.
std::string reason() {
  std::string text;
  const auto take = [](unsigned /*depth*/, const H5E_error2_t* error, void* to) -> herr_t {
    auto& first = *static_cast<std::string*>(to);
    if (first.empty() && error->desc != nullptr) first = error->desc;
    return 0;
  };
  H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, take, &text);
  return text.empty() ? "no reason is known" : text;
}

std::optional<StoredType> stored_type_of(hid_t type) {
  const std::size_t bytes = H5Tget_size(type);
  if (H5Tget_class(type) == H5T_FLOAT) {
    if (bytes == 4) return StoredType::f32;
    if (bytes == 8) return StoredType::f64;
    return {};
  }
  if (H5Tget_class(type) != H5T_INTEGER) return {};
  const bool has_sign = H5Tget_sign(type) != H5T_SGN_NONE;
  switch (bytes) {
    case 1:
      return has_sign ? StoredType::i8 : StoredType::u8;
    case 2:
      return has_sign ? StoredType::i16 : StoredType::u16;
    case 4:
      return has_sign ? StoredType::i32 : StoredType::u32;
    case 8:
      return has_sign ? StoredType::i64 : StoredType::u64;
    default:
      return {};
  }
}

/// The library's name for the type in memory.
hid_t memory_type(StoredType type) {
  switch (type) {
    case StoredType::i8:
      return H5T_NATIVE_INT8;
    case StoredType::u8:
      return H5T_NATIVE_UINT8;
    case StoredType::i16:
      return H5T_NATIVE_INT16;
    case StoredType::u16:
      return H5T_NATIVE_UINT16;
    case StoredType::i32:
      return H5T_NATIVE_INT32;
    case StoredType::u32:
      return H5T_NATIVE_UINT32;
    case StoredType::i64:
      return H5T_NATIVE_INT64;
    case StoredType::u64:
      return H5T_NATIVE_UINT64;
    case StoredType::f64:
      return H5T_NATIVE_DOUBLE;
    default:
      return H5T_NATIVE_FLOAT;
  }
}

/// Whether the array's values are in the file itself: neither in files that it lists nor mapped
/// from arrays of others.
bool is_in_file(hid_t array) {
  const Handle plan(H5Dget_create_plist(array), H5Pclose);
  if (!plan.valid()) return false;
  const H5D_layout_t layout = H5Pget_layout(plan);
  return layout != H5D_LAYOUT_ERROR && layout != H5D_VIRTUAL && H5Pget_external_count(plan) == 0;
}

Shape shape_of(hid_t array, const std::string& context) {
  const Handle space(H5Dget_space(array), H5Sclose);
  const int rank = space.valid() ? H5Sget_simple_extent_ndims(space) : -1;
  check(rank >= 1 && rank <= Shape::kMaxRank, context, ": has ", rank, " axes, expected 1 to ",
        Shape::kMaxRank);
  std::vector<hsize_t> sizes(static_cast<std::size_t>(rank));
  H5Sget_simple_extent_dims(space, sizes.data(), nullptr);
  Shape shape;
  for (const hsize_t size : sizes) {
    check(size <= INT64_MAX, context, ": has an axis of ", size, " numbers, which no memory holds");
    shape.push_back(static_cast<std::int64_t>(size));
  }
  check(is_holdable(shape), context, ": has shape ", shape, ", which no memory holds");
  return shape;
}

}  // namespace

struct Hdf5Library::State {
  State(const std::filesystem::path& file, hid_t id) : path(file.string()), handle(id, H5Fclose) {}

  [[nodiscard]] std::string name_in_errors(const std::string& name) const {
    return path + ": array " + in_quotes(name);
  }
  [[nodiscard]] Handle open(const std::string& name) const {
    check(has(name), path, ": has no array ", in_quotes(name));
    Handle array(H5Dopen2(handle, name.c_str(), H5P_DEFAULT), H5Dclose);
    if (!array.valid()) fail(name_in_errors(name), ": cannot be opened: ", reason());
    return array;
  }
  [[nodiscard]] bool has(const std::string& name) const {
    H5L_info_t link;
    return H5Lexists(handle, name.c_str(), H5P_DEFAULT) > 0 &&
           H5Lget_info(handle, name.c_str(), &link, H5P_DEFAULT) >= 0 && link.type == H5L_TYPE_HARD;
  }
  [[nodiscard]] StoredEntry entry(const std::string& name, hid_t array) const {
    const Handle type(H5Dget_type(array), H5Tclose);
    const std::optional<StoredType> stored =
        type.valid() ? stored_type_of(type) : std::optional<StoredType>();
    check(stored.has_value(), name_in_errors(name),
          ": is of a type that is no number of at most 64 bits");
    check(is_in_file(array), name_in_errors(name), ": has its values in other files");
    return {name, *stored, shape_of(array, name_in_errors(name))};
  }

  std::string path;
  Handle handle;
};

Hdf5Library::Hdf5Library(const std::filesystem::path& path) {
  H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);  // errors are not printed
  H5PLset_loading_state(0);                     // a file cannot name filters to load
  const hid_t id = H5Fopen(path.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT);
  if (id < 0) fail(path.string(), ": cannot be opened as an HDF5 file: ", reason());
  state_ = std::make_unique<State>(path, id);
}

Hdf5Library::~Hdf5Library() = default;

bool Hdf5Library::has(const std::string& name) const { return state_->has(name); }

StoredEntry Hdf5Library::entry(const std::string& name) const {
  return state_->entry(name, state_->open(name));
}

Hdf5Library::Rows Hdf5Library::rows(const std::string& name, std::int64_t first,
                                    std::int64_t count) const {
  const std::string context = state_->name_in_errors(name);
  const Handle array = state_->open(name);
  Rows rows{state_->entry(name, array), {}};
  Shape& shape = rows.entry.shape;
  check(first >= 0 && count >= 1 && first <= shape[0] - count, context, ": got rows ", first,
        " to ", first + count, " of shape ", shape);
  shape[0] = count;
  const std::uint64_t bytes = NumpyLayout{rows.entry.type, shape}.bytes();
  check(bytes <= kMaxFileBytes, context, ": ", count, " rows have ", bytes, " bytes, the limit is ",
        kMaxFileBytes);
  rows.values.resize(bytes);
  std::vector<hsize_t> start(static_cast<std::size_t>(shape.rank())), size;
  start[0] = static_cast<hsize_t>(first);
  for (const std::int64_t s : shape) size.push_back(static_cast<hsize_t>(s));
  const Handle in_file(H5Dget_space(array), H5Sclose);
  const Handle in_memory(H5Screate_simple(shape.rank(), size.data(), nullptr), H5Sclose);
  const bool ok = H5Sselect_hyperslab(in_file, H5S_SELECT_SET, start.data(), nullptr, size.data(),
                                      nullptr) >= 0 &&
                  H5Dread(array, memory_type(rows.entry.type), in_memory, in_file, H5P_DEFAULT,
                          rows.values.data()) >= 0;
  if (!ok) fail(context, ": rows ", first, " to ", first + count, " cannot be read: ", reason());
  return rows;
}

}  // namespace fovea
