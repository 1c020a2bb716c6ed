#include "passes/onnx/Lowering.h"

#include "llvm/ADT/StringExtras.h"

namespace origo::onnx {

namespace {

/// Integers are multiplied as floats, which have all sums below 2^24.
RewriteResult matMul(Lowering &n) {
  Tensor a = n.input(0), b = n.input(1);
  TensorType type = a.type();
  if (!isReal(type) || b.type() != type)
    return decline("a product of integers, whose sums a float may not have");
  auto stored = [&](Expr value) { return castTo(std::move(value), TensorType::FLOAT32, type); };
  if (a.rank() == 0 || b.rank() == 0)
    return decline("an operand has no dimensions");
  if (b.isDenseConstant() && b.rank() == 2 && b.shape()[0] > 0 && a.rank() >= 2) { // weights are for some inputs
    Expr weights = fold(transpose(wide(b), list({1, 0})));
    return n.replace(stored(op(Op::FULLY_CONNECTED, {wide(a), weights, Tensor()}).with("keep_num_dims", 1)));
  }
  auto sized = [](Tensor x, bool before) {
    Sizes shape(x.statedShape().begin(), x.statedShape().end());
    shape.insert(before ? shape.begin() : shape.end(), 1);
    return x.isDenseConstant() ? fold(reshape(wide(x), list(shape))) : shaped(wide(x), shape);
  };
  Expr left = a.rank() == 1 ? sized(a, true) : wide(a), right = b.rank() == 1 ? sized(b, false) : wide(b);
  Expr product = stored(op(Op::BATCH_MATMUL, {left, right}));
  if (a.rank() > 1 && b.rank() > 1)
    return n.replace(product);
  Sizes shape;
  if (a.rank() > 1)
    shape.assign(a.statedShape().begin(), a.statedShape().end() - 1);
  if (b.rank() > 1) {
    shape.append(b.statedShape().begin(), b.statedShape().end() - 2);
    shape.push_back(b.statedShape().back());
  }
  if (llvm::count(shape, -1) > 1)
    return decline("its shape is not known before run time");
  return n.replace(shaped(product, shape));
}

RewriteResult gemm(Lowering &n) {
  Tensor a = n.input(0), b = n.input(1), c = n.input(2);
  if (!isReal(a.type()))
    return decline("not float");
  auto stored = [&](Expr value) {
    auto made = activated(n, std::move(value));
    return made ? n.replace(castTo(*made, TensorType::FLOAT32, a.type())) : decline("its activation is not taken");
  };
  double alpha = n.real("alpha", 1), beta = n.real("beta", 1);
  Expr left = n.integer("transA") ? transpose(wide(a), list({1, 0})) : wide(a);
  std::optional<Expr> bias;
  if (c && beta == 0 && c.isDenseConstant())
    (void)n.m.every(c, [](double) { return true; });
  else if (c)
    bias = beta == 1 ? wide(c) : foldedIf(c.isDenseConstant(), wide(c) * Expr(beta));
  if (!b.isDenseConstant()) {
    Expr product = op(Op::BATCH_MATMUL, {left, wide(b)}).with("adjoint_rhs", n.integer("transB") != 0);
    if (alpha != 1)
      product = product * Expr(alpha);
    return stored(bias ? product + *bias : product);
  }
  Expr weights = n.integer("transB") ? wide(b) : fold(transpose(wide(b), list({1, 0})));
  if (alpha != 1)
    weights = fold(weights * Expr(alpha));
  int32_t columns = n.integer("transB") ? b.shape()[0] : b.shape()[1];
  bool isBias =
      bias && c.isDenseConstant() && c.elementCount() == static_cast<uint64_t>(columns) && c.lastDimension() == columns;
  if (isBias && c.rank() != 1)
    bias = fold(reshape(*bias, list({columns})));
  Expr product = op(Op::FULLY_CONNECTED, {left, weights, isBias ? *bias : Expr(Tensor())});
  return stored(bias && !isBias ? product + *bias : product);
}

/// alpha · a · b, either of them transposed.
RewriteResult fusedMatMul(Lowering &n) {
  Tensor a = n.input(0), b = n.input(1);
  if (!isReal(a.type()) || b.type() != a.type() || a.rank() < 2 || b.rank() < 2 || n.integer("transBatchA") ||
      n.integer("transBatchB"))
    return decline("not of matrices of float, or with batches transposed");
  Expr product = op(Op::BATCH_MATMUL, {wide(a), wide(b)})
                     .with("adjoint_lhs", n.integer("transA") != 0)
                     .with("adjoint_rhs", n.integer("transB") != 0);
  double alpha = n.real("alpha", 1);
  return n.replace(castTo(alpha == 1 ? product : product * Expr(alpha), TensorType::FLOAT32, a.type()));
}

/// x · wᵀ of weights in blocks of 4 or 8 bits along the columns, each with a scale and perhaps a zero point.
RewriteResult matMulOfBlocks(Lowering &n) {
  Tensor a = n.input(0), b = n.input(1), scales = n.input(2), zeros = n.input(3);
  auto columns = static_cast<int32_t>(n.integer("K")), rows = static_cast<int32_t>(n.integer("N"));
  int64_t bits = n.integer("bits", 4), block = n.integer("block_size");
  if (!isReal(a.type()) || !b.isDenseConstant() || b.rank() != 3 || (bits != 4 && bits != 8) || block < 16 ||
      columns < 1 || rows < 1 || b.shape()[0] != rows || b.shape()[2] != block * bits / 8 ||
      int64_t{b.shape()[1]} * block < columns || n.input(4) || !scales.isDenseConstant() ||
      (zeros && (!zeros.isDenseConstant() || zeros.type() != TensorType::UINT8)))
    return decline("its weights are computed, or of blocks that are not taken");
  int32_t blocks = b.shape()[1];
  auto unpacked = [&](Tensor of, llvm::ArrayRef<int32_t> shape) {
    Expr bytes = castTo(of, of.type(), TensorType::INT32), sixteen = number(16, TensorType::INT32);
    Expr both = bits == 8 ? bytes
                          : op(Op::PACK, {op(Op::FLOOR_MOD, {bytes, sixteen}), op(Op::FLOOR_DIV, {bytes, sixteen})})
                                .with("values_count", 2)
                                .with("axis", of.rank());
    return castTo(reshape(both, list(shape)), TensorType::INT32, TensorType::FLOAT32);
  };
  Expr weights = unpacked(b, {rows, blocks, static_cast<int32_t>(block)});
  if (zeros) {
    int32_t padded = bits == 4 ? (blocks + 1) / 2 * 2 : blocks;
    if (zeros.elementCount() != static_cast<uint64_t>(rows) * padded * bits / 8)
      return decline("its zero points are not one for each block");
    Expr each = op(Op::SLICE, {unpacked(zeros, {rows, padded}), list({0, 0}), list({rows, blocks})});
    weights = weights - reshape(each, list({rows, blocks, 1}));
  } else {
    weights = weights - Expr(bits == 4 ? 8.0 : 128.0);
  }
  weights = weights * reshape(wide(scales), list({rows, blocks, 1}));
  weights = reshape(weights, list({rows, static_cast<int32_t>(blocks * block)}));
  if (blocks * block != columns)
    weights = op(Op::SLICE, {weights, list({0, 0}), list({rows, columns})});
  Tensor bias = n.input(5);
  Expr product =
      op(Op::FULLY_CONNECTED, {wide(a), fold(weights), bias ? wide(bias) : Expr(Tensor())}).with("keep_num_dims", 1);
  return n.replace(castTo(product, TensorType::FLOAT32, a.type()));
}

/// Of matrices of two by two.
RewriteResult determinant(Lowering &n) {
  Tensor x = n.input(0);
  if (!x.isFloat() || !x.isStatic() || x.rank() < 2 || x.shape()[x.rank() - 1] != 2 || x.shape()[x.rank() - 2] != 2)
    return decline("not of float32 matrices of two by two");
  Sizes shape(x.shape().begin(), x.shape().end() - 2);
  auto at = [&](int32_t row, int32_t column) {
    Sizes begin(x.rank(), 0), size(x.shape().begin(), x.shape().end());
    begin[x.rank() - 2] = row;
    begin[x.rank() - 1] = column;
    size[x.rank() - 2] = size[x.rank() - 1] = 1;
    return reshape(op(Op::SLICE, {x, list(begin), list(size)}), list(shape));
  };
  return n.replace(at(0, 0) * at(1, 1) - at(0, 1) * at(1, 0));
}

/// Of one operand: the sum over the letters that are not in the output, in its order.
RewriteResult permutedSum(Lowering &n, llvm::StringRef from, llvm::StringRef to) {
  Tensor x = n.input(0);
  Sizes axes, permutation;
  std::string kept;
  for (auto [i, letter] : llvm::enumerate(from)) {
    if (from.count(letter) > 1 || !llvm::isAlpha(letter))
      return decline("it takes a diagonal, or not all letters");
    if (to.contains(letter))
      kept += letter;
    else
      axes.push_back(static_cast<int32_t>(i));
  }
  for (char letter : to) {
    if (!llvm::StringRef(kept).contains(letter) || to.count(letter) > 1)
      return decline("a letter of its output is not one of its operand");
    permutation.push_back(static_cast<int32_t>(kept.find(letter)));
  }
  if (static_cast<int>(from.size()) != x.rank() || !isReal(x.type()))
    return decline("not float, or of other dimensions than letters");
  Expr value = wide(x);
  if (!axes.empty())
    value = op(Op::SUM, {value, list(axes)}).with("keep_dims", 0);
  if (!llvm::is_sorted(permutation))
    value = transpose(value, list(permutation));
  else if (axes.empty())
    return asItIs(n);
  return n.replace(castTo(value, TensorType::FLOAT32, x.type()));
}

/// An equation with an output, and with letters of their own for "...", of which each operand has the last ones. None:
/// an operand has fewer dimensions than letters.
std::optional<std::string> spelled(Lowering &n) {
  std::string equation, unused, once;
  for (char c : n.text("equation"))
    if (c != ' ')
      equation += c;
  for (char c = 'A'; c <= 'z'; ++c)
    if (size_t count = llvm::StringRef(equation).count(c); llvm::isAlpha(c) && count < 2)
      (count ? once : unused) += c;
  auto [inputs, given] = llvm::StringRef(equation).split("->");
  std::string output = given.str(), all;
  if (!llvm::StringRef(equation).contains("->")) // then it is what stands there once
    output = (llvm::StringRef(equation).contains("...") ? "..." : "") + once;
  llvm::SmallVector<llvm::StringRef, 2> terms;
  inputs.split(terms, ',');
  if (terms.size() != n.inputs())
    return std::nullopt;
  constexpr size_t most = 8;
  size_t longest = 0;
  auto letters = [&](llvm::StringRef term, size_t count) {
    auto [before, behind] = term.split("...");
    return (before + unused.substr(most - count, count) + behind).str();
  };
  for (auto [k, term] : llvm::enumerate(terms)) {
    int count = term.contains("...") ? n.input(static_cast<unsigned>(k)).rank() - int(term.size()) + 3 : 0;
    if (count < 0 || count > static_cast<int>(most) || unused.size() < most)
      return std::nullopt;
    longest = std::max<size_t>(longest, count);
    all += (k ? "," : "") + letters(term, count);
  }
  return all + "->" + letters(output, longest);
}

/// By letters: for two operands with batch, free and summed ones.
RewriteResult einsum(Lowering &n) {
  std::optional<std::string> equation = spelled(n);
  if (!equation)
    return decline("its operands do not have the dimensions of its equation");
  auto [inputs, output] = llvm::StringRef(*equation).split("->");
  llvm::SmallVector<llvm::StringRef, 2> terms;
  inputs.split(terms, ',');
  if (terms.size() == 1 && n.inputs() == 1)
    return permutedSum(n, terms[0], output);
  if (terms.size() != 2)
    return decline("an equation that is not of two operands");
  Tensor x[2] = {n.input(0), n.input(1)};
  llvm::SmallDenseMap<char, int32_t, 8> sizes;
  for (int k = 0; k < 2; ++k) {
    if (static_cast<int>(terms[k].size()) != x[k].rank() || !x[k].isStatic())
      return decline("its shape is not known before run time");
    for (auto [letter, size] : llvm::zip(terms[k], x[k].shape())) {
      if (terms[k].count(letter) > 1)
        return decline("it takes a diagonal");
      if (auto [known, isNew] = sizes.try_emplace(letter, size); !isNew && known->second != size)
        return decline("a letter has two sizes");
    }
  }
  std::string batch, left, right, summed;
  for (char c : output)
    if (terms[0].contains(c) && terms[1].contains(c))
      batch += c;
    else
      (terms[0].contains(c) ? left : right) += c;
  for (char c : terms[0])
    if (!output.contains(c)) {
      if (!terms[1].contains(c))
        return decline("it sums over one operand alone");
      summed += c;
    }
  for (char c : terms[1])
    if (!output.contains(c) && !terms[0].contains(c))
      return decline("it sums over one operand alone");
  auto ordered = [&](int k, const std::string &letters) {
    Sizes permutation;
    for (char c : letters)
      permutation.push_back(static_cast<int32_t>(terms[k].find(c)));
    bool isSame = llvm::is_sorted(permutation);
    return isSame ? wide(x[k]) : transpose(wide(x[k]), list(permutation));
  };
  auto product = [&](const std::string &letters) {
    int32_t all = 1;
    for (char c : letters)
      all *= sizes[c];
    return all;
  };
  if (!isReal(x[0].type()) || x[1].type() != x[0].type())
    return decline("a product of integers, whose sums a float may not have");
  Expr a = reshape(ordered(0, batch + left + summed), list({product(batch), product(left), product(summed)}));
  Expr b = reshape(ordered(1, batch + summed + right), list({product(batch), product(summed), product(right)}));
  Sizes shape, back;
  std::string made = batch + left + right;
  for (char c : made)
    shape.push_back(sizes[c]);
  for (char c : output)
    back.push_back(static_cast<int32_t>(made.find(c)));
  Expr value = reshape(op(Op::BATCH_MATMUL, {a, b}), list(shape));
  value = castTo(value, TensorType::FLOAT32, x[0].type());
  return n.replace(llvm::is_sorted(back) ? value : transpose(value, list(back)));
}

} // namespace

llvm::ArrayRef<Row> linearRows() {
  static const Row rows[] = {{"Det", determinant},
                             {"Einsum", einsum},
                             {"Gemm", gemm},
                             {"MatMul", matMul},
                             {"com.microsoft.FusedGemm", gemm},
                             {"com.microsoft.FusedMatMul", fusedMatMul},
                             {"com.microsoft.MatMulNBits", matMulOfBlocks}};
  return rows;
}

} // namespace origo::onnx
