#pragma once

#include "origin/Laws.h"
#include "origin/OriginMap.h"
#include "origin/check/Graph.h"
#include "origin/check/Violation.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Twine.h"

/// What the parts of the checker share.
namespace origo::origin {

/// Collects violations. A map that is wrong everywhere would fill the memory with text, so that only the first ones of
/// each law are put into words; the rest are counted.
class Report {
public:
  explicit Report(std::vector<Violation> &violations) : violations(violations) {}
  template <class F> void add(int law, F words, int64_t written = -1) {
    if (++counts[law] <= shown)
      violations.push_back({law, words(), written});
  }
  void finish();
  bool clean(int law) const { return counts[law] == 0; }

private:
  static constexpr uint64_t shown = 100;
  std::vector<Violation> &violations;
  uint64_t counts[12] = {};
};

struct CheckContext {
  CheckContext(const OriginMap &map, const FileGraph &target, const FileGraph *source, Report &report);

  const OriginMap &map;
  const FileGraph &target;
  /// Null where the source is not given or is not the file that the map lists: ids would mean something else in it.
  const FileGraph *source;
  Report &report;

  uint32_t sourceOperators, sourceTensors;  ///< by the listing
  std::vector<int32_t> sourceProducer;      ///< by source tensor id, from the listing: operator id or −1
  std::vector<TensorKind> sourceKind;       ///< by source tensor id, from the listing
  std::vector<const TensorRow *> tensorRow; ///< by tensor id of the written file; null: no row
  std::vector<const OperatorRow *> operatorRow;
  std::vector<bool> liveOperator, liveTensor;        ///< carried by a row of the written file
  std::vector<int32_t> operatorLedger, tensorLedger; ///< row of the ledger or −1

  /// Did all runs tell what the laws are asked of? They are asked of all maps: whoever writes a map writes this too.
  bool allTold() const {
    return map.target.laws >= allLaws &&
           llvm::all_of(map.chain, [](const ChainEntry &entry) { return entry.laws >= allLaws; });
  }
  /// Was the map found, and not kept by who wrote the file? Then it may say that something is not known.
  bool inferred() const { return !map.target.inferred.empty(); }
  /// Somewhere on the way, so that what was not known then is not known now.
  bool inferredOnce() const {
    return inferred() || llvm::any_of(map.chain, [](const ChainEntry &entry) { return !entry.inferred.empty(); });
  }
  /// Which lineage of an operand does a lineage of its user use?
  uint32_t lineageUsed(uint32_t user, uint32_t lineage, unsigned operand) const {
    const OperatorRow *row = operatorRow[user];
    if (!row || lineage >= row->lineages.size() || operand >= row->lineages[lineage].operands.size())
      return 0;
    return row->lineages[lineage].operands[operand];
  }
  bool knownOperator(uint32_t id) const { return id < sourceOperators; }
  bool knownTensor(uint32_t id) const { return id < sourceTensors; }
  const MapLedgerRow *ledgerOfOperator(uint32_t id) const {
    return operatorLedger[id] < 0 ? nullptr : &map.ledger[operatorLedger[id]];
  }

  // Words.
  std::string sourceOperator(uint32_t id) const; ///< source operator 3 (CONV_2D "conv1")
  std::string sourceTensor(uint32_t id) const;   ///< source tensor 12 "conv1"
  std::string
  writtenOperator(uint32_t op) const; ///< operator 3 (CONV_2D "conv1"), of which subgraph if there are several
  std::string writtenTensor(uint32_t tensor) const;
  std::string ledgerSubject(const MapLedgerRow &row) const;
};

/// Untrusted text for one line: escaped and cut.
std::string quoted(std::string_view text);
/// A list that may hold `id`; binary search where the list is ascending, as it should be.
bool holds(llvm::ArrayRef<uint32_t> ascending, uint32_t id);

void checkRows(CheckContext &context); ///< laws 1 to 3
/// Laws 2 and 8. What is bound is a constant of the source from then on.
void checkBound(CheckContext &context, FileGraph *source);
void checkListings(CheckContext &context, const FileGraph *source); ///< law 4
void checkCosts(CheckContext &context);                             ///< law 4, of source operators
void checkProducers(CheckContext &context);                         ///< law 6
void checkParents(CheckContext &context);                           ///< law 7
void checkLedger(CheckContext &context);                            ///< law 8, first half
void checkRelations(CheckContext &context);                         ///< law 8, second half
void checkExact(CheckContext &context);                             ///< law 8, on what is exact
void checkIdentity(CheckContext &context);                          ///< law 9
void checkNeighbours(CheckContext &context);                        ///< law 11
void checkInferred(CheckContext &context);                          ///< law 8, of maps that were found
void checkLiving(CheckContext &context);                            ///< law 10

} // namespace origo::origin
