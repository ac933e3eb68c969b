// Renaming tensors by a table of patterns.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "engine/formats/weights_file.h"

namespace fovea {

/// A row of a table. '#' stands for a number, the first '#' of `theirs` for the first of `ours`; an
/// "*" in `theirs` stands for a number that `ours` leaves out. A pattern that ends with a dot fits
/// every name that begins like this. An empty `ours` drops the tensor. "qkv[1]" in `ours` is the
/// second of the parts that join_parts() joins.
struct Rename {
  std::string_view theirs, ours;
};
using RenameTable = std::span<const Rename>;

/// Our name by the first row that fits: empty text for a tensor that is dropped; nothing if no row
/// fits.
[[nodiscard]] std::optional<std::string> renamed(std::string_view name, RenameTable table);

/// All tensors under our names; those that no row fits keep theirs. `in_block` renames what follows
/// "blocks.#." and "decoder_blocks.#." after `table` has been applied. Throws Error if two tensors
/// get the same name.
[[nodiscard]] TensorMap renamed(const TensorMap& tensors, RenameTable table, RenameTable in_block);

/// Joins "NAME[0]REST", "NAME[1]REST", ... along the first axis as "NAMEREST". Parts that do not
/// form a whole, or whose shapes do not fit together, stay as they are.
void join_parts(TensorMap& tensors);

}  // namespace fovea
