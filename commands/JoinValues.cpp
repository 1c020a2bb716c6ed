#include "commands/JoinValues.h"

#include "commands/JsonOutput.h"
#include "commands/Related.h"
#include "commands/ValueDump.h"
#include "quantize/Records.h"
#include "report/errors/Live.h"
#include "report/errors/Print.h"
#include "schema/TensorTypes.h"

#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"

namespace origo::commands {

using namespace report;

namespace {

/// The result's inputs, of the dump.
llvm::Expected<std::vector<eval::OwnedTensor>> inputsIn(ValueDump &dump, llvm::ArrayRef<eval::Port> ports) {
  std::vector<eval::OwnedTensor> inputs;
  for (const eval::Port &port : ports) {
    eval::OwnedTensor tensor{port.type, port.shape, {}};
    for (int32_t &dim : tensor.shape)
      dim = std::max(dim, 1);
    tensor.bytes.resize(static_cast<size_t>(eval::product(tensor.shape)) * bitsPerElement(port.type).value_or(0) / 8);
    eval::Tensor view = viewOf(*port.value, tensor);
    if (!dump.read(*port.value, view) && !dump.refused.empty())
      return makeError(dump.refused.back());
    if (!dump.has(*port.value))
      return makeError("there is no file of input \"" + printable(port.name) + "\" (0_" +
                       llvm::Twine(port.value->index) + ".npy); --values-data says where inputs are");
    inputs.push_back(std::move(tensor));
  }
  return inputs;
}

} // namespace

llvm::Error joinValues(const ValuesRequest &request, const std::string &model, const std::string &source, bool json,
                       const Door &door) {
  if (source.empty())
    return makeError("--join-values needs the model's source: --source");
  const ErrorMetric *metric = findErrorMetric(request.metric);
  if (!metric)
    return makeError("--values-metric: \"" + printable(request.metric) + "\" is none of visq's");
  PayloadStore store;
  auto models = loadRelated(source, model, store, door);
  if (!models)
    return models.takeError();
  auto run = ErrorRun::of(models->source, models->result, {});
  auto result = eval::compile(*models->result.model);
  if (!run || !result)
    return firstError(run, result);
  std::string signature = run->signatures().front();
  auto ports = run->inputs(signature), resultPorts = result->inputs(result->signatures().empty() ? "" : signature);
  if (!ports || !resultPorts)
    return firstError(ports, resultPorts);
  std::unique_ptr<quantize::Records> records;
  if (!request.data.empty()) {
    auto opened = request.data == "random"
                      ? quantize::seededRecords(*ports, 4)
                      : quantize::openRecords(request.data, quantize::RecordFormat::ByName, *ports);
    if (!opened)
      return opened.takeError();
    records = std::move(*opened);
  }
  auto dumps = ValueDumps::open(request.folder);
  if (!dumps)
    return dumps.takeError();
  if (records && records->count() < dumps->count())
    return makeError("there are tensors of " + llvm::Twine(dumps->count()) + " records, and inputs of " +
                     llvm::Twine(records->count()));
  door.phase("executing");
  uint64_t computed = 0, replaced = 0;
  llvm::DenseSet<const Value *> dumped; // of the result, in some record
  for (size_t i = 0; i < dumps->count(); ++i) {
    auto dump = dumps->record(i);
    if (!dump)
      return dump.takeError();
    llvm::Expected<std::vector<eval::OwnedTensor>> inputs = std::vector<eval::OwnedTensor>();
    if (records) {
      inputs = records->read(i);
    } else {
      auto given = inputsIn(*dump, *resultPorts);
      if (!given)
        return given.takeError();
      inputs = inputsOfSource(*ports, *resultPorts, run->pairs(), std::move(*given));
    }
    if (!inputs)
      return inputs.takeError();
    llvm::Error error = run->addReplaced(signature, std::move(*inputs),
                                         [&](const Operator &, const Value &value, eval::Tensor &tensor) {
                                           bool held = dump->read(value, tensor);
                                           ++computed;
                                           replaced += held;
                                           if (held)
                                             dumped.insert(&value);
                                         });
    if (error)
      return error;
    run->endRecord();
    for (const std::string &why : dump->refused)
      door.note(why);
    if (dump->turned)
      door.note(llvm::Twine(dump->turned) + " tensors have channels first, and are turned");
    if (auto extra = dump->unused(); !extra.empty())
      door.note(llvm::Twine(extra.size()) + " files or datasets are of no tensor that is computed; the first is " +
                printable(extra.front(), 200));
  }
  if (replaced == 0)
    return makeError(printable(request.folder, 300) +
                     ": no file is of a tensor of the model; they are called 0_12.npy, 12.npy or "
                     "by the tensor's name");
  if (replaced < computed)
    door.note(llvm::Twine(computed - replaced) + " of " + llvm::Twine(computed) +
              " tensors have no file, and are computed here from those that have");
  auto rows = run->rows();
  // What the dump does not hold was computed here, from what it holds: that tells nothing of an output.
  for (ErrorRow &row : rows) {
    auto counterparts = run->pairs().of(*row.value);
    if (!row.unmeasured.empty() || row.value->isGraphInput || counterparts.empty() ||
        llvm::any_of(counterparts,
                     [&](const Counterpart &c) { return dumped.contains(c.value) || c.value->isConstant(); }))
      continue;
    row.recovered = true;
    if (row.isOutput)
      row.unmeasured = "has no file";
  }
  ErrorReport report{*models->source.model,
                     rows,
                     llvm::sys::path::filename(source).str(),
                     llvm::sys::path::filename(model).str(),
                     run->pairs().by,
                     dumps->count(),
                     models->source.lineage.source.get()};
  JsonOutput os;
  if (json)
    writeErrors(report, *metric, os);
  else
    printErrors(report, *metric, ErrorOrder::Blame, llvm::outs());
  return llvm::Error::success();
}

} // namespace origo::commands
