// Matching names with patterns, and joining tensors that are stored in parts.
#include "models/checkpoints/translations/rename.h"

#include <cctype>
#include <vector>

#include "engine/autograd.h"
#include "engine/base/error.h"
#include "ops/view.h"

namespace fovea {
namespace {

/// Takes the digits at the front off.
std::string take_number(std::string_view& name) {
  std::size_t digits = 0;
  while (digits < name.size() && std::isdigit(static_cast<unsigned char>(name[digits])) != 0) {
    ++digits;
  }
  const std::string number(name.substr(0, digits));
  name.remove_prefix(digits);
  return number;
}

/// The numbers in place of each '#', and what follows the pattern; nothing if it does not fit.
struct PatternMatch {
  std::vector<std::string> numbers;
  std::string_view rest;
};

std::optional<PatternMatch> match_pattern(std::string_view name, std::string_view pattern) {
  PatternMatch found;
  for (const char c : pattern) {
    if (c == '#' || c == '*') {
      const std::string number = take_number(name);
      if (number.empty()) return {};
      if (c == '#') found.numbers.push_back(number);
    } else {
      if (name.empty() || name.front() != c) return {};
      name.remove_prefix(1);
    }
  }
  if (!name.empty() && !pattern.ends_with('.')) return {};
  found.rest = name;
  return found;
}

std::string filled(std::string_view ours, const PatternMatch& match) {
  std::string name;
  std::size_t next = 0;
  for (const char c : ours) {
    if (c == '#') {
      name += match.numbers.at(next++);
    } else {
      name += c;
    }
  }
  return name + std::string(match.rest);
}

std::string renamed_in_block(const std::string& name, RenameTable table) {
  for (const std::string_view stack : {"blocks.", "decoder_blocks."}) {
    const std::size_t dot = name.find('.', stack.size());
    if (!name.starts_with(stack) || dot == std::string::npos) continue;
    const auto ours = renamed(std::string_view(name).substr(dot + 1), table);
    if (!ours) return name;
    return ours->empty() ? "" : name.substr(0, dot + 1) + *ours;
  }
  return name;
}

bool can_join(const std::vector<Tensor>& parts) {
  const Tensor& first = parts.front();
  for (const Tensor& part : parts) {
    if (part.rank() == 0 || part.rank() != first.rank() || part.dtype() != first.dtype()) {
      return false;
    }
    for (int axis = 1; axis < part.rank(); ++axis) {
      if (part.size(axis) != first.size(axis)) return false;
    }
  }
  return true;
}

}  // namespace

std::optional<std::string> renamed(std::string_view name, RenameTable table) {
  for (const Rename& row : table) {
    const std::optional<PatternMatch> found = match_pattern(name, row.theirs);
    if (found) return row.ours.empty() ? std::string() : filled(row.ours, *found);
  }
  return {};
}

TensorMap renamed(const TensorMap& tensors, RenameTable table, RenameTable in_block) {
  TensorMap ours;
  for (const auto& [name, tensor] : tensors) {
    const std::string our_name = renamed_in_block(renamed(name, table).value_or(name), in_block);
    if (our_name.empty()) continue;
    check(ours.emplace(our_name, tensor).second, "weights: ", our_name, " appears twice, once as ",
          name);
  }
  return ours;
}

void join_parts(TensorMap& tensors) {
  constexpr std::string_view kFirst = "[0]";
  std::vector<std::string> firsts;
  for (const auto& entry : tensors) {
    if (entry.first.find(kFirst) != std::string::npos) firsts.push_back(entry.first);
  }
  const NoGrad no_grad;
  for (const std::string& first : firsts) {
    const std::size_t at = first.find(kFirst);
    const std::string before = first.substr(0, at), after = first.substr(at + kFirst.size());
    std::vector<std::string> names;
    std::vector<Tensor> parts;
    for (std::string name = first; tensors.contains(name);) {
      names.push_back(name);
      parts.push_back(tensors.at(name));
      name = before + "[" + std::to_string(parts.size()) + "]" + after;
    }
    if (parts.size() < 2 || tensors.contains(before + after) || !can_join(parts)) continue;
    tensors[before + after] = ops::cat(parts, 0);
    for (const std::string& name : names) tensors.erase(name);
  }
}

}  // namespace fovea
