#include "ir/text/Origins.h"

#include "ir/text/Lexer.h"
#include "ir/text/Text.h"

#include "llvm/ADT/STLExtras.h"

#include <charconv>

namespace origo {
namespace text {

using llvm::StringRef;

void printIds(llvm::raw_ostream &os, const IdSets &sets, IdSet set) {
  os << '{';
  StringRef separator = "";
  uint32_t begin = 0, end = 0; // the run that is being collected
  auto flush = [&] {
    if (begin == end)
      return;
    os << separator << begin;
    if (end - begin == 2)
      os << ", " << end - 1;
    else if (end - begin > 2)
      os << ".." << end - 1;
    separator = ", ";
  };
  sets.forEach(set, [&](uint32_t id) {
    if (id != end || begin == end) {
      flush();
      begin = id;
    }
    end = id + 1;
  });
  flush();
  os << '}';
}

static void printIntegers(llvm::raw_ostream &os, llvm::ArrayRef<int64_t> items) {
  os << '[';
  llvm::interleaveComma(items, os);
  os << ']';
}

static void printLabel(llvm::raw_ostream &os, const Value &value) {
  os << '%';
  if (isPlainName(value.name))
    os << value.name;
  else if (!value.name.empty())
    printQuoted(os, value.name);
  else
    os << '#' << value.index;
}

static void printTerm(llvm::raw_ostream &os, StringRef name, const Step::Term &term) {
  if (term.kind == Step::Term::None)
    return;
  os << ' ' << name << '=';
  if (term.kind == Step::Term::Constant && term.constant) {
    printLabel(os, *term.constant);
    return;
  }
  if (term.kind == Step::Term::Source) {
    os << "source " << term.tensor;
    return;
  }
  char buffer[40];
  os << StringRef(buffer, std::to_chars(buffer, buffer + sizeof(buffer), term.number).ptr - buffer);
}

static void printStep(llvm::raw_ostream &os, const Step &step) {
  static constexpr StringRef names[] = {"permute", "reshape", "slice",    "placed",
                                        "cast",    "affine",  "quantize", "scaled"};
  os << ' ' << names[step.kind];
  if (!step.first.empty()) {
    os << ' ';
    printIntegers(os, step.first);
  }
  if (!step.second.empty()) {
    os << ' ';
    printIntegers(os, step.second);
  }
  if (step.kind == Step::Scaled) {
    os << " axis=" << step.axis << " by [";
    char buffer[40];
    for (auto [i, factor] : llvm::enumerate(step.factors))
      os << (i ? ", " : "") << StringRef(buffer, std::to_chars(buffer, buffer + sizeof(buffer), factor).ptr - buffer);
    os << ']';
  }
  if (step.kind == Step::Affine) {
    if (step.axis >= 0)
      os << " axis=" << step.axis;
    printTerm(os, "scale", step.scale);
    printTerm(os, "shift", step.shift);
  }
}

/// `is 12`, `near 12 permute [0, 3, 1, 2]`, or the reason why there is no relation.
static void printRelations(llvm::raw_ostream &os, const Value &value, const Taint &taint) {
  StringRef separator = "";
  for (const Relation &relation : value.relations) {
    os << separator << (taint.exact(value, relation) ? "is " : "near ") << relation.tensor;
    for (const Step &step : value.subgraph()->model().steps.get(relation.steps))
      printStep(os, step);
    separator = ", ";
  }
  if (value.relations.empty() && value.noRelation != NoRelation::None)
    os << noRelationName(value.noRelation);
}

static bool hasRelations(const Value &value) {
  return !value.relations.empty() || value.noRelation != NoRelation::None;
}

void printOrigins(llvm::raw_ostream &os, const Operator &op, const Taint &taint) {
  Model &model = op.subgraph()->model();
  StringRef separator = "";
  if (op.synthetic) {
    os << "synthetic " << op.synthetic->reason << " for ";
    printIds(os, model.sets, op.synthetic->serves);
    separator = "; ";
  } else if (!op.origins.empty()) {
    os << "from ";
    printIds(os, model.sets, op.origins);
    separator = "; ";
  }
  if (auto passes = model.passLists.get(op.passes); !passes.empty()) {
    os << " by ";
    llvm::interleaveComma(passes, os);
  }
  if (!op.calls.empty()) {
    os << " called from ";
    printIds(os, model.sets, op.calls);
  }
  if (!op.wide().empty())
    os << " wide " << op.wide();
  if (op.inexact)
    os << " inexact";
  for (const Value *result : op.results())
    if (result && hasRelations(*result)) {
      os << separator;
      printRelations(os, *result, taint);
      separator = "; ";
    }
}

void printOrigins(llvm::raw_ostream &os, const Value &value, const Taint &taint) {
  Model &model = value.subgraph()->model();
  StringRef separator = "";
  auto part = [&](StringRef name, IdSet set) {
    if (set.empty())
      return;
    os << separator << name << ' ';
    printIds(os, model.sets, set);
    separator = " ";
  };
  part("from constants", value.sourceTensors);
  part("operators", value.sourceOperators);
  if (!value.synthetic().empty()) {
    os << separator << "synthetic " << value.synthetic();
    separator = " ";
  }
  if (hasRelations(value)) {
    os << (separator.empty() ? "" : "; ");
    printRelations(os, value, taint);
  }
}

} // namespace text

void printLedger(Model &model, llvm::raw_ostream &os) {
  model.sortUnneeded();
  auto firstUnneeded = [&](const LedgerRow &row) {
    return llvm::partition_point(model.unneeded, [&](const Unneeded &item) {
      return std::pair(item.ofTensor, item.id) < std::pair(row.isTensor, row.id);
    });
  };
  llvm::SmallVector<std::pair<bool, uint32_t>> lost;
  model.ledger(lost, [&](const LedgerRow &row) {
    os << "; " << (row.isTensor ? "tensor " : "operator ") << row.id << ' ' << fateName(row.fate);
    if (row.was != Fate::Unknown)
      os << " was " << fateName(row.was);
    if (!row.with.empty()) {
      os << " with ";
      text::printIds(os, model.sets, row.with);
    }
    if (!row.pass.empty())
      os << " by " << row.pass;
    llvm::StringRef separator = " into ";
    auto into = [&](const Subgraph &graph) {
      os << separator;
      if (model.subgraphs.size() > 1)
        os << "@#" << graph.index << ' ';
      separator = ", ";
    };
    for (const Operator *op : row.operators) {
      into(*op->subgraph());
      os << op->opName();
      if (const Value *result = op->result()) {
        os << ' ';
        text::printLabel(os, *result);
      }
    }
    for (const Value *value : row.values) {
      into(*value->subgraph());
      text::printLabel(os, *value);
    }
    for (auto item = firstUnneeded(row);
         item != model.unneeded.end() && item->ofTensor == row.isTensor && item->id == row.id; ++item)
      os << ", not needed as operand " << item->position << " of operator " << item->user << ": "
         << unneededName(item->reason);
    os << '\n';
  });
  for (auto [isTensor, id] : lost)
    os << "; LOST " << (isTensor ? "tensor " : "operator ") << id << '\n';
}

} // namespace origo
