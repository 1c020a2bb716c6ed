#include "eval/Kernels.h"
#include "eval/Strings.h"
#include "eval/kernels/Resource.h"
#include "schema/TensorTypes.h"

/// Hash tables, which translate strings into numbers or numbers into strings.
namespace origo::eval {

namespace {

llvm::Error hashTable(KernelContext &ctx) {
  const auto &options = ctx.options<circle::HashtableOptions>();
  TensorType keys = options.key_dtype(), values = options.value_dtype();
  if (!(keys == TensorType::INT64 && values == TensorType::STRING) &&
      !(keys == TensorType::STRING && values == TensorType::INT64))
    return ctx.fail("a hash table leads from INT64 to STRING or from STRING to INT64");
  return setResource(ctx, [&](Resources &resources) { return resources.table(options.table_id(), keys, values); });
}

llvm::Expected<Resources::Table *> tableAt(KernelContext &ctx, unsigned operand) {
  auto resource = resourceAt(ctx, operand);
  if (!resource)
    return resource.takeError();
  if (!(*resource)->table)
    return ctx.fail(operand, "is no hash table");
  return &*(*resource)->table;
}

/// The table, if it has the types of this operator.
llvm::Expected<Resources::Table *> tableOf(KernelContext &ctx, TensorType keys) {
  auto table = tableAt(ctx, 0);
  if (table && (*table)->keys != keys)
    return ctx.fail(0, "has other types", tensorTypeName(keys).str(), tensorTypeName((*table)->keys).str());
  return table;
}

/// A table is filled once; of equal keys, the first one counts.
llvm::Error import(KernelContext &ctx) {
  auto table = tableOf(ctx, ctx.input(1).type);
  if (!table)
    return table.takeError();
  bool fromStrings = ctx.input(1).type == TensorType::STRING;
  unsigned numbersAt = fromStrings ? 2 : 1;
  auto strings = stringsOf(ctx, fromStrings ? 1 : 2);
  if (!strings)
    return strings.takeError();
  auto numbers = ctx.input(numbersAt).as<int64_t>();
  if (numbers.size() != strings->size())
    return ctx.fail(2, "does not have a value for each key", std::to_string(ctx.input(1).count()),
                    std::to_string(ctx.input(2).count()));
  if ((*table)->filled)
    return llvm::Error::success();
  uint64_t bytes = 0;
  for (llvm::StringRef string : *strings)
    bytes += string.size() + 64; // and what an entry takes
  if (!ctx.resources->take(bytes))
    return evalError(ErrorCode::MemoryLimit, EvalPhase::Run, ctx.op, 1,
                     "tables would take more bytes than are allowed");
  (*table)->filled = true;
  for (size_t i = 0; i < numbers.size(); ++i)
    if (fromStrings)
      (*table)->numbers.try_emplace((*strings)[i].str(), numbers[i]);
    else
      (*table)->strings.try_emplace(numbers[i], (*strings)[i].str());
  return llvm::Error::success();
}

llvm::Error checkFilled(KernelContext &ctx, const Resources::Table &table) {
  return table.filled ? llvm::Error::success() : ctx.fail(0, "was never filled");
}

llvm::Error findNumbers(KernelContext &ctx) {
  auto table = tableOf(ctx, TensorType::STRING);
  if (!table)
    return table.takeError();
  auto keys = stringsOf(ctx, 1);
  auto fallback = ctx.integer(2);
  if (!keys || !fallback)
    return firstError(keys, fallback);
  if (llvm::Error error = checkFilled(ctx, **table))
    return error;
  auto out = ctx.output().as<int64_t>();
  for (size_t i = 0; i < keys->size(); ++i) {
    auto found = (*table)->numbers.find((*keys)[i].str());
    out[i] = found == (*table)->numbers.end() ? *fallback : found->second;
  }
  return llvm::Error::success();
}

llvm::Error findStrings(KernelContext &ctx) {
  auto table = tableOf(ctx, TensorType::INT64);
  if (!table)
    return table.takeError();
  auto fallback = stringsOf(ctx, 2);
  if (!fallback)
    return fallback.takeError();
  if (fallback->size() != 1)
    return ctx.fail(2, "must be a single string");
  if (llvm::Error error = checkFilled(ctx, **table))
    return error;
  std::vector<llvm::StringRef> strings;
  for (int64_t key : ctx.input(1).as<int64_t>()) {
    auto found = (*table)->strings.find(key);
    strings.push_back(found == (*table)->strings.end() ? fallback->front() : llvm::StringRef(found->second));
  }
  return setStrings(ctx, 0, strings);
}

llvm::Error size(KernelContext &ctx) {
  auto table = tableAt(ctx, 0);
  if (!table)
    return table.takeError();
  ctx.output().as<int64_t>()[0] = static_cast<int64_t>((*table)->size());
  return llvm::Error::success();
}

} // namespace

llvm::ArrayRef<KernelRow> hashTableKernels() {
  using Op = BuiltinOperator;
  static const KernelRow rows[] = {
      {Op::HASHTABLE, " -> resource", hashTable, {}, ShapesFrom::Kernel},
      {Op::HASHTABLE_IMPORT, "resource, str, i64 -> ", import},
      {Op::HASHTABLE_IMPORT, "resource, i64, str -> ", import},
      {Op::HASHTABLE_FIND, "resource, str, i64 -> i64", findNumbers},
      {Op::HASHTABLE_FIND, "resource, i64, str -> str", findStrings},
      {Op::HASHTABLE_SIZE, "resource -> i64", size},
  };
  return rows;
}

} // namespace origo::eval
