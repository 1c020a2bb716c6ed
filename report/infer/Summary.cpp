#include "report/infer/Infer.h"

#include "llvm/Support/Format.h"

namespace origo::report {

static std::string count(const char *what, const InferCoverage::Count &count) {
  std::string text;
  llvm::raw_string_ostream os(text);
  os << count.related << " of " << count.all << ' ' << what << " related, " << count.proved << " proved, "
     << count.ambiguous << " ambiguous, " << count.unknown << " unknown";
  return text;
}

static std::string sourceName(const origin::OriginMap &map, int32_t id) {
  const origin::SourceOperator *op = id < 0 ? nullptr : map.source.findOperator(static_cast<uint32_t>(id));
  if (!op)
    return "no operator of the source in particular";
  std::string text = "source operator " + std::to_string(id) + " (" + printable(op->op);
  if (std::string_view name = map.source.nameOf(*op); !name.empty())
    text += " \"" + printable(llvm::StringRef(name), 120) + '"';
  return text + ")";
}

std::string summaryOf(const Inferred &made) {
  const InferCoverage &coverage = made.coverage;
  std::string text;
  llvm::raw_string_ostream os(text);
  os << count("operators", coverage.operators) << "; " << count("tensors", coverage.tensors) << "; "
     << count("constants", coverage.constants) << '\n';
  if (!made.first)
    return text;
  os << "operator " << made.first->index << " is the first that " << made.first->why << ": it should be "
     << sourceName(made.map, made.first->sourceOperator);
  if (made.first->off > 0)
    os << ", and is off by " << llvm::format("%.3g", made.first->off) << " of "
       << llvm::format("%.3g", made.first->range);
  os << '\n';
  return text;
}

} // namespace origo::report
