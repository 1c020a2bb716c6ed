#include "eval/CustomKernels.h"
#include "eval/KernelTypes.h"

#include "schema/TensorTypes.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/ErrorHandling.h"

#include <vector>

namespace origo::eval {

// The files of eval/kernels/, each with its rows. A new file needs its name here.
#define KERNEL_FILES(FILE)                                                                                             \
  FILE(activationKernels)                                                                                              \
  FILE(activationQuantizedKernels)                                                                                     \
  FILE(addNKernels)                                                                                                    \
  FILE(argMinMaxKernels)                                                                                               \
  FILE(batchMatMulKernels)                                                                                             \
  FILE(bcqKernels)                                                                                                     \
  FILE(binaryKernels)                                                                                                  \
  FILE(binaryQuantizedKernels)                                                                                         \
  FILE(bitKernels)                                                                                                     \
  FILE(castKernels)                                                                                                    \
  FILE(complexKernels)                                                                                                 \
  FILE(convolution3DKernels)                                                                                           \
  FILE(convolutionKernels)                                                                                             \
  FILE(densifyKernels)                                                                                                 \
  FILE(dilateKernels)                                                                                                  \
  FILE(fullyConnectedKernels)                                                                                          \
  FILE(gatherScatterKernels)                                                                                           \
  FILE(generateKernels)                                                                                                \
  FILE(gruKernels)                                                                                                     \
  FILE(hashTableKernels)                                                                                               \
  FILE(lookupKernels)                                                                                                  \
  FILE(lstmIntegerKernels)                                                                                             \
  FILE(lstmKernels)                                                                                                    \
  FILE(matrixDiagKernels)                                                                                              \
  FILE(mirrorPadKernels)                                                                                               \
  FILE(movementKernels)                                                                                                \
  FILE(nonMaxSuppressionKernels)                                                                                       \
  FILE(normalizeKernels)                                                                                               \
  FILE(poolingKernels)                                                                                                 \
  FILE(preluKernels)                                                                                                   \
  FILE(quantizeKernels)                                                                                                \
  FILE(randomKernels)                                                                                                  \
  FILE(reduceKernels)                                                                                                  \
  FILE(resizeKernels)                                                                                                  \
  FILE(reverseKernels)                                                                                                 \
  FILE(rnnKernels)                                                                                                     \
  FILE(segmentKernels)                                                                                                 \
  FILE(selectKernels)                                                                                                  \
  FILE(shapeKernels)                                                                                                   \
  FILE(softmaxKernels)                                                                                                 \
  FILE(softmaxQuantizedKernels)                                                                                        \
  FILE(spaceBatchKernels)                                                                                              \
  FILE(stridedSliceKernels)                                                                                            \
  FILE(svdfKernels)                                                                                                    \
  FILE(tileKernels)                                                                                                    \
  FILE(transposeConvKernels)                                                                                           \
  FILE(unaryKernels)                                                                                                   \
  FILE(unaryQuantizedKernels)                                                                                          \
  FILE(uniqueKernels)                                                                                                  \
  FILE(variableKernels)

#define DECLARE(name) llvm::ArrayRef<KernelRow> name();
KERNEL_FILES(DECLARE)
#undef DECLARE
llvm::ArrayRef<CustomKernelRow> detectionPostProcessKernels();
llvm::ArrayRef<CustomKernelRow> mediaPipeKernels();

namespace {

void addWholeByteTypes(llvm::SmallVectorImpl<TensorType> &types) {
  // The numbers of the types begin at −7.
  for (int number = -16; number < 48; ++number)
    if (auto bits = bitsPerElement(static_cast<TensorType>(number)); bits && *bits % 8 == 0)
      types.push_back(static_cast<TensorType>(number));
}

TypeSlot parseSlot(llvm::StringRef text) {
  TypeSlot slot;
  slot.optional = text.consume_back("?");
  while (!text.empty()) {
    auto [name, rest] = text.split('|');
    text = rest;
    if (name.consume_front("same")) {
      unsigned operand = 0;
      if (!name.empty() && name.getAsInteger(10, operand))
        llvm::report_fatal_error("a kernel's row says same as no operand: " + llvm::Twine(name));
      slot.sameAs = operand;
    } else if (name == "any")
      addWholeByteTypes(slot.types);
    else if (auto type = tensorTypeFromShortName(name))
      slot.types.push_back(*type);
    else
      llvm::report_fatal_error("a kernel's row names a type that does not exist: " + llvm::Twine(name));
  }
  return slot;
}

llvm::SmallVector<TypeSlot, 4> parseSide(llvm::StringRef text, bool &repeats) {
  llvm::SmallVector<TypeSlot, 4> slots;
  text = text.trim();
  repeats = text.consume_back("...");
  while (!text.empty()) {
    auto [slot, rest] = text.split(',');
    slots.push_back(parseSlot(slot.trim()));
    text = rest;
  }
  return slots;
}

} // namespace

TypeList parseTypes(llvm::StringRef text) {
  TypeList list;
  auto [operands, results] = text.split("->");
  list.operands = parseSide(operands, list.operandsRepeat);
  list.results = parseSide(results, list.resultsRepeat);
  return list;
}

namespace {

bool fits(llvm::ArrayRef<TypeSlot> slots, bool repeat, llvm::ArrayRef<const Value *> values,
          llvm::ArrayRef<const Value *> operands, bool mayBeAbsent) {
  for (size_t i = 0; i < values.size(); ++i) {
    if (i >= slots.size() && (!repeat || slots.empty()))
      return false;
    if (!values[i] && mayBeAbsent)
      continue;
    if (!slots[std::min(i, slots.size() - 1)].accepts(values[i], operands))
      return false;
  }
  for (size_t i = values.size(); i < slots.size(); ++i)
    if (!slots[i].optional && !mayBeAbsent)
      return false;
  return true;
}

struct Registry {
  std::vector<KernelRow> rows;
  std::vector<TypeList> lists;
};

const Registry &registry() {
  static const Registry result = [] {
    Registry made;
#define APPEND(name) llvm::append_range(made.rows, name());
    KERNEL_FILES(APPEND)
#undef APPEND
    llvm::stable_sort(made.rows, [](const KernelRow &a, const KernelRow &b) { return a.code < b.code; });
    for (const KernelRow &row : made.rows)
      made.lists.push_back(parseTypes(row.types));
    return made;
  }();
  return result;
}

bool matches(const TypeList &list, const Operator &op) {
  llvm::SmallVector<const Value *, 8> operands, results(op.results().begin(), op.results().end());
  for (unsigned i = 0; i < op.numOperands(); ++i)
    operands.push_back(op.operand(i));
  return fits(list.operands, list.operandsRepeat, operands, operands, false) &&
         fits(list.results, list.resultsRepeat, results, operands, true);
}

} // namespace

bool TypeSlot::accepts(const Value *value, llvm::ArrayRef<const Value *> operands) const {
  if (!value)
    return optional;
  if (sameAs && *sameAs < operands.size() && operands[*sameAs] && value->type == operands[*sameAs]->type)
    return true;
  return llvm::is_contained(types, value->type);
}

llvm::ArrayRef<KernelRow> allKernels() { return registry().rows; }

llvm::ArrayRef<CustomKernelRow> allCustomKernels() {
  static const auto rows = [] {
    std::vector<CustomKernelRow> made;
    llvm::append_range(made, detectionPostProcessKernels());
    llvm::append_range(made, mediaPipeKernels());
    return made;
  }();
  return rows;
}

llvm::ArrayRef<TypeList> kernelTypes() { return registry().lists; }

const KernelRow *findKernel(const Operator &op) {
  if (!op.results().empty() && !op.result(0)) // kernels look at its type
    return nullptr;
  if (op.code == BuiltinOperator::CUSTOM)
    for (const CustomKernelRow &row : allCustomKernels())
      if (row.customCode == op.customCode.get() && matches(parseTypes(row.kernel.types), op))
        return &row.kernel;
  llvm::ArrayRef<KernelRow> rows = allKernels();
  BuiltinOperator wanted = op.builtinMeant();
  for (const KernelRow *row = llvm::lower_bound(rows, wanted, [](auto &r, auto code) { return r.code < code; });
       row != rows.end() && row->code == wanted; ++row)
    if (matches(registry().lists[row - rows.begin()], op))
      return row;
  return nullptr;
}

std::string typesOf(const Operator &op) {
  std::string text;
  auto add = [&](const Value *value, bool first) {
    llvm::StringRef name = value ? tensorTypeShortName(value->type) : "-";
    text += (first ? "" : ", ") + (name.empty() ? "?" : name.str());
  };
  for (unsigned i = 0; i < op.numOperands(); ++i)
    add(op.operand(i), i == 0);
  text += " -> ";
  for (unsigned i = 0; i < op.results().size(); ++i)
    add(op.result(i), i == 0);
  return text;
}

bool isControlFlow(BuiltinOperator code) {
  switch (code) {
  case BuiltinOperator::IF:
  case BuiltinOperator::WHILE:
  case BuiltinOperator::CALL:
  case BuiltinOperator::CALL_ONCE:
  case BuiltinOperator::STABLEHLO_COMPOSITE:
    return true;
  default:
    return false;
  }
}

std::string supportTable() {
  std::string text;
  auto line = [&](BuiltinOperator code, llvm::StringRef types) {
    const OperatorInfo *info = operatorInfo(code);
    text += ((info ? info->name : llvm::StringRef("?")) + "\t" + types + "\n").str();
  };
  for (const KernelRow &row : allKernels())
    line(row.code, row.types);
  for (const CustomKernelRow &row : allCustomKernels())
    text += ("CUSTOM:" + row.customCode + "\t" + row.kernel.types + "\n").str();
  for (const OperatorInfo &info : allOperators())
    if (isControlFlow(info.code))
      line(info.code, "by its subgraphs");
  return text;
}

} // namespace origo::eval
