#include "eval/Kernels.h"
#include "eval/Session.h"
#include "passes/Pipeline.h"
#include "schema/WireSchema.h"
#include "tests/RandomInputs.h"
#include "tests/RealModels.h"
#include "tests/Samples.h"
#include "tests/Work.h"

#include "llvm/Support/MemoryBuffer.h"

#include "gtest/gtest.h"

#include <set>

/// What tests that sweep models reach on public ones and on those that tests/networks/ makes: docs/test-networks.md,
/// which ORIGO_BLESS=1 writes anew. Of the latter there has to be all that public ones reach.

using namespace origo;
using namespace origo::test;

namespace {

using Names = std::set<std::string>;

/// Of one file.
struct Reach {
  std::string name;
  bool isNetwork = false;
  size_t operators = 0;
  double work = 0;
  uint64_t products = 0, bytes = 0;
  Names fields;        ///< of the formats' tables, with what enumerations say
  Names o1, flags;     ///< rules that are applied by -O1, by passes alone
  Names kernels, fast; ///< rows of operators that were executed, of those by the fast engine's own code
};

void addFields(const wire::TableType &type, const flatbuffers::Table &table, Names &names) {
  for (const wire::Field &field : type.fields) {
    if (!wire::isPresent(table, field))
      continue;
    std::string name = (type.name + "." + field.name).str();
    names.insert(name);
    auto value = [&](int64_t number) {
      if (const wire::EnumValue *found = field.enumeration ? field.enumeration->find(number) : nullptr)
        names.insert(name + "=" + found->name.str());
    };
    auto *at = table.GetAddressOf(field.vtableOffset());
    auto follow = [](const uint8_t *from) { return from + flatbuffers::ReadScalar<flatbuffers::uoffset_t>(from); };
    auto asTable = [&](const uint8_t *from) { return reinterpret_cast<const flatbuffers::Table *>(follow(from)); };
    if (wire::isScalar(field.type)) {
      if (!wire::isReal(field.type))
        value(wire::integer(table, field));
    } else if (field.type == wire::Type::Table) {
      addFields(*field.table, *asTable(at), names);
    } else if (field.type == wire::Type::Union) {
      if (const wire::TableType *member = wire::unionMember(type, table, field))
        addFields(*member, *asTable(at), names);
    } else if (field.type == wire::Type::Vector && field.element == wire::Type::Table) {
      const uint8_t *data = follow(at);
      for (uint32_t i = 0, size = flatbuffers::ReadScalar<uint32_t>(data); i < size; ++i)
        addFields(*field.table, *asTable(data + 4 + 4 * i), names);
    }
  }
}

std::string rowOf(const Operator &op) {
  if (op.code == BuiltinOperator::CUSTOM)
    return "CUSTOM " + op.customCode().str();
  const eval::Kernel *row = eval::findKernel(op);
  return op.opName() + (row ? " " + row->types.str() : "");
}

void addRules(const std::string &path, const Pipeline &pipeline, Names &names) {
  PayloadStore store;
  auto imported = importAsSource(path);
  std::vector<RuleStatistics> statistics;
  origo::PipelineOptions options;
  options.format = Format::Circle;
  options.statistics = &statistics;
  llvm::consumeError(runPipeline(*imported->model, pipeline, store, options));
  for (const RuleStatistics &row : statistics)
    if (row.applied)
      names.insert((row.pass + " / " + row.rule).str());
}

std::optional<Reach> reachOf(const std::string &path, bool isNetwork) {
  auto imported = importAsSource(path);
  auto file = llvm::MemoryBuffer::getFile(path, /*IsText=*/false, /*RequiresNullTerminator=*/false);
  if (!imported || !file)
    return std::nullopt;
  Model &model = *imported->model;
  Reach reach{
      baseName(path), isNetwork, 0, workOf(model), multiplyAdds(model), (*file)->getBufferSize(), {}, {}, {}, {}, {}};
  const wire::Schema &schema = model.format == Format::Tflite ? wire::Schema::tflite() : wire::Schema::circle();
  addFields(schema.root(), *flatbuffers::GetRoot<flatbuffers::Table>((*file)->getBufferStart()), reach.fields);
  for (const auto &graph : model.subgraphs)
    reach.operators += graph->operators.size();
  addRules(path, Pipeline::o1(), reach.o1);
  if (reach.work <= 1e6)
    for (const Pass &pass : allPasses())
      for (const PassFlag &flag : pass.flags) {
        Pipeline alone;
        alone.add(pass, flag.scopes);
        addRules(path, alone, reach.flags);
      }
  if (reach.work > 1e8)
    return reach;
  for (bool isFast : {false, true}) {
    eval::CompileOptions how;
    how.engine = isFast ? eval::Engine::Fast : eval::Engine::Reference;
    auto session = eval::compile(model, how);
    if (!session) {
      llvm::consumeError(session.takeError());
      continue;
    }
    auto inputs = randomInputs(*session->inputs(), 1);
    if (!inputs)
      continue;
    std::vector<eval::TensorRef> refs(inputs->begin(), inputs->end());
    auto results = session->run(refs);
    if (!results) {
      llvm::consumeError(results.takeError());
      continue;
    }
    eval::Session::Coverage coverage = session->coverage();
    for (const Operator *op : isFast ? coverage.fast : coverage.reference)
      (isFast ? reach.fast : reach.kernels).insert(rowOf(*op));
  }
  return reach;
}

std::vector<Reach> reachOf(const ModelFolder &models) {
  std::vector<Reach> all;
  for (const std::string &path : models.all())
    if (auto reach = reachOf(path, llvm::sys::path::parent_path(path) == llvm::StringRef(models.path).rtrim('/')))
      all.push_back(std::move(*reach));
  return all;
}

/// A test that sweeps models, which it takes, and what of them it comes through.
struct Sweep {
  const char *tests;
  bool (*takes)(const Reach &model);
  std::vector<Names Reach::*> parts;
};

bool any(const Reach &) { return true; }

std::vector<Sweep> sweeps() {
  const std::vector<Names Reach::*> read{&Reach::fields}, rewritten{&Reach::fields, &Reach::o1},
      executed{&Reach::fields, &Reach::o1, &Reach::kernels}, computed{&Reach::kernels, &Reach::fast};
  return {
      {"Import, Text, Export, Verifier, Inference, Versions, Metrics", any, read},
      {"ModelFile, EmbeddedMap", [](const Reach &m) { return m.isNetwork; }, read},
      {"Metamorphic, every_model, every_target, determinism, composition, consumer, viewers", any, rewritten},
      {"Taint", any, rewritten},
      {"mutants", [](const Reach &m) { return m.bytes <= 1 << 20; }, rewritten},
      {"Numerics.Models, every_run", [](const Reach &m) { return m.work <= 1e8; }, executed},
      {"Intervention", [](const Reach &m) { return m.work <= 1e7; }, executed},
      {"Numerics.EachFlagAlone", [](const Reach &m) { return m.work <= 1e6; }, {&Reach::flags, &Reach::kernels}},
      {"Fast.EveryModelOfFewOperators", [](const Reach &m) { return m.operators <= 12 && m.products <= 4000000; },
       computed},
      {"Fast.OperatorsOfNetworks", [](const Reach &m) { return m.operators > 12 && m.products <= 60000000; }, computed},
      // Rewrites are compared with other runtimes on whole networks; each by itself is tried by those above.
      {"runtime, kernels, every_quantized, errors_figures",
       [](const Reach &m) { return m.isNetwork && m.work <= 1e8; },
       {&Reach::fields, &Reach::kernels}},
  };
}

Names united(const std::vector<Reach> &models, const Sweep &sweep, Names Reach::*part) {
  Names all;
  for (const Reach &model : models)
    if (sweep.takes(model))
      all.insert((model.*part).begin(), (model.*part).end());
  return all;
}

TEST(ReachPublicModels, IsNotMoreThanThatOfOwnNetworks) {
  std::vector<Reach> own = reachOf(ownNetworks()), others = reachOf(publicModels());
  ASSERT_GE(others.size(), 600u);
  const std::pair<const char *, Names Reach::*> columns[] = {{"what files have", &Reach::fields},
                                                             {"rules of -O1", &Reach::o1},
                                                             {"rules of all flags", &Reach::flags},
                                                             {"kernels of the reference", &Reach::kernels},
                                                             {"kernels of the fast engine", &Reach::fast}};
  std::string table = "| tests |", line = "|---|";
  for (auto [title, part] : columns) {
    table += " " + std::string(title) + " |";
    line += "---|";
  }
  table += "\n" + line + "\n";
  for (const Sweep &sweep : sweeps()) {
    table += "| " + std::string(sweep.tests) + " |";
    for (auto [title, part] : columns) {
      if (!llvm::is_contained(sweep.parts, part)) {
        table += " |";
        continue;
      }
      Names ours = united(own, sweep, part), theirs = united(others, sweep, part);
      table += " " + std::to_string(theirs.size()) + " → " + std::to_string(ours.size()) + " |";
      for (const std::string &name : theirs)
        EXPECT_TRUE(ours.count(name)) << sweep.tests << ", " << title << ": only public models reach " << name;
    }
    table += "\n";
  }
  if (const char *bless = std::getenv("ORIGO_BLESS"); !bless || !*bless || HasFailure())
    return;
  std::string path = ORIGO_SOURCE_DIR "/docs/test-networks.md";
  auto file = llvm::MemoryBuffer::getFile(path);
  ASSERT_TRUE(static_cast<bool>(file));
  std::string page = (*file)->getBuffer().str();
  llvm::StringRef begin = "<!-- reach -->\n", end = "<!-- end of reach -->\n";
  size_t first = page.find(begin), last = page.find(end);
  ASSERT_TRUE(first != std::string::npos && first < last && last != std::string::npos);
  first += begin.size();
  std::error_code ec;
  llvm::raw_fd_ostream(path, ec) << page.replace(first, last - first, table);
  ASSERT_FALSE(ec) << ec.message();
}

} // namespace
