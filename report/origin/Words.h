#pragma once

#include "origin/Files.h"
#include "origin/OriginMap.h"

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/raw_ostream.h"

#include <string>

namespace origo::report {

/// What a row of the ledger is about: a fate says something else of each.
enum class SourceThing { Operator, Tensor, Constant };

/// Names what a map speaks of. Everything from the file is escaped.
class MapNames {
public:
  explicit MapNames(const origin::OriginMap &map) : map(map) {}

  const origin::OriginMap &map;
  const origin::SourceOperator *sourceOperator(uint32_t id) const { return map.source.findOperator(id); }
  const origin::SourceTensor *sourceTensor(uint32_t id) const { return map.source.findTensor(id); }
  const origin::OperatorRow *writtenOperator(uint32_t graph, uint32_t index) const {
    return map.target.findOperator(graph, index);
  }
  const origin::TensorRow *writtenTensor(uint32_t graph, uint32_t index) const {
    return map.target.findTensor(graph, index);
  }

  std::string kind(llvm::StringRef op, llvm::StringRef customCode) const; ///< CONV_2D, CUSTOM:code
  /// The name of the first output that has one, not escaped.
  llvm::StringRef nameOf(const origin::SourceOperator &op) const { return map.source.nameOf(op); }
  static llvm::StringRef nameOf(const origin::OperatorRow &op);

  SourceThing thing(const origin::MapLedgerRow &row) const;

  // Words for a sentence.
  std::string sourceOperatorWords(uint32_t id) const; ///< source operator 3 (RELU "relu1")
  std::string sourceTensorWords(uint32_t id) const;   ///< source tensor 12 "conv1"
  std::string operatorWords(uint32_t graph, uint32_t index) const;
  std::string tensorWords(uint32_t graph, uint32_t index) const;
  std::string intoWords(const origin::MapLedgerRow &row,
                        bool full) const; ///< empty if it leads to nothing
  std::string
  unneededWords(const origin::MapUnneeded &row) const; ///< not needed as operand 1 of …: states a shape only
  std::string relationWords(const origin::MapRelation &relation,
                            uint32_t graph) const; ///< how it comes from its tensor
};

/// Why something is in the ledger, as the predicate of a sentence: "is dead: nothing in the written model needs it".
std::string fateWords(llvm::StringRef fate, SourceThing thing);

/// The first few of many, or all of them, with a count of those that are left
/// out.
std::string shortened(llvm::ArrayRef<std::string> parts, bool full);

/// What became of a source operator or tensor, as sentences: given its id or a name that it or its outputs have. Where
/// none has it whole, a name between the `;` of a joined one counts, else the beginning of names, else a part of them.
struct WhereAnswer {
  bool found = false;
  std::string note; ///< how it was found if not by the whole name; or what else there is. Empty: nothing to say
};
WhereAnswer printWhere(const MapNames &names, llvm::StringRef what, bool full, bool json, llvm::raw_ostream &os);
/// All that is known of a written operator, given its index ("G:I" in subgraph
/// G) or the name of an output, or of a constant, given its name. `model` may
/// be null: then an operator's outputs are told by their names.
bool printFrom(const MapNames &names, const origin::ModelView *model, llvm::StringRef what, llvm::raw_ostream &os);

} // namespace origo::report
