// Reads MATLAB 5 files (.mat, versions 5 to 7, MathWorks' "MAT-File Format"): their numeric arrays,
// compressed or not, of either byte order.
//
// A file is 128 bytes of header (text, version 0x0100, "IM" or "MI" for the byte order), then one
// element per variable: type and byte count (u32 each) and the content. Type 14 is an array: flags
// and class, sizes, name, values in Fortran order, each an element of its own. Type 15 is an array
// compressed by zlib. Version 7.3 is HDF5 instead, and refused.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/formats/stored_type.h"
#include "engine/tensor.h"

namespace fovea {

class MatlabFile {
 public:
  /// Reads the headers of all variables. Throws Error, starting with `context`, on anything but an
  /// intact MATLAB 5 file.
  MatlabFile(std::string bytes, std::string context);

  /// A variable, without its values.
  struct Variable {
    std::string name;
    std::string type;         ///< MATLAB's class: "double", "uint8", "cell"
    Shape shape;              ///< as MATLAB shows it: {1, 3} is a row of three
    bool is_numeric = false;  ///< an array of real numbers, which read() returns
  };
  [[nodiscard]] const std::vector<Variable>& variables() const { return variables_; }

  /// The values in C order, with the shape that MATLAB shows. A double is f64, a single f32, uint8
  /// and logical u8, other integers i64. Throws Error if there is no variable of that name, on
  /// texts, cells, structures, sparse and complex arrays, and on damaged values.
  [[nodiscard]] Tensor read(const std::string& name) const;
  /// The values of a row or column of indices, which MATLAB counts from 1, as numbers from 0 on.
  /// Throws Error unless they are whole numbers from 1 to `count`, at most `count` of them.
  [[nodiscard]] std::vector<std::int64_t> read_indices(const std::string& name,
                                                       std::int64_t count) const;

 private:
  /// Where a variable lies: its element in bytes_, and its values in the (decompressed) element.
  struct VariablePlace {
    std::uint64_t offset = 0, size = 0;
    bool is_compressed = false;
    std::uint64_t data_size = 0;  ///< size after decompression
    std::uint64_t values = 0;     ///< offset of the values
    StoredType stored = StoredType::u8;
    std::string unreadable{};  ///< why the values cannot be read; empty if they can
  };

  void add_variables();
  void add_variable(VariablePlace place);
  [[nodiscard]] std::size_t index_of(const std::string& name) const;

  std::string bytes_, context_;
  bool is_big_endian_ = false;
  std::vector<Variable> variables_;
  std::vector<VariablePlace> places_;  ///< in the order of variables_
};

}  // namespace fovea
