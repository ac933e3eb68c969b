// The label of an op: its name, its attributes and its cost.
#pragma once

#include <array>
#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <iosfwd>
#include <ranges>
#include <span>
#include <string_view>

#include "engine/kernel.h"

namespace fovea {

/// One attribute of an op, named as in the op's declaration: a number, a word, or a few integers.
/// Allocates nothing: names and words are static text.
class OpAttribute {
 public:
  enum class Kind : std::uint8_t { integer, real, text, integers };
  static constexpr int kMaxIntegers = 12;  ///< two for each axis

  OpAttribute() = default;  ///< no value
  template <std::integral I>
  OpAttribute(const char* attribute, I value) : name_(attribute) {
    value_.integers[0] = static_cast<std::int64_t>(value);
  }
  OpAttribute(const char* attribute, double value) : name_(attribute), kind_(Kind::real) {
    value_.real = value;
  }
  OpAttribute(const char* attribute, const char* word) : name_(attribute), kind_(Kind::text) {
    value_.text = word;
  }
  /// From a contiguous range of integers: a Shape, an array. Throws on more than kMaxIntegers.
  template <std::ranges::contiguous_range Range>
  requires(std::integral<std::ranges::range_value_t<Range>> &&
           !std::same_as<std::ranges::range_value_t<Range>, char>)
      OpAttribute(const char* attribute, const Range& values)
      : name_(attribute), kind_(Kind::integers), count_(0) {
    check(std::ranges::size(values) <= kMaxIntegers, attribute, ": got ", std::ranges::size(values),
          " integers, expected at most ", kMaxIntegers);
    for (const auto value : values) value_.integers[count_++] = static_cast<std::int64_t>(value);
  }

  [[nodiscard]] std::string_view name() const { return name_; }
  [[nodiscard]] Kind kind() const { return kind_; }
  // The value; each accessor throws unless the attribute is of that kind.
  [[nodiscard]] std::int64_t integer() const;
  [[nodiscard]] double real() const;
  [[nodiscard]] std::string_view text() const;
  [[nodiscard]] std::span<const std::int64_t> integers() const;  ///< also valid for Kind::integer

 private:
  void require(Kind kind) const;

  const char* name_ = "";
  Kind kind_ = Kind::integer;
  std::uint8_t count_ = 1;
  union {
    std::int64_t integers[kMaxIntegers];
    double real;
    const char* text;
  } value_;
};
/// "axis=1", "eps=1e-06", "stride=[2, 2]", "form=erf".
std::ostream& operator<<(std::ostream& out, const OpAttribute& attribute);

/// The label of a running op. An op creates it first and passes it to record() last. While it is
/// alive, kernel errors name this op, unless it is part of another.
class OpLabel {
 public:
  static constexpr int kMaxAttributes = 8;

  /// `op` is static text.
  OpLabel(const char* op,  // NOLINT(google-explicit-constructor)
          std::initializer_list<OpAttribute> attributes = {})
      : name_(op), running_(op) {
    set(attributes);
  }

  /// Adds attributes that are known only after the arguments have been inspected. Throws on more
  /// than kMaxAttributes.
  void set(std::initializer_list<OpAttribute> attributes) {
    for (const OpAttribute& attribute : attributes) set(attribute);
  }
  void set(const OpAttribute& attribute) {
    check(count_ < kMaxAttributes, name_, ": has more than ", kMaxAttributes, " attributes");
    attributes_[static_cast<std::size_t>(count_++)] = attribute;
  }

  [[nodiscard]] const char* name() const { return name_; }
  [[nodiscard]] std::span<const OpAttribute> attributes() const {
    return {attributes_.data(), static_cast<std::size_t>(count_)};
  }
  /// Whether this op runs as part of another op.
  [[nodiscard]] bool is_part() const { return running_.is_part(); }
  /// The name, for checks that prefix their messages with it.
  operator std::string_view() const { return name_; }  // NOLINT(google-explicit-constructor)

  std::int64_t multiply_adds = 0;  ///< forward pass of a GEMM, convolution or attention

 private:
  const char* name_;
  RunningOp running_;
  int count_ = 0;
  std::array<OpAttribute, kMaxAttributes> attributes_;
};
std::ostream& operator<<(std::ostream& out, const OpLabel& label);  ///< prints the name

}  // namespace fovea
