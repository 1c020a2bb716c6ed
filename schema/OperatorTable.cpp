#include "schema/OperatorFacts.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringMap.h"
#include <algorithm>
#include <deque>
#include <vector>

using namespace origo;
using llvm::ArrayRef;
using llvm::StringRef;

#define OPERATOR(NAME, CODE, ...) static_assert(int32_t(circle::BuiltinOperator::NAME) == CODE);
#include "schema/Operators.def"

namespace {

struct Row {
  const char *name;
  int32_t code;
  const char *operands, *results;
  circle::BuiltinOptions options;
  circle::BuiltinOptions2 options2;
  Trait traits;
  Effect effects;
  OperatorFacts facts;
};

constexpr Row rows[] = {
#define OPERATOR(NAME, CODE, OPERANDS, RESULTS, OPTIONS, OPTIONS2, TRAITS, EFFECTS, ...)                               \
  {#NAME,                                                                                                              \
   CODE,                                                                                                               \
   OPERANDS,                                                                                                           \
   RESULTS,                                                                                                            \
   circle::BuiltinOptions::OPTIONS,                                                                                    \
   circle::BuiltinOptions2::OPTIONS2,                                                                                  \
   [] {                                                                                                                \
     using enum Trait;                                                                                                 \
     return TRAITS;                                                                                                    \
   }(),                                                                                                                \
   [] {                                                                                                                \
     using enum Effect;                                                                                                \
     return EFFECTS;                                                                                                   \
   }(),                                                                                                                \
   [] {                                                                                                                \
     using enum Scaling;                                                                                               \
     using enum Trade;                                                                                                 \
     return OperatorFacts{__VA_ARGS__};                                                                                \
   }()},
#include "schema/Operators.def"
};
static_assert(std::ranges::is_sorted(rows, {}, &Row::code));

llvm::SmallVector<StringRef> words(StringRef text) {
  llvm::SmallVector<StringRef> result;
  text.split(result, ' ', -1, /*KeepEmpty=*/false);
  return result;
}

/// The rows with their strings taken apart.
class Table {
public:
  static const Table &get() {
    static const Table table;
    return table;
  }

  std::vector<OperatorInfo> operators;
  llvm::StringMap<const OperatorInfo *> byName;

private:
  // What the rows' ArrayRefs point into.
  std::deque<std::vector<OperandInfo>> operandLists;
  std::deque<std::vector<unsigned>> countLists;
  std::deque<std::vector<StringRef>> nameLists;

  Table() {
    operators.reserve(std::size(rows));
    for (const Row &row : rows)
      operators.push_back({.code = circle::BuiltinOperator(row.code),
                           .name = row.name,
                           .operands = parseOperands(row.operands),
                           .results = parseOperands(row.results),
                           .options = row.options,
                           .options2 = row.options2,
                           .traits = row.traits,
                           .effects = uint8_t(row.effects),
                           .operandCounts = parseCounts(row.facts.operandCounts),
                           .resultCounts = parseCounts(row.facts.resultCounts),
                           .subgraphFields = parseNames(row.facts.subgraphs),
                           .deprecated = row.facts.deprecated,
                           .inTflite = row.facts.inTflite});
    for (const OperatorInfo &info : operators)
      byName[info.name] = &info;
  }

  ArrayRef<OperandInfo> parseOperands(StringRef text) {
    std::vector<OperandInfo> &list = operandLists.emplace_back();
    for (StringRef word : words(text)) {
      OperandInfo operand;
      operand.name = word.take_until([](char c) { return StringRef("?*!#=").contains(c); });
      StringRef marks = word.drop_front(operand.name.size());
      operand.optional = marks.contains('?');
      operand.variadic = marks.contains('*');
      operand.variable = marks.contains('!');
      operand.statesShape = marks.contains('#');
      operand.statesShapeIfWhole = marks.contains('=');
      list.push_back(operand);
    }
    return list;
  }

  ArrayRef<unsigned> parseCounts(StringRef text) {
    std::vector<unsigned> &list = countLists.emplace_back();
    for (StringRef word : words(text))
      word.getAsInteger(10, list.emplace_back());
    return list;
  }

  ArrayRef<StringRef> parseNames(StringRef text) {
    auto names = words(text);
    return nameLists.emplace_back(names.begin(), names.end());
  }
};

bool fits(ArrayRef<OperandInfo> operands, ArrayRef<unsigned> counts, unsigned count) {
  if (llvm::is_contained(counts, count))
    return true;
  auto isSpecial = [](const OperandInfo &operand) { return operand.optional || operand.variadic; };
  unsigned required = llvm::find_if(operands, isSpecial) - operands.begin();
  bool variadic = llvm::any_of(operands, [](const OperandInfo &operand) { return operand.variadic; });
  return count >= required && (variadic || count <= operands.size());
}

} // namespace

bool OperatorInfo::accepts(unsigned operandCount) const { return fits(operands, operandCounts, operandCount); }
bool OperatorInfo::acceptsResults(unsigned resultCount) const { return fits(results, resultCounts, resultCount); }

const wire::TableType *OperatorInfo::optionsType() const {
  const wire::Schema &schema = wire::Schema::circle();
  if (options != circle::BuiltinOptions::NONE)
    return schema.enumeration("BuiltinOptions")->find(int64_t(options))->table;
  if (options2 != circle::BuiltinOptions2::NONE)
    return schema.enumeration("BuiltinOptions2")->find(int64_t(options2))->table;
  return nullptr;
}

const OperatorInfo *origo::operatorInfo(int32_t code) {
  ArrayRef<OperatorInfo> operators = allOperators();
  auto it = llvm::lower_bound(operators, code, [](const OperatorInfo &a, int32_t b) { return int32_t(a.code) < b; });
  return it != operators.end() && int32_t(it->code) == code ? it : nullptr;
}

const OperatorFacts &origo::factsOf(int32_t code) {
  static constexpr OperatorFacts none;
  const Row *row = std::ranges::lower_bound(rows, code, {}, &Row::code);
  return row != std::end(rows) && row->code == code ? row->facts : none;
}

const OperatorInfo *origo::operatorInfo(StringRef name) { return Table::get().byName.lookup(name); }

ArrayRef<OperatorInfo> origo::allOperators() { return Table::get().operators; }

int32_t origo::resolveOpcode(int8_t deprecated, int32_t builtin) {
  // Only circle has negative numbers. Whichever field holds one means it: old files have it in the first field alone,
  // others have the placeholder there.
  if (builtin < 0)
    return builtin;
  if (deprecated < 0)
    return deprecated;
  return std::max<int32_t>(deprecated, builtin);
}

int8_t origo::deprecatedCode(int32_t code) {
  constexpr auto placeholder = int32_t(circle::BuiltinOperator::PLACEHOLDER_FOR_GREATER_OP_CODES);
  return code < placeholder ? code : placeholder;
}
