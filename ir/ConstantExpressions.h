#pragma once

#include "ir/DetachedOperator.h"

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace origo {

/// How constants of a model were computed from those of its source: the operators that rewrites have folded. What
/// relations cannot say of a constant the origin map says by these (`expression` in docs/origin-map.md). Constants are
/// told by their bytes, so that copies of one are the same.
class ConstantExpressions {
public:
  /// What a folded operator was given, or what a constant is.
  struct Operand {
    enum Kind : uint8_t {
      Absent,
      Source, ///< a constant of the source
      Made,   ///< computed by what is noted as `index`
      Given,  ///< a constant that a rewrite has stated
      Unknown ///< a constant of which nobody told how it was computed
    } kind = Absent;
    uint32_t index = 0;                    ///< of the source tensor, or of what is noted
    llvm::SmallVector<Step, 1> steps = {}; ///< that lead here from the source tensor; they only move elements
    bool operator==(const Operand &) const = default;
  };
  struct Noted {
    std::unique_ptr<DetachedOperator> op = nullptr; ///< its operands have bytes where they are `Given`
    unsigned result = 0;
    llvm::SmallVector<Operand, 2> operands = {};
    llvm::StringRef text = {}; ///< instead of an operator: the expression in the map that the model came with
  };
  /// In a list that a rewrite states.
  static constexpr unsigned mostIntegers = 16;
  explicit ConstantExpressions(const StepLists &steps) : steps(steps) {}

  /// An operator that is folded, as it is now, and its results.
  void add(const Operator &op, llvm::ArrayRef<Payload> results);
  /// What the map of the model says of a constant; the text must outlive this.
  void add(const Value &constant, llvm::StringRef text);
  /// What an operator is given that reads a constant.
  Operand of(const Value &constant) const;
  /// What a constant is before it was rounded to the type and the scales that it has now. Of equal bytes that were
  /// computed in several ways, and rounded to the same, each of them, and in no order.
  llvm::SmallVector<Operand, 1> beforeRounding(const Value &constant) const;
  /// A number that a rewrite has taken for another one, which it was rounded from: 0.16666667 for 1 / 6.
  struct Assumption {
    double number = 0; ///< as constants hold it
    double numerator = 0, denominator = 1;
    llvm::StringRef pass = {}; ///< must outlive this
  };
  void assume(const Assumption &what);
  /// Of this run and of those before it: by number, each once.
  llvm::ArrayRef<Assumption> assumptions() const { return assumed; }
  /// Constants of these bytes are those of `to` from now on.
  void share(const Payload &from, const Payload &to);
  const Noted &operator[](uint32_t index) const { return noted[index]; }

private:
  const StepLists &steps;
  std::vector<Noted> noted;
  std::vector<Assumption> assumed;
  /// The bytes may be gone, and others be in their place: then this says nothing.
  struct Place {
    std::weak_ptr<const void> bytes;
    Operand operand;
  };
  static constexpr size_t mostWays = 8; ///< of computing the same bytes
  /// The bytes are what an operand is, or that rounded to a type with scales. Others may have stored the same bytes
  /// with other scales: of a network's biases that are zeros, each.
  using Rounded = std::optional<uint64_t>;
  using Key = std::tuple<const void *, uint64_t, uint64_t, Rounded>;
  std::map<Key, llvm::SmallVector<Place, 1>> byBytes;
  static Key keyOf(const Payload &payload, Rounded rounded) {
    auto [owner, start] = payload.identity();
    return {owner, start, payload.size(), rounded};
  }
  llvm::ArrayRef<Place> find(const Payload &payload, Rounded rounded) const;
  void place(const Payload &payload, Operand operand, Rounded rounded);
  Operand note(Noted what);
};

} // namespace origo
