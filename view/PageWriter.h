#pragma once

#include "view/Graphs.h"
#include "view/Page.h"

#include "origin/Fingerprint.h"
#include "report/origin/Words.h"
#include "report/viewer/Viewers.h"

#include "llvm/ADT/StringMap.h"

/// Writes columns rather than rows: they are smaller, and a browser reads them faster.
namespace origo::view {

class PageWriter {
public:
  explicit PageWriter(const PageContents &contents) : contents(contents), os(text) { strings.try_emplace("", 0); }
  std::string write();

private:
  const PageContents &contents;
  uint64_t elementsShown = 0;
  std::string text;
  llvm::raw_string_ostream os;
  llvm::StringMap<uint32_t> strings;
  std::vector<std::string> order;
  std::vector<std::pair<uint32_t, uint32_t>> scopes; ///< its text, and the number of the one around it, 0: none
  llvm::StringMap<uint32_t> scopeNumbers;            ///< from 1 on

  /// The innermost scope of a name; its own, if it has been met.
  uint32_t scopeOf(std::string_view name);
  uint32_t scopeNumber(const std::string &scope, uint32_t around);
  uint32_t id(llvm::StringRef item);

  template <class T, class F> void list(const T &items, F write) {
    os << '[';
    bool first = true;
    for (const auto &item : items) {
      if (!first)
        os << ',';
      first = false;
      write(item);
    }
    os << ']';
  }
  template <class T> void numbers(const T &items) {
    list(items, [&](auto item) { os << item; });
  }
  template <class T, class F> void column(llvm::StringRef name, const T &items, F write) {
    os << ",\n\"" << name << "\":";
    list(items, write);
  }
  /// Of numbers that mostly follow each other: each less the one before it.
  template <class T, class F> void steps(llvm::StringRef name, const T &items, F number) {
    int64_t last = 0;
    column(name, items, [&](const auto &item) {
      int64_t value = number(item);
      os << value - last;
      last = value;
    });
  }
  /// Of what few rows have: {"row":…}.
  template <class T, class Has, class Write> void rare(llvm::StringRef name, const T &items, Has has, Write write) {
    os << ",\n\"" << name << "\":{";
    bool first = true;
    size_t index = 0;
    for (const auto &item : items) {
      if (has(item)) {
        os << (first ? "\"" : ",\"") << index << "\":";
        first = false;
        write(item);
      }
      ++index;
    }
    os << '}';
  }
  /// Each as what it is more than the one before, which is shorter.
  template <class T> void steps(const T &items) {
    int64_t last = 0;
    list(items, [&](int64_t item) {
      os << item - last;
      last = item;
    });
  }

  // Graphs.
  /// Rows and places by node; from, to, number of places, places of edges that pass rows, where −1 places say that the
  /// page is to find them.
  void places(const Graph &graph, const JointLayout::Side &layout);
  void side(llvm::StringRef file, llvm::StringRef format, const std::vector<Graph> &graphs,
            const std::vector<origin::SourceSignature> &signatures, const PageModel *page,
            const origin::Listing *listing = nullptr);
  /// What a file says beside its graphs.
  void about(const PageModel &page);
  void operators(const Graph &graph);
  /// What exporters wrote of operators: the path of the layer, its class, and the lines of the user's that called it.
  void layers(const origin::Listing &listing, const std::vector<origin::SourceOperator> &ops);
  void tensors(const Graph &graph);
  /// The first elements of a constant, as the file has them.
  static llvm::ArrayRef<uint8_t> bytesShown(const Value &value, uint64_t elements);
  /// As many of each constant as Netron shows; where many are large, as many as a page has room for in all.
  uint64_t elementsThatFit(const std::vector<Graph> &graphs) const;
  /// The first elements of constants, and scales that are many.
  void values(const Graph &graph);
  /// By kind of operator, the names of its operands, and what its options are where a file does not say.
  void kinds();
  static std::string defaultText(const wire::Field &field);

  // What the origin map says.
  void writeMap(const origin::OriginMap &map);
  void rows(const report::MapNames &names, uint32_t index);
  /// Columns: is it a tensor, id, fate, first fate, pass, run, rewrite, operators and tensors it went into, other part.
  void ledger(const origin::OriginMap &map);

  // What was measured and checked.
  /// Figures as the command line prints them, digit for digit: text.
  void totals();
  /// Rows: label, how it was matched, subgraph, operators, nanoseconds, [source operator, nanoseconds, …], nanoseconds
  /// of no source operator, of no operator.
  void profiles();
  void errors();
  /// Rows: subgraph, operator or null, what, rule, expected, actual.
  void target();
  void proof();
};

} // namespace origo::view
