#pragma once

#include "passes/Rule.h"

namespace origo {

/// One way to spell movements: a reshape to parts, a transpose, and a reshape of what that gives.
struct Respelled {
  llvm::SmallVector<int32_t, 8> parts, order, joined;
  /// How many of the three are needed between two tensors.
  unsigned countBetween(Tensor from, Tensor to) const {
    auto has = [](Tensor t, llvm::ArrayRef<int32_t> shape) { return t.isStatic() && t.shape() == shape; };
    return (has(from, parts) ? 0 : 1) + (has(to, joined) ? 0 : 1) + 1;
  }
  /// `x`, moved, in the shape `joined`.
  Expr of(Tensor x) const {
    bool fits = x.isStatic() && x.shape() == llvm::ArrayRef<int32_t>(parts);
    return transpose(fits ? Expr(x) : reshape(x, list(parts)), list(order));
  }
};

/// Reshapes and transposes one after the other that lead from x, each by its name: the first, the second of it, and so
/// on. `longest` is the pattern of as many of them as there are.
inline std::vector<Expr> movements(Expr x, unsigned most) {
  std::vector<Expr> all;
  for (unsigned i = 0; i < most; ++i)
    all.push_back(anyOf({Op::TRANSPOSE, Op::RESHAPE, Op::SQUEEZE, Op::EXPAND_DIMS}, {i == 0 ? x : all.back()}));
  return all;
}
inline Expr longest(const std::vector<Expr> &row, unsigned least) {
  Expr all = row.back();
  for (size_t count = row.size() - 1; count >= least && count > 0; --count)
    all = all | row[count - 1];
  return all;
}
/// Those that were found, of something else of the shape of x.
inline Expr rebuilt(const Match &m, const std::vector<Expr> &row, Expr x) {
  for (const Expr &one : row)
    if (m.has(one))
      x = clone(one).operand(0, x);
  return x;
}

/// Sizes, each as the dimensions of `shape` divide it; none: one of these takes elements of two.
inline std::optional<std::vector<llvm::SmallVector<int32_t, 4>>> divided(llvm::ArrayRef<int32_t> sizes,
                                                                         llvm::ArrayRef<int32_t> shape) {
  std::vector<llvm::SmallVector<int32_t, 4>> all(sizes.size());
  size_t next = 0;
  for (size_t i = 0; i < sizes.size(); ++i) {
    int64_t left = sizes[i];
    while (next < shape.size() && (left > 1 || i + 1 == sizes.size())) {
      if (shape[next] < 1 || left % shape[next])
        return std::nullopt;
      left /= shape[next];
      all[i].push_back(shape[next++]);
    }
    if (left != 1)
      return std::nullopt;
  }
  return all;
}

/// Movements with their parts divided as `shape` divides them, which is that of what they give (`byResult`) or of what
/// they take. None: it does not.
inline std::optional<Respelled> respelled(const Moves &moves, llvm::ArrayRef<int32_t> shape, bool byResult) {
  Moves there = moves.inverse(); // whose result has the parts in the order of the source
  llvm::SmallVector<int32_t, 8> sizes = there.moved(), places = there.back();
  auto by = divided(byResult ? moves.moved() : sizes, shape);
  if (!by)
    return std::nullopt;
  std::vector<llvm::SmallVector<int32_t, 4>> own(sizes.size());
  for (size_t i = 0; i < places.size(); ++i)
    own[places[i]] = (*by)[byResult ? i : places[i]];
  Respelled result;
  std::vector<int32_t> first;
  for (const auto &sub : own) {
    first.push_back(static_cast<int32_t>(result.parts.size()));
    llvm::append_range(result.parts, sub);
  }
  for (int32_t place : places)
    for (size_t i = 0; i < own[place].size(); ++i) {
      result.order.push_back(first[place] + static_cast<int32_t>(i));
      result.joined.push_back(own[place][i]);
    }
  return result;
}

} // namespace origo
