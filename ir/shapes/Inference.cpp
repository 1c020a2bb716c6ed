#include "ir/shapes/Rules.h"

#include "llvm/ADT/STLExtras.h"

#include <limits>
#include <vector>

using namespace origo;
using namespace origo::inference;

llvm::Error ShapeSite::fail(const llvm::Twine &message) const {
  const Value *result = op.result();
  Place place{static_cast<int>(op.subgraph() ? op.subgraph()->index : -1), static_cast<int>(op.index), -1,
              result ? result->name.str() : std::string(), op.opName()};
  return makeError(std::move(place), message);
}

TensorType ShapeSite::type(unsigned operand) const {
  const Value *value = op.operand(operand);
  return value ? value->type : TensorType::FLOAT32;
}

std::optional<Shape> ShapeSite::shape(unsigned operand) const { return shapeOf(op.operand(operand)); }

std::optional<llvm::ArrayRef<uint8_t>> ShapeSite::bytes(unsigned operand) const {
  return shortBytes(op.operand(operand));
}

std::optional<llvm::SmallVector<int64_t, 8>> ShapeSite::values(unsigned operand) const {
  auto known = bytes(operand);
  if (!known)
    return std::nullopt;
  return integersOf(type(operand), *known);
}

std::optional<int64_t> ShapeSite::value(unsigned operand) const {
  auto all = values(operand);
  if (!all || all->size() != 1)
    return std::nullopt;
  return all->front();
}

const flatbuffers::Table *ShapeSite::tableOf(const Options &options, uint8_t member) {
  // A table without fields: each reads as its default.
  alignas(4) static const uint8_t empty[] = {4, 0, 4, 0, 4, 0, 0, 0};
  return options.table && options.member == member ? options.table
                                                   : reinterpret_cast<const flatbuffers::Table *>(empty + 4);
}

std::optional<Shape> inference::shapeOf(const Value *value) {
  if (!value || value->shape.size() > maxRank)
    return std::nullopt;
  if (value->shape.empty() && !value->hasRank) {
    // No dimensions: a scalar, or a tensor whose rank the writer of the file did not know.
    if (!value->isConstant())
      return std::nullopt;
    auto bytes = payloadBytes(value->type, 1);
    if (!value->hasShape && (!bytes || value->payload().size() != *bytes))
      return std::nullopt;
  }
  Shape shape(value->shape);
  bool haveSignature = value->shapeSignature().size() == shape.size();
  for (size_t i = 0; i < shape.size(); ++i)
    if (shape[i] < 0 || (haveSignature && value->shapeSignature()[i] < 0))
      shape[i] = -1;
  return shape;
}

TensorType inference::statedType(const ShapeSite &op, TensorType first, llvm::ArrayRef<TensorType> others) {
  const Value *result = op.result();
  return result && llvm::is_contained(others, result->type) ? result->type : first;
}

Shape inference::unknownShape(size_t rank) { return Shape(rank, -1); }

llvm::Error inference::checkDims(const ShapeSite &op, llvm::ArrayRef<int64_t> dims, Shape &shape) {
  if (dims.size() > maxRank)
    return op.fail("result of " + llvm::Twine(dims.size()) + " dimensions");
  shape.clear();
  for (int64_t dim : dims) {
    if (dim < -1 || dim > std::numeric_limits<int32_t>::max())
      return op.fail("impossible dimension " + llvm::Twine(dim) + " of the result");
    shape.push_back(static_cast<int32_t>(dim));
  }
  return llvm::Error::success();
}

Answer inference::oneChecked(const ShapeSite &op, TensorType type, llvm::ArrayRef<int64_t> dims) {
  Shape shape;
  if (llvm::Error error = checkDims(op, dims, shape))
    return error;
  return one(type, std::move(shape));
}

Answer inference::oneFromConstant(const ShapeSite &op, TensorType type, llvm::ArrayRef<int64_t> dims) {
  for (int64_t dim : dims)
    if (dim < 0)
      return op.fail("negative dimension " + llvm::Twine(dim));
  return oneChecked(op, type, dims);
}

bool inference::isSingle(const ShapeSite &op, unsigned operand) {
  auto shape = op.shape(operand);
  auto count = shape ? elementCount(*shape) : 1;
  return count && (*count < 0 || *count == 1);
}

std::optional<unsigned> inference::axisIn(int64_t axis, size_t rank) {
  int64_t count = static_cast<int64_t>(rank);
  if (axis < -count || axis >= count)
    return std::nullopt;
  return static_cast<unsigned>(axis < 0 ? axis + count : axis);
}

std::optional<int32_t> inference::mergeDim(int32_t a, int32_t b) {
  if (a < 0)
    return b;
  if (b < 0 || a == b)
    return a;
  return std::nullopt;
}

