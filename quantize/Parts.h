#pragma once

#include "quantize/Expression.h"

#include "ir/Model.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringMap.h"

#include <vector>

namespace origo::quantize {

/// What an operator of the source is called.
struct SourceLayer {
  std::string kind;
  llvm::SmallVector<llvm::StringRef, 2> names;       ///< texts that outlive who reads them
  llvm::SmallVector<llvm::StringRef, 4> scopes = {}; ///< without a slash behind them, as each exporter writes them
};
using SourceLayers = std::vector<SourceLayer>; ///< by the operator's id; empty: nothing is known of the source

/// Parts of a model by what a person calls them, as options, recipes and configurations have it (docs/quantization.md):
///
///     conv1           the operator with that result; one that stands for that layer of the source
///     SOFTMAX         all of a kind, in any case; kind:SOFTMAX where something is called so
///     block3/         a scope: what names begin with, or what the source's exporter means by it; the slash may be left
///                     out; scope:block3 likewise
///     block?/*conv*   a glob, which a whole name has to match: *, ? and [a-z]
///     re:EXPRESSION   Python's re.search in a name
///     A..B            in the order of the graph, from the first of A to the last of B; either may be left out
///     first:3 last:3  up to the third operator with weights; from the third but last one on
///     inputs:SCOPE    what reads in a part what is computed outside; outputs:SCOPE what others read
///     12  -1          by number, as circledump counts in subgraph 0; from its end
///
/// Names are told apart at `;` as well, by which converters join those of layers that they fuse. Linear in the model
/// for a word, less for the name of an operator.
class Parts {
public:
  using Operators = std::vector<const Operator *>; ///< in the order of the model
  explicit Parts(const Model &model, const SourceLayers &sources = {});

  /// What any of the words name. An error: nothing is called so, or what is said makes no part.
  llvm::Expected<Operators> named(llvm::ArrayRef<std::string> words);
  /// All others.
  Operators without(const Operators &operators) const;
  /// The names of an operator, its own first.
  llvm::ArrayRef<llvm::StringRef> namesOf(const Operator &op) const { return all[numbers.lookup(&op)].names; }

private:
  struct Entry {
    const Operator *op;
    uint32_t subgraph = 0;
    llvm::SmallVector<llvm::StringRef, 2> names = {};
  };
  using Numbers = std::vector<uint32_t>; ///< into `all`, ascending, each once
  std::vector<Entry> all;
  llvm::DenseMap<const Operator *, uint32_t> numbers;
  llvm::StringMap<Numbers> byName, byKind, bySourceKind, byScope;
  std::vector<std::pair<llvm::StringRef, uint32_t>> sorted; ///< names, for scopes
  llvm::DenseSet<const Value *> outputs;                    ///< of the subgraphs
  Expression::Budget budget;

  void addName(uint32_t number, llvm::StringRef name);
  Numbers ofKind(llvm::StringRef kind) const;
  Numbers ofScope(llvm::StringRef scope) const;
  Numbers ofGlob(llvm::StringRef glob) const;
  Numbers ofNumber(llvm::StringRef text) const;
  Numbers atBorder(const Numbers &part, bool reads) const;
  llvm::Expected<Numbers> ofExpression(llvm::StringRef python);
  llvm::Expected<Numbers> ofRange(llvm::StringRef from, llvm::StringRef to);
  llvm::Expected<Numbers> ofWeights(llvm::StringRef count, bool first) const;
  llvm::Expected<Numbers> find(llvm::StringRef word, bool mayBeRange);
};

} // namespace origo::quantize
