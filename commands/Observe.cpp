#include "commands/Observe.h"

#include "ir/text/Text.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/Path.h"

namespace origo::commands {

namespace json = llvm::json;

llvm::Expected<std::unique_ptr<Observer>> Observer::create(const ObserveOptions &options, Imported &imported,
                                                           const Door &door) {
  std::unique_ptr<Observer> observer(new Observer(options, imported, door));
  if (!options.trace.empty()) {
    auto file = OutputFile::open(options.trace);
    if (!file)
      return file.takeError();
    observer->traceFile = std::move(*file);
    observer->trace = std::make_unique<OutputStream>(*observer->traceFile);
  }
  if (!options.history.empty()) {
    if (imported.model->run != 0)
      return inFile(options.history, makeError(door.spell("history") +
                                               ": the input was rewritten before, so that its source is another "
                                               "file; begin with that one, or say " +
                                               door.spell("origin") + "=restart"));
    auto file = OutputFile::open(options.history);
    if (!file)
      return file.takeError();
    observer->historyFile = std::move(*file);
    observer->historyStream = std::make_unique<OutputStream>(*observer->historyFile);
    observer->history =
        std::make_unique<HistoryRecorder>(*imported.model, *imported.lineage.source, *observer->historyStream);
  }
  for (const std::string &name : options.printAfter)
    if (!findPass(name) && name != "remove-dead-code")
      return makeError(door.spell("print-after") + ": no such pass: \"" + printable(name) +
                       "\"; --list-passes tells the names");
  if (!options.explain.empty())
    if (llvm::Error error = observer->findExplained())
      return error;
  return observer;
}

/// The source operators that `explain` means: the one with this id, else all that make a tensor of this name.
llvm::Error Observer::findExplained() {
  const origin::Listing &source = *imported.lineage.source;
  uint32_t wanted, id = 0;
  bool isId = !llvm::StringRef(options.explain).getAsInteger(10, wanted);
  for (const origin::SourceSubgraph &graph : source.subgraphs)
    for (const origin::SourceOperator &op : graph.operators) {
      bool named = llvm::any_of(op.tensors, [&](int32_t tensor) {
        return tensor >= 0 && static_cast<uint32_t>(tensor) - graph.firstTensor < graph.tensors.size() &&
               graph.tensors[tensor - graph.firstTensor].name == options.explain;
      });
      if (isId ? id == wanted : named)
        explained.push_back(id);
      ++id;
    }
  attempts.resize(explained.size());
  if (explained.empty())
    return makeError(door.spell("explain") + ": the source has no operator \"" + printable(options.explain) +
                     "\"; origin-dump --json lists ids and names");
  return llvm::Error::success();
}

void Observer::attach(PipelineOptions &run) {
  if (trace || history || options.printChanged || !options.printAfter.empty())
    run.onRewrite = [this](const RewriteEvent &event) { onRewrite(event); };
  if (!explained.empty() || history)
    run.onAttempt = [this](const Operator &op, IdSet origins, const Pass &pass, const Rule &rule,
                           llvm::StringRef reason) { onAttempt(op, origins, pass, rule, reason); };
  if (options.stats || options.timePasses)
    run.statistics = &statistics;
}

static std::string validText(llvm::StringRef text) { return json::isUTF8(text) ? text.str() : json::fixUTF8(text); }

void Observer::writeTrace(const RewriteEvent &event) {
  Model &model = *imported.model;
  auto ids = [&](IdSet set) {
    json::Array array;
    model.sets.forEach(set, [&](uint32_t id) { array.push_back(id); });
    return array;
  };
  json::Array before, after;
  IdSet origins;
  for (const RewriteEvent::Before &op : event.before) {
    json::Object row{{"op", op.op}, {"output", validText(op.name)}, {"origins", ids(op.origins)}};
    if (op.kept)
      row["kept"] = true;
    before.push_back(std::move(row));
    origins = model.sets.join(origins, op.origins);
  }
  for (const Operator *op : event.created)
    after.push_back(json::Object{{"op", op->opName()},
                                 {"output", op->result() ? validText(op->result()->name) : ""},
                                 {"origins", ids(op->origins)}});
  json::Object line{{"number", event.number},
                    {"pass", event.pass},
                    {"rule", event.rule},
                    {"line", (llvm::sys::path::filename(event.where.file) + ":" + llvm::Twine(event.where.line)).str()},
                    {"before", std::move(before)},
                    {"after", std::move(after)},
                    {"origins", ids(origins)}};
  if (event.subgraph)
    line["subgraph"] = event.subgraph->index;
  if (event.value)
    line["value"] = validText(event.value->name);
  *trace << json::Value(std::move(line)) << '\n';
}

void Observer::onRewrite(const RewriteEvent &event) {
  if (trace)
    writeTrace(event);
  if (history)
    history->record(event);
  if (options.printChanged || llvm::is_contained(options.printAfter, event.pass)) {
    llvm::errs() << "; after rewrite " << event.number << " (" << event.pass << ")\n";
    PrintOptions print;
    print.origins = true;
    printText(*imported.model, llvm::errs(), print);
    llvm::errs() << '\n';
  }
}

void Observer::onAttempt(const Operator &op, IdSet origins, const Pass &pass, const Rule &rule,
                         llvm::StringRef reason) {
  if (history && !reason.empty())
    history->declined(op, pass, rule, reason);
  for (auto [id, list] : llvm::zip(explained, attempts)) {
    if (!imported.model->sets.contains(origins, id))
      continue;
    auto same = llvm::find_if(list, [&](const Attempt &a) {
      return a.pass == pass.name && a.rule == rule.name && a.reason == reason && a.op == op.opName();
    });
    if (same == list.end())
      list.push_back({pass.name, rule.name, reason.str(), op.opName(), 1});
    else
      ++same->times;
  }
}

void Observer::printStatistics(llvm::raw_ostream &os) const {
  os << llvm::left_justify("PASS / RULE", 44) << "    TRIED  APPLIED       MS\n";
  for (const RuleStatistics &s : statistics) {
    os << llvm::left_justify((s.pass + " / " + s.rule).str(), 44)
       << llvm::format(" %8llu %8llu %8.2f\n", (unsigned long long)s.tried, (unsigned long long)s.applied,
                       s.seconds * 1e3);
    for (const auto &[reason, times] : s.declined)
      os << llvm::format("    %8llu  ", (unsigned long long)times) << reason << '\n';
  }
}

void Observer::printTimes(llvm::raw_ostream &os) const {
  llvm::StringMap<double> seconds;
  double total = 0;
  for (const RuleStatistics &s : statistics) {
    seconds[s.pass] += s.seconds;
    total += s.seconds;
  }
  os << llvm::left_justify("PASS", 32) << "      MS      %\n";
  for (const Pass &pass : allPasses())
    if (auto it = seconds.find(pass.name); it != seconds.end())
      os << llvm::left_justify(pass.name, 32)
         << llvm::format("%8.2f %6.1f\n", it->second * 1e3, total > 0 ? it->second / total * 100 : 0.0);
  os << llvm::left_justify("all", 32) << llvm::format("%8.2f\n", total * 1e3);
}

void Observer::printExplained(llvm::raw_ostream &os) const {
  for (auto [id, list] : llvm::zip(explained, attempts)) {
    os << "source operator " << id << ":\n";
    if (list.empty())
      os << "  no rewrite looked at it\n";
    for (const Attempt &a : list) {
      os << "  " << a.pass << " / " << a.rule << " at " << a.op;
      if (a.reason.empty())
        os << ": applied";
      else
        os << ": declined, " << a.reason;
      if (a.times > 1)
        os << " (" << a.times << " times)";
      os << '\n';
    }
  }
}

llvm::Error Observer::commitTrace() {
  if (!trace)
    return llvm::Error::success();
  trace.reset(); // flushes
  if (llvm::Error error = traceFile->finish())
    return error;
  return OutputFile::commit({traceFile.get()});
}

Observer::~Observer() {
  if (trace && trace->tell())
    llvm::consumeError(commitTrace());
}

llvm::Error Observer::finish(llvm::raw_ostream &os) {
  if (llvm::Error error = commitTrace())
    return error;
  if (options.stats)
    printStatistics(os);
  if (options.timePasses)
    printTimes(os);
  if (!explained.empty())
    printExplained(os);
  if (!history)
    return llvm::Error::success();
  history->finish();
  historyStream->flush();
  if (llvm::Error error = historyFile->finish())
    return error;
  return OutputFile::commit({historyFile.get()});
}

} // namespace origo::commands