std::optional<Shape> inference::broadcast(llvm::ArrayRef<int32_t> a, llvm::ArrayRef<int32_t> b) {
  if (a.size() < b.size())
    std::swap(a, b);
  Shape shape(a.begin(), a.end());
  size_t offset = a.size() - b.size();
  for (size_t i = 0; i < b.size(); ++i) {
    int32_t &dim = shape[offset + i];
    if (dim == 1)
      dim = b[i];
    else if (b[i] == 1)
      continue; // also where `dim` is not known
    else if (auto merged = mergeDim(dim, b[i]))
      dim = *merged;
    else
      return std::nullopt;
  }
  return shape;
}

std::optional<int64_t> inference::elementCount(llvm::ArrayRef<int32_t> shape) {
  if (llvm::is_contained(shape, -1))
    return -1;
  int64_t count = 1;
  for (int32_t dim : shape)
    if (llvm::MulOverflow(count, static_cast<int64_t>(dim), count))
      return std::nullopt;
  return count;
}

/// Of the sizes that are; nothing where 63 bits do not hold it.
template <class T> static std::optional<int64_t> productAboveZero(llvm::ArrayRef<T> sizes) {
  int64_t all = 1;
  for (int64_t size : sizes)
    if (size > 0 && llvm::MulOverflow(all, size, all))
      return std::nullopt;
  return all;
}

Answer inference::reshapeTo(const ShapeSite &op, TensorType type, llvm::ArrayRef<int32_t> from,
                            llvm::ArrayRef<int64_t> to) {
  auto count = elementCount(from);
  if (!count)
    return op.fail("more elements than 63 bits can count");
  int64_t product = 1;
  int stretched = -1;
  for (size_t i = 0; i < to.size(); ++i) {
    if (to[i] == -1) {
      if (stretched >= 0)
        return op.fail("two dimensions of -1 in the new shape");
      stretched = static_cast<int>(i);
    } else if (to[i] < 0 || llvm::MulOverflow(product, to[i], product)) {
      return op.fail("impossible new shape");
    }
  }
  llvm::SmallVector<int64_t> dims(to);
  if (stretched >= 0 && *count >= 0) {
    if (product == 0 ? *count != 0 : *count % product != 0)
      return op.fail(llvm::Twine(*count) + " elements do not fit the new shape");
    // Beside a dimension of 0 any number would fit: it is what the sizes that are not 0 leave.
    auto before = productAboveZero(from), after = productAboveZero(to);
    if (product == 0 && (!before || !after))
      return op.fail("impossible new shape");
    dims[stretched] = product == 0 ? *before / *after : *count / product;
  } else if (stretched < 0 && *count >= 0 && *count != product) {
    return op.fail(llvm::Twine(*count) + " elements in a new shape of " + llvm::Twine(product));
  }
  return oneChecked(op, type, dims);
}

Answer inference::sameAsFirst(const ShapeSite &op) {
  auto shape = op.shape(0);
  if (!shape)
    return noAnswer();
  return one(op.type(0), std::move(*shape));
}

namespace {

/// Code → rule, the trait rules filled in.
class RuleTable {
public:
  RuleTable() {
    for (const OperatorInfo &info : allOperators())
      set(info.code, traitRule(info));
    for (llvm::ArrayRef<RuleRow> rows : {elementwiseRules(), convolutionRules(), movementRules(), indexingRules(),
                                         reductionRules(), matrixRules(), recurrentRules(), controlFlowRules()})
      for (const RuleRow &row : rows)
        set(row.code, row.rule);
  }
  Rule find(BuiltinOperator code) const {
    size_t index = static_cast<size_t>(static_cast<int64_t>(code) - first);
    return index < rules.size() ? rules[index] : nullptr;
  }

private:
  static constexpr int64_t first = static_cast<int64_t>(BuiltinOperator::MIN);
  std::vector<Rule> rules = std::vector<Rule>(static_cast<int64_t>(BuiltinOperator::MAX) - first + 1);
  void set(BuiltinOperator code, Rule rule) { rules[static_cast<int64_t>(code) - first] = rule; }
};

} // namespace

llvm::Expected<llvm::SmallVector<ResultType, 2>> origo::inferResults(const ShapeSite &op) {
  static const RuleTable table;
  BuiltinOperator code = op.op.builtinMeant();
  const OperatorInfo *info = operatorInfo(code);
  Rule rule = table.find(code);
  // Rules may then index the row's required operands and results, though each may be absent (null).
  if (!info || !rule || !info->accepts(op.numOperands()) || op.results().size() > maxResults)
    return noAnswer();
  Answer answer = rule(op);
  if (answer && answer->size() != op.results().size()) {
    if (answer->size() < op.results().size())
      answer->clear();
    else
      answer->truncate(op.results().size());
  }
  return answer;
}
