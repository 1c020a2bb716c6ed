#include "commands/RunProfile.h"

#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/JSON.h"

#include <unistd.h>

/// What ran when, as Chrome's trace format has it.
namespace origo::commands {

namespace json = llvm::json;

namespace {

std::string asUtf8(std::string text) { return json::isUTF8(text) ? text : json::fixUTF8(text); }

/// The clock is CLOCK_MONOTONIC, so that samples of others can be laid beside it.
double stamp(RunProfile::Clock::time_point at) {
  return std::chrono::duration<double, std::micro>(at.time_since_epoch()).count();
}

class Trace {
public:
  Trace(json::OStream &out, const RunProfile &profile, const eval::Session &session)
      : out(out), profile(profile), helpers(session.helpers()) {
    for (const Operator *op : session.coverage().reference)
      byReference.insert(op);
  }

  void head() {
    name("process_name", process, process, "the network");
    name("thread_name", process, main, "operators");
    for (size_t i = 0; i < helpers.size(); ++i)
      name("thread_name", process, helpers[i], "helps " + std::to_string(i + 1));
    name("process_name", source, source, "source");
    name("thread_name", source, source, "layers");
  }

  void add(const eval::Timed &timed) {
    const Operator &op = timed.op;
    std::vector<uint32_t> ids;
    op.subgraph()->model().sets.forEach(op.origins, [&](uint32_t id) { ids.push_back(id); });
    event("X", op.opName(), "operator", process, main, stamp(timed.begin), [&] {
      out.attribute("dur", stamp(timed.end) - stamp(timed.begin));
      out.attributeObject("args", [&] { describe(op, ids); });
    });
    for (int helper : timed.onAllThreads ? llvm::ArrayRef<int>(helpers) : llvm::ArrayRef<int>())
      event("X", op.opName(), "operator.part", process, helper, stamp(timed.begin), [&] {
        out.attribute("dur", stamp(timed.end) - stamp(timed.begin));
        out.attributeObject("args", [&] { describe(op, {}); });
      });
    event("C", "live memory", "memory", process, main, stamp(timed.begin),
          [&] { out.attributeObject("args", [&] { out.attribute("bytes", static_cast<int64_t>(timed.liveBytes)); }); });
    if (timed.end > timed.begin)
      addLayers(timed, ids);
  }

private:
  json::OStream &out;
  const RunProfile &profile;
  const std::vector<int> helpers; ///< threads
  llvm::DenseSet<const Operator *> byReference;
  const int process = ::getpid(), main = ::gettid();
  static constexpr int source = 1 << 22; ///< no process has that number
  int64_t flows = 0;

  template <class More>
  void event(const char *phase, llvm::StringRef name, const char *category, int pid, int tid, double at, More more) {
    out.object([&] {
      out.attribute("name", asUtf8(name.str()));
      out.attribute("cat", category);
      out.attribute("ph", phase);
      out.attribute("pid", pid);
      out.attribute("tid", tid);
      out.attribute("ts", at);
      more();
    });
  }
  void name(const char *what, int pid, int tid, llvm::StringRef name) {
    event("M", what, "__metadata", pid, tid, 0,
          [&] { out.attributeObject("args", [&] { out.attribute("name", name); }); });
  }
  void describe(const Operator &op, llvm::ArrayRef<uint32_t> ids) {
    out.attribute("subgraph", op.subgraph()->index);
    out.attribute("operator", op.index);
    const auto *named = llvm::find_if(op.results(), [](const Value *v) { return v && !v->name.empty(); });
    out.attribute("output", named == op.results().end() ? "" : asUtf8(llvm::StringRef((*named)->name).str()));
    if (byReference.contains(&op))
      out.attribute("kernel", "reference");
    if (ids.empty())
      return;
    json::Array names;
    for (uint32_t id : ids)
      names.push_back(asUtf8(profile.sourceWords(id)));
    out.attribute("origins", json::Array(ids));
    out.attribute("sources", std::move(names));
  }
  /// Equal parts of the operator's time, since nobody has measured those of layers. What calls subgraphs is around
  /// theirs, so that it is one.
  void addLayers(const eval::Timed &timed, llvm::ArrayRef<uint32_t> ids) {
    double begin = stamp(timed.begin), end = stamp(timed.end);
    if (!timed.op.callees().empty())
      ids = ids.take_front(1);
    for (size_t i = 0; i < ids.size(); ++i) {
      auto at = [&](size_t part) { return begin + (end - begin) * double(part) / double(ids.size()); };
      std::string words = profile.sourceWords(ids[i]);
      event("X", words, "source.layer", source, source, at(i), [&] {
        out.attribute("dur", at(i + 1) - at(i));
        out.attributeObject("args", [&] { out.attribute("source", ids[i]); });
      });
      ++flows;
      event("s", words, "source.layer", source, source, at(i), [&] { out.attribute("id", flows); });
      event("f", words, "source.layer", process, main, at(i), [&] {
        out.attribute("bp", "e"); // the operator that it lies in, not the next one
        out.attribute("id", flows);
      });
    }
  }
};

} // namespace

void RunProfile::writeTrace(llvm::raw_ostream &os, const eval::Session &session, llvm::StringRef model) const {
  json::OStream out(os);
  out.object([&] {
    out.attribute("displayTimeUnit", "ms");
    out.attributeObject("otherData", [&] {
      out.attribute("clock", "CLOCK_MONOTONIC");
      out.attribute("model", asUtf8(model.str()));
    });
    out.attributeArray("traceEvents", [&] {
      Trace trace(out, *this, session);
      trace.head();
      for (const eval::Timed &timed : events)
        trace.add(timed);
    });
  });
  os << '\n';
}

} // namespace origo::commands
