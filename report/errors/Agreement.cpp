#include "report/errors/Agreement.h"

#include "ir/Printable.h"
#include "report/Columns.h"
#include "report/Scopes.h"

#include "llvm/Support/Format.h"
#include "llvm/Support/JSON.h"

#include <map>

namespace origo::report {

namespace {

struct AgreementLine {
  ScopeLine key;
  const ErrorRow *worst = nullptr;
  double off = 0; ///< the worst, in parts of its range
  size_t tensors = 0, agree = 0;
};

struct Agreement {
  std::vector<AgreementLine> lines;
  size_t tensors = 0, agree = 0, alone = 0; ///< alone: nothing of the other model stands for it
  const ErrorRow *first = nullptr;          ///< that does not agree
};

/// In parts of the range; infinite where a number is finite in one of the two only.
double offOf(const ErrorRow &row) {
  ErrorFigures figures = row.total.figures(row.scale);
  if (row.total.odd)
    return INFINITY;
  return figures.overRange  ? *figures.overRange
         : figures.max == 0 ? 0
                            : figures.max / std::max(std::fabs(row.total.high), figures.max);
}

Agreement agreementOf(const ErrorReport &report, AgreementBy by) {
  Agreement made;
  Scopes scopes;
  for (const ErrorRow &row : report.rows)
    scopes.add(layerNameOf(report, *row.value));
  std::map<std::string, size_t> known;
  for (const ErrorRow &row : report.rows) {
    if (!row.value->producer())
      continue;
    if (!row.unmeasured.empty() || row.recovered) {
      ++made.alone;
      continue;
    }
    double off = offOf(row);
    bool agrees = off <= agreementBound;
    ++made.tensors;
    made.agree += agrees;
    if (!agrees && !made.first)
      made.first = &row;
    std::vector<ScopeLine> keys;
    if (by == AgreementBy::Scope)
      keys = scopes.linesOf(layerNameOf(report, *row.value));
    else
      keys = {{1, by == AgreementBy::Operator ? std::string(row.value->name.text())
                                              : lineOf(report, *row.value, by == AgreementBy::File)}};
    for (ScopeLine &key : keys) {
      if (key.key.empty() && by != AgreementBy::Operator)
        key.key = "(no line)";
      // Operators without a name are not one.
      size_t at =
          by == AgreementBy::Operator ? made.lines.size() : known.try_emplace(key.key, made.lines.size()).first->second;
      if (at == made.lines.size())
        made.lines.push_back({key});
      AgreementLine &line = made.lines[at];
      ++line.tensors;
      line.agree += agrees;
      if (!line.worst || off > line.off) {
        line.worst = &row;
        line.off = off;
      }
    }
  }
  return made;
}

std::string offText(double off) {
  std::string text;
  llvm::raw_string_ostream(text) << llvm::format("%.2g", off);
  return text;
}

} // namespace

void printAgreement(const ErrorReport &report, AgreementBy by, llvm::raw_ostream &os) {
  Agreement made = agreementOf(report, by);
  static constexpr const char *heads[] = {"TENSOR", "SCOPE", "LINE", "FILE"};
  bool each = by == AgreementBy::Operator;
  Cells head{heads[size_t(by)]};
  llvm::append_range(head, each ? Cells{"OPERATOR", "OFF", ""} : Cells{"TENSORS", "AGREE", "OFF", "WORST"});
  printColumns(
      head, made.lines.size(),
      [&](size_t i) {
        const AgreementLine &line = made.lines[i];
        std::string name = std::string(2 * (line.key.level - 1), ' ') + shortName(line.key.key, 60);
        if (each)
          return Cells{name, printable(line.worst->value->producer()->opName(), 40), offText(line.off),
                       line.agree ? "" : "parts"};
        return Cells{name, std::to_string(line.tensors), std::to_string(line.agree), offText(line.off),
                     shortName(line.worst->value->name.text(), 60)};
      },
      os, each ? llvm::ArrayRef<size_t>{2} : llvm::ArrayRef<size_t>{1, 2, 3});
  os << made.agree << " of " << made.tensors << " tensors agree within " << llvm::format("%g", agreementBound)
     << " of their range";
  if (made.alone)
    os << "; nothing stands for " << made.alone << " more";
  os << '\n';
  if (!made.first)
    return;
  std::string line = lineOf(report, *made.first->value);
  os << "the first that parts is " << printable(made.first->value->name, 200) << " ("
     << printable(made.first->value->producer()->opName(), 40) << (line.empty() ? "" : ", " + line) << "), off by "
     << offText(offOf(*made.first)) << " of its range\n";
}

void printAgreementJson(const ErrorReport &report, AgreementBy by, llvm::StringRef pairing, llvm::raw_ostream &os) {
  Agreement made = agreementOf(report, by);
  auto text = [](llvm::StringRef name) { return llvm::json::fixUTF8(name); };
  auto finite = [](double off) { return std::isfinite(off) ? llvm::json::Value(off) : llvm::json::Value(nullptr); };
  llvm::json::OStream out(os, 1);
  out.object([&] {
    out.attribute("bound", agreementBound);
    out.attribute("tensors", static_cast<int64_t>(made.tensors));
    out.attribute("agree", static_cast<int64_t>(made.agree));
    out.attribute("alone", static_cast<int64_t>(made.alone));
    if (!pairing.empty())
      out.attribute("pairing", text(pairing.rtrim()));
    if (made.first)
      out.attributeObject("first", [&] {
        out.attribute("name", text(made.first->value->name.text()));
        out.attribute("line", text(lineOf(report, *made.first->value)));
        out.attribute("off", finite(offOf(*made.first)));
      });
    else
      out.attribute("first", nullptr);
    out.attributeArray("rows", [&] {
      for (const AgreementLine &line : made.lines)
        out.object([&] {
          out.attribute("name", text(line.key.key));
          out.attribute("level", line.key.level);
          out.attribute("tensors", static_cast<int64_t>(line.tensors));
          out.attribute("agree", static_cast<int64_t>(line.agree));
          out.attribute("off", finite(line.off));
          out.attribute("worst", text(line.worst->value->name.text()));
        });
    });
  });
  os << '\n';
}

} // namespace origo::report
