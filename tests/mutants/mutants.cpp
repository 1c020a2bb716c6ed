#include "Mutants.h"

#include "commands/Files.h"
#include "export/Export.h"
#include "import/Import.h"
#include "ir/Verifier.h"
#include "origin/check/Check.h"
#include "origin/codec/Json.h"
#include "origin/codec/OriginFile.h"
#include "tests/GoldenCases.h"
#include "tests/RealModels.h"
#include "tools/Driver.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/MemoryBuffer.h"

#include <bitset>
#include <cstdlib>
#include <map>

/// Puts faults into the provenance of every model (public ones where ORIGO_MODELS says where they are, else those that
/// tests/networks/ makes) in which rewrites fire, one a run, and lets the checks judge what is
/// written: the verifier, the outside checker's laws, and the golden texts and maps. A fault that none of them sees and
/// that the side file shows is a survivor, and fails the test.
///
///     mutants                    four faults of each kind a model
///     mutants N                  N of each kind
///     mutants N MODEL KIND       only those, each in a line with what saw it
///
/// With ORIGO_BLESS=1 in the environment the maps in tests/golden/maps are rewritten.

using namespace origo;
using mutation::Kind;
using mutation::kinds;

namespace {

constexpr uint64_t largestFile = 1 << 20; ///< of the models that are swept

// What can see a fault. Laws are 1 to 10.
enum Judge : unsigned { Verifier = 0, Reader = 11, OneTables, Golden, judges };
using Verdict = std::bitset<judges>;

bool byLaw(const Verdict &verdict) {
  for (unsigned law = 1; law <= 10; ++law)
    if (verdict[law])
      return true;
  return false;
}

/// A model in which rewrites fire.
struct Subject {
  std::string name;
  Pipeline pipeline;
  std::string path;       ///< of the model file or text; empty: `text`
  std::string text;       ///< a golden case
  std::string source;     ///< what the laws are checked against: a model file
  std::string goldenText; ///< expected text; empty: none
  bool goldenMap = false; ///< expected map in tests/golden/maps
  bool isSwept = false;   ///< one of the models that are swept, not of res/ or tests/golden
  std::string core;       ///< of the side file without a fault
  std::array<unsigned, kinds> opportunities{};
};

struct Outcome {
  Verdict seen;
  std::string core;
  std::string text;  ///< of a golden case
  std::string words; ///< the first complaint
};

std::string scratch;

/// The part of a side file that two ways to the same model have in common, without the listing of the source.
std::string coreOf(origin::OriginMap map) {
  map.generator.clear();
  map.source.file.clear();
  map.target.file.clear();
  map.source.subgraphs.clear();
  map.source.signatures.clear();
  map.chain.clear();
  for (origin::MapLedgerRow &row : map.ledger)
    row.run = row.rewrite = 0;
  // What gives the same bytes may be told in another way; that it gives them, proofs show. And what is inexact already
  // says nothing to anybody but a later run of how it became so.
  for (origin::TargetSubgraph &graph : map.target.subgraphs)
    for (origin::TensorRow &row : graph.tensors) {
      row.expression.clear();
      for (origin::MapRelation &relation : row.relations)
        relation.inherited = false;
    }
  std::string text;
  llvm::raw_string_ostream os(text);
  origin::writeJson(map, os);
  return text;
}

llvm::Expected<Imported> load(const Subject &subject, PayloadStore &store) {
  if (!subject.path.empty())
    return tools::load(subject.path, {OriginMode::Restart, nullptr}, store);
  llvm::Expected<std::unique_ptr<Model>> model = parseText(subject.text, test::goldenFolder(), store);
  return model ? commands::asOwnSource(std::move(*model)) : model.takeError();
}

/// What ONE's table in the file says of subgraph 0 is what the map says.
bool oneTablesAgree(const origin::ModelFile &file, const origin::OriginMap &map) {
  auto source = file.metadata(origin::oneSourceTable), op = file.metadata(origin::oneOpTable);
  if (!source || !op || map.target.subgraphs.empty())
    return false;
  auto tables = origin::decodeOneTables(*source, *op);
  if (!tables) {
    llvm::consumeError(tables.takeError());
    return false;
  }
  llvm::ArrayRef<origin::OperatorRow> rows = map.target.subgraphs.front().operators;
  size_t withIds = 0;
  for (const origin::OperatorRow &row : rows)
    withIds += !row.origins.empty() || !row.serves.empty();
  if (tables->operators.size() != withIds)
    return false;
  for (const auto &[index, ids] : tables->operators)
    if (index >= rows.size() || ids != (rows[index].origins.empty() ? rows[index].serves : rows[index].origins))
      return false;
  return true;
}

/// Judges the written file by its bytes and those of the source.
void judgeFile(const Subject &subject, const std::string &path, Outcome &outcome) {
  auto see = [&](unsigned judge, const std::string &words) {
    outcome.seen.set(judge);
    if (outcome.words.empty())
      outcome.words = words;
  };
  auto side = llvm::MemoryBuffer::getFile(path + ".origin.json");
  if (!side)
    return see(Reader, side.getError().message());
  auto map = origin::readJson((*side)->getBuffer());
  if (!map) {
    outcome.core = (*side)->getBuffer().str();
    see(Reader, llvm::toString(map.takeError()));
  } else {
    outcome.core = coreOf(std::move(*map));
  }
  auto file = origin::openOriginFile(path, "", /*acceptStale=*/true);
  if (!file)
    return see(Reader, llvm::toString(file.takeError()));
  if (!file->map)
    return see(Reader, "there is no map");
  auto source = origin::ModelFile::open(subject.source);
  if (!source)
    return see(Reader, llvm::toString(source.takeError()));
  std::vector<std::string> skipped;
  for (const origin::Violation &violation : origin::check(*file->map, file->model->view(), &(*source)->view(), skipped))
    see(violation.law, "law " + std::to_string(violation.law) + ": " + violation.text);
  if (!oneTablesAgree(*file->model, *file->map))
    see(OneTables, "ONE_op_table is not what the map says");
}

/// Imports, rewrites with at most one fault, exports and judges.
llvm::Expected<Outcome> runOnce(const Subject &subject, std::optional<mutation::Plan> plan) {
  mutation::start(plan);
  Outcome outcome;
  PayloadStore store(scratch);
  llvm::Expected<Imported> imported = load(subject, store);
  if (!imported)
    return imported.takeError();
  Model &model = *imported->model;
  auto verifyNow = [&] {
    std::vector<std::string> violations = verify(model);
    if (violations.empty() || outcome.seen[Verifier])
      return;
    outcome.seen.set(Verifier);
    outcome.words = "verifier: " + violations.front();
  };
  PipelineOptions options;
  options.verifyEach = !plan;
  // What is lost is lost in the rewrite that has the fault, and stays so: that rewrite and the end are looked at.
  options.onRewrite = [&, looked = false](const RewriteEvent &) mutable {
    if (!looked && !mutation::done().empty()) {
      looked = true;
      verifyNow();
    }
  };
  if (llvm::Error error = runPipeline(model, subject.pipeline, store, options))
    return error;
  verifyNow();
  if (!subject.goldenText.empty()) {
    outcome.text = test::printed(model);
    llvm::raw_string_ostream os(outcome.text);
    printLedger(model, os);
    if (outcome.text != subject.goldenText)
      outcome.seen.set(Golden);
  }
  std::string path = scratch + (model.format == Format::Tflite ? "/written.tflite" : "/written.circle");
  if (model.rewrites || plan) {
    if (llvm::Error error =
            exportModel(model, imported->lineage, path, {model.format, origin::Embed::Full, path + ".origin.json"}))
      return error;
    judgeFile(subject, path, outcome);
  }
  return outcome;
}

/// Runs without a fault. False: no rewrite fires, or the model is refused.
bool prepare(Subject &subject, unsigned &failures) {
  PayloadStore store(scratch);
  llvm::Expected<Imported> imported = load(subject, store);
  if (!imported) {
    llvm::consumeError(imported.takeError());
    return false;
  }
  subject.source = subject.path;
  if (subject.path.empty() || llvm::StringRef(subject.path).ends_with(".origo")) {
    subject.source = scratch + "/" + llvm::join(llvm::split(subject.name, '/'), "_") +
                     (imported->model->format == Format::Tflite ? ".tflite" : ".circle");
    if (llvm::Error error = exportModel(*imported->model, imported->lineage, subject.source,
                                        {imported->model->format, origin::Embed::None, std::nullopt})) {
      llvm::consumeError(std::move(error));
      return false;
    }
  }
  imported = load(subject, store);
  mutation::start(std::nullopt);
  if (llvm::Error error = runPipeline(*imported->model, subject.pipeline, store)) {
    llvm::consumeError(std::move(error));
    return false;
  }
  if (imported->model->rewrites == 0)
    return false;
  llvm::Expected<Outcome> outcome = runOnce(subject, std::nullopt);
  if (!outcome) {
    llvm::errs() << subject.name << ": " << llvm::toString(outcome.takeError()) << '\n';
    ++failures;
    return false;
  }
  subject.core = outcome->core;
  subject.opportunities = mutation::opportunities();
  if (outcome->seen.any()) {
    llvm::errs() << subject.name << ": is not sound without a fault: "
                 << (outcome->words.empty() ? "differs from its golden text" : outcome->words) << '\n';
    ++failures;
  }
  return true;
}

std::string goldenMapPath(const Subject &subject) {
  return test::goldenFolder() + "/maps/" + llvm::sys::path::stem(subject.path).str() + ".json";
}

bool checkGoldenMap(const Subject &subject, unsigned &failures) {
  std::string path = goldenMapPath(subject);
  if (std::getenv("ORIGO_BLESS")) {
    std::error_code ec;
    llvm::raw_fd_ostream os(path, ec);
    os << subject.core;
    return true;
  }
  auto golden = llvm::MemoryBuffer::getFile(path);
  if (golden && (*golden)->getBuffer() == subject.core)
    return true;
  llvm::errs() << subject.name << ": the map differs from " << path << (golden ? "" : ", which cannot be read")
               << "; if the new one is right: ORIGO_BLESS=1 ctest -R mutants\n";
  ++failures;
  return false;
}

std::vector<Subject> subjects(unsigned &failures) {
  std::vector<Subject> all;
  for (const std::string &name : test::goldenFiles()) {
    auto buffer = llvm::MemoryBuffer::getFile(test::goldenFolder() + "/" + name + ".txt");
    unsigned number = 0;
    for (const test::Case &item : test::readCases(buffer ? (*buffer)->getBuffer() : "")) {
      Subject subject;
      subject.name = name + "/" + std::to_string(++number);
      llvm::Expected<Pipeline> pipeline = test::pipelineOf(item);
      if (!pipeline) {
        llvm::consumeError(pipeline.takeError());
        continue;
      }
      subject.pipeline = std::move(*pipeline);
      subject.text = item.input;
      subject.goldenText = item.expected;
      if (prepare(subject, failures))
        all.push_back(std::move(subject));
    }
  }
  std::vector<std::string> files;
  std::error_code ec;
  for (llvm::sys::fs::directory_iterator it(ORIGO_SOURCE_DIR "/res", ec), end; it != end && !ec; it.increment(ec))
    if (llvm::StringRef(it->path()).ends_with(".origo"))
      files.push_back(it->path());
  llvm::sort(files);
  for (const std::string &file : test::modelsToSweep().all())
    if (uint64_t size; !llvm::sys::fs::file_size(file, size) && size <= largestFile)
      files.push_back(file);
  for (const std::string &file : files) {
    Subject subject;
    subject.name = test::baseName(file);
    subject.path = file;
    subject.isSwept = !llvm::StringRef(file).starts_with(ORIGO_SOURCE_DIR "/res");
    subject.pipeline = Pipeline::o1();
    if (!prepare(subject, failures))
      continue;
    subject.goldenMap = llvm::sys::fs::exists(goldenMapPath(subject));
    if (subject.goldenMap)
      checkGoldenMap(subject, failures);
    all.push_back(std::move(subject));
  }
  return all;
}

/// Does the suite know of this model what it takes to see such a fault? The laws see some anywhere. Others leave a map
/// that could be true (what is added may be an ancestor, one fate be another), and those of the exporter are in no
/// text.
bool canBeSeen(Kind kind, const Subject &subject) {
  switch (kind) {
  case Kind::DropParent:
  case Kind::SwapParent:
  case Kind::LoseRow:
  case Kind::CountAfterVisit:
    return true;
  case Kind::FirstSubgraphOnly:
  case Kind::OffByOne:
    return subject.goldenMap;
  default:
    return subject.goldenMap || !subject.goldenText.empty();
  }
}

/// What the laws have to see from outside, whatever else does.
/// How many rows the ledger of a map has.
size_t rowsOf(llvm::StringRef core) { return core.count("\"fate\": "); }

bool needsLaw(Kind kind) { return kind == Kind::DropParent || kind == Kind::SwapParent || kind == Kind::LoseRow; }

/// A map without what it says for later runs alone.
std::string withoutLed(std::string core) {
  constexpr llvm::StringLiteral led = ", \"ledTo\": {";
  for (size_t at; (at = core.find(led.str())) != std::string::npos;)
    core.erase(at, core.find('}', at) + 1 - at);
  return core;
}

struct Score {
  unsigned made = 0, equivalent = 0, survived = 0, goldenOnly = 0;
  std::array<unsigned, judges> seen{};
};

/// Distinct numbers below `end`, at most `count`, the same in every run.
std::vector<unsigned> choose(unsigned count, unsigned end, uint64_t seed) {
  std::vector<unsigned> numbers(end);
  for (unsigned i = 0; i < end; ++i)
    numbers[i] = i;
  for (unsigned i = 0; i < std::min(count, end); ++i)
    std::swap(numbers[i], numbers[i + mutation::mix(seed + i) % (end - i)]);
  numbers.resize(std::min(count, end));
  return numbers;
}

void printTable(const std::array<Score, kinds + 1> &scores) {
  llvm::outs() << "kind                  made  verif";
  for (int law = 1; law <= 10; ++law)
    llvm::outs() << "  law" << law;
  llvm::outs() << " reader  ONE's golden only-g equiv surv\n";
  for (unsigned k = 0; k <= kinds; ++k) {
    const Score &score = scores[k];
    llvm::outs() << llvm::left_justify(k < kinds ? mutation::nameOf(static_cast<Kind>(k)) : "all", 20);
    auto number = [](unsigned n) { llvm::outs() << llvm::format("%6u", n); };
    number(score.made);
    for (unsigned judge = 0; judge < judges; ++judge)
      number(score.seen[judge]);
    llvm::outs() << ' ';
    for (unsigned n : {score.goldenOnly, score.equivalent, score.survived})
      number(n);
    llvm::outs() << '\n';
  }
}

/// Of two texts, the first line that differs.
std::string firstDifference(llvm::StringRef before, llvm::StringRef after) {
  while (!before.empty() || !after.empty()) {
    auto [a, restA] = before.split('\n');
    auto [b, restB] = after.split('\n');
    if (a != b)
      return ("- " + a + "\n+ " + b + "\n").str();
    before = restA;
    after = restB;
  }
  return "";
}

int run(unsigned each, llvm::StringRef onlyModel, llvm::StringRef onlyKind) {
  unsigned failures = 0, golden = 0, lawful = 0, lawless = 0;
  std::vector<Subject> all = subjects(failures);
  std::array<Score, kinds + 1> scores{}, swept{};
  for (auto [number, subject] : llvm::enumerate(all)) {
    golden += subject.goldenMap || !subject.goldenText.empty();
    for (unsigned k = 0; k < kinds; ++k) {
      Kind kind = static_cast<Kind>(k);
      if ((!onlyModel.empty() && onlyModel != subject.name) ||
          (!onlyKind.empty() && onlyKind != mutation::nameOf(kind)) || !canBeSeen(kind, subject))
        continue;
      unsigned count = kind == Kind::FirstSubgraphOnly || kind == Kind::OffByOne ? ~0u : each; // few places, few maps
      for (unsigned event : choose(count, subject.opportunities[k], number * kinds + k)) {
        mutation::Plan plan{kind, event, (number * kinds + k) * 1000 + event};
        llvm::Expected<Outcome> outcome = runOnce(subject, plan);
        std::string mutant =
            subject.name + ": " + mutation::nameOf(kind) + " " + std::to_string(event) + " (" + mutation::done() + ")";
        Verdict seen;
        std::string words;
        if (!outcome) {
          seen.set(Reader);
          words = llvm::toString(outcome.takeError());
        } else {
          seen = outcome->seen;
          words = outcome->words;
          if (subject.goldenMap && outcome->core != subject.core)
            seen.set(Golden);
        }
        if (mutation::done().empty()) {
          llvm::errs() << mutant << ": did not happen\n";
          ++failures;
        }
        bool same = outcome && outcome->core == subject.core; // even if the verifier saw it on the way
        bool equivalent = seen.none() && same;
        bool survived = seen.none() && !equivalent, goldenOnly = seen.count() == 1 && seen[Golden];
        // An earlier row of the ledger may take the place of a lost one: then nothing is missing.
        bool replaced = kind == Kind::LoseRow && outcome && rowsOf(outcome->core) == rowsOf(subject.core);
        // Where a later run goes on from, no judge of one run sees.
        bool isAhead = outcome && withoutLed(outcome->core) == withoutLed(subject.core);
        lawful += needsLaw(kind);
        if (needsLaw(kind) && !same && !replaced && !byLaw(seen)) {
          llvm::errs() << mutant << ": no law sees it\n";
          ++lawless;
        } else if (survived && !replaced && !isAhead) {
          llvm::errs() << mutant << ": SURVIVED\n" << firstDifference(subject.core, outcome->core);
          ++failures;
        }
        std::vector<Score *> counted{&scores[k], &scores[kinds]};
        if (subject.isSwept)
          counted.insert(counted.end(), {&swept[k], &swept[kinds]});
        for (Score *score : counted) {
          ++score->made;
          score->equivalent += equivalent;
          score->survived += survived;
          score->goldenOnly += goldenOnly;
          for (unsigned judge = 0; judge < judges; ++judge)
            score->seen[judge] += seen[judge];
        }
        if (!onlyKind.empty())
          llvm::outs() << mutant << ": "
                       << (equivalent      ? "equivalent"
                           : survived      ? "SURVIVED"
                           : words.empty() ? "golden"
                                           : words)
                       << '\n';
      }
    }
  }
  printTable(scores);
  llvm::outs() << "\nIn the models that are swept alone:\n";
  printTable(swept);
  const Score &total = scores[kinds];
  llvm::outs() << "models: " << total.made << " mutants in " << all.size() << " models (" << golden
               << " with a golden text or map), " << total.made - total.equivalent - total.survived << " killed, "
               << total.equivalent << " equivalent, " << total.survived << " survived\n";
  if (!onlyModel.empty())
    return failures != 0;
  if (total.made < 300) {
    llvm::errs() << "fewer than 300 mutants\n";
    ++failures;
  }
  // Of operators that are one now, laws see whether the one claims what lies around it, not each of what was between.
  llvm::outs() << "models: " << lawless << " of " << lawful << " lost or swapped parents and rows are seen by no law\n";
  if (lawless * 23 > lawful) {
    llvm::errs() << "more than one in 23 lost or swapped parents and rows is seen by no law\n";
    ++failures;
  }
  if (total.equivalent * 5 > total.made) {
    llvm::errs() << "more than a fifth of the mutants are equivalent\n";
    ++failures;
  }
  return failures != 0;
}

} // namespace

int main(int argc, char **argv) {
  const char *thorough = std::getenv("ORIGO_THOROUGH");
  unsigned each = thorough && llvm::StringRef(thorough) == "1" ? 4 : 2;
  if (argc > 1 && (llvm::StringRef(argv[1]).getAsInteger(10, each) || each == 0)) {
    llvm::errs() << "usage: mutants [N [MODEL [KIND]]]\n";
    return 1;
  }
  llvm::SmallString<128> folder;
  if (std::error_code ec = llvm::sys::fs::createUniqueDirectory("origo-mutants", folder)) {
    llvm::errs() << "no scratch folder: " << ec.message() << '\n';
    return 1;
  }
  scratch = folder.str().str();
  int status = run(each, argc > 2 ? argv[2] : "", argc > 3 ? argv[3] : "");
  llvm::sys::fs::remove_directories(scratch);
  return status;
}
