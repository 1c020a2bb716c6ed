#include "report/infer/Search.h"

#include "eval/RandomInput.h"
#include "eval/RealNumbers.h"
#include "report/infer/Execute.h"
#include "schema/TensorTypes.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallPtrSet.h"

/// What the source computes: it is run as a whole, and what that leaves out is executed operator by operator.
namespace origo::report {

using namespace eval;

bool isHybrid(const Operator &op) {
  bool floats = false, integers = false;
  for (const Use &use : op.operands())
    if (const Value *value = use.get(); value && isReal(*value))
      (isFloat(value->type) ? floats : integers) = true;
  return floats && integers && op.result() && isFloat(op.result()->type) && !storesOtherwise(op);
}

llvm::Error InferSearch::runSource(unsigned run) {
  for (auto it = numbers.begin(); it != numbers.end();)
    it = it->first->isConstant() ? std::next(it) : numbers.erase(it);
  if (!session)
    return llvm::Error::success();
  llvm::SmallPtrSet<const Subgraph *, 8> done;
  std::vector<std::string> signatures{""};
  llvm::append_range(signatures, session->signatures());
  for (const std::string &signature : signatures) {
    auto graph = session->graph(signature);
    if (!graph) {
      llvm::consumeError(graph.takeError());
      continue;
    }
    if (!done.insert(*graph).second)
      continue;
    if (llvm::Error error = runSignature(signature, run))
      return error;
  }
  return llvm::Error::success();
}

/// What has not run, as another branch was taken or there is no kernel, is executed one by one; what cannot be has
/// random results, as all that counts is what becomes of them.
void InferSearch::completeSource(uint32_t seed) {
  auto invent = [&](const Value &value, unsigned stream) {
    auto count = value.elementCount();
    auto size = count ? payloadBytes(value.type, *count) : std::nullopt;
    if (!size || *size > (1 << 26))
      return;
    std::vector<uint8_t> bytes(*size);
    if (!fillRandom(value.type, bytes, seed, stream))
      return;
    Tensor view;
    view.type = value.type;
    view.shape.assign(value.shape.begin(), value.shape.end());
    view.quantization = value.quantization;
    view.storage = bytes;
    numbers[&value] = RealTensor::of(view);
  };
  unsigned stream = 1000;
  llvm::SmallPtrSet<const Value *, 16> anew; // what is computed from these is computed anew
  for (auto &graph : source.subgraphs) {
    for (const Value *input : graph->inputs)
      if (++stream; !numbers.count(input)) {
        invent(*input, stream);
        anew.insert(input);
      }
    for (const Operator &op : graph->operators) {
      stream += static_cast<unsigned>(op.results().size());
      auto isAnew = [&](const Use &use) { return use.get() && anew.contains(use.get()); };
      if (!isHybrid(op) && llvm::none_of(op.operands(), isAnew) &&
          llvm::all_of(op.results(), [&](const Value *value) { return !value || numbers.count(value); }))
        continue;
      llvm::SmallVector<const RealTensor *> given;
      for (const Use &use : op.operands())
        given.push_back(use.get() ? numbersOfSource(*use.get()) : nullptr);
      auto made = execute(op, given, !isHybrid(op));
      if (!made && isHybrid(op) && llvm::none_of(op.operands(), isAnew) && op.result() && numbers.count(op.result()))
        continue;
      for (auto [i, value] : llvm::enumerate(op.results())) {
        if (!value)
          continue;
        numbers.erase(value);
        anew.insert(value);
        if (made && (*made)[i])
          numbers[value] = std::move((*made)[i]);
        else
          invent(*value, stream - static_cast<unsigned>(i));
      }
    }
  }
}

llvm::Expected<std::vector<OwnedTensor>> InferSearch::inputsOf(llvm::ArrayRef<Port> ports, llvm::StringRef signature,
                                                               unsigned run) const {
  std::vector<OwnedTensor> given;
  if (options.inputs) {
    auto told = options.inputs(ports, signature, run);
    if (!told || told->size() == ports.size())
      return told;
  }
  for (auto [i, port] : llvm::enumerate(ports)) {
    auto made = randomInput(port, static_cast<unsigned>(i), options.seeds[run]);
    if (!made)
      return made.takeError();
    given.push_back(std::move(*made));
  }
  return given;
}

llvm::Error InferSearch::runSignature(const std::string &signature, unsigned number) {
  auto ports = session->inputs(signature);
  if (!ports)
    return ports.takeError();
  auto given = inputsOf(*ports, signature, number);
  if (!given)
    return given.takeError();
  for (auto [port, tensor] : llvm::zip(*ports, *given)) {
    Tensor view;
    view.type = tensor.type;
    view.shape = tensor.shape;
    view.quantization = port.value->quantization;
    view.storage = tensor.bytes;
    numbers[port.value] = RealTensor::of(view);
  }
  RunOptions run;
  run.signature = signature;
  run.onlyReads = true;
  run.observer = [&](const Operator &, const Value &value, Tensor &tensor) {
    if (!numbers.count(&value)) // of what is computed again and again, the first time counts
      numbers.emplace(&value, RealTensor::of(tensor));
  };
  auto outputs = session->run(std::vector<TensorRef>(given->begin(), given->end()), run);
  return outputs ? llvm::Error::success() : outputs.takeError();
}

llvm::Error InferSearch::run() {
  CompileOptions compile;
  compile.observed = true;
  if (auto made = eval::compile(source, compile))
    session.emplace(std::move(*made));
  else
    notes.push_back("the source does not run as a whole, so its operators are executed one by one: " +
                    llvm::toString(made.takeError()));
  for (auto &graph : source.subgraphs) {
    for (const Value *input : graph->inputs)
      alive.insert(input);
    for (const Operator &op : graph->operators) {
      bool any = false, depends = op.effects();
      for (const Use &use : op.operands()) {
        any |= use.get() != nullptr;
        depends |= use.get() && (alive.contains(use.get()) || use.get()->isVariable);
      }
      if (!any)
        withoutOperands.push_back(&op);
      if (depends)
        for (const Value *value : op.results())
          if (value)
            alive.insert(value);
    }
  }
  bool isFirst = true;
  for (auto [number, seed] : llvm::enumerate(options.seeds)) {
    if (llvm::Error error = runSource(static_cast<unsigned>(number))) {
      if (options.inputs)
        return error;
      std::string why = llvm::toString(std::move(error));
      if (isFirst)
        notes.push_back("the source does not run on random inputs, so its operators are executed one by one: " + why);
    }
    completeSource(seed);
    if (!isFirst) {
      verify();
      continue;
    }
    isFirst = false;
    // The graphs that are entered from outside: the first, and those of signatures.
    std::vector<std::pair<const Subgraph *, const Subgraph *>> entries{
        {source.subgraphs[0].get(), result.subgraphs[0].get()}};
    for (size_t i = 0; i < result.signatures.size(); ++i) {
      const Signature &signature = result.signatures[i];
      auto same = llvm::find_if(source.signatures, [&](const Signature &other) { return other.key == signature.key; });
      if (same == source.signatures.end() && i < source.signatures.size())
        same = source.signatures.begin() + static_cast<ptrdiff_t>(i);
      if (same != source.signatures.end() && same->subgraph && signature.subgraph)
        entries.emplace_back(same->subgraph, signature.subgraph);
    }
    for (auto [from, to] : entries) {
      if (paired.contains(to))
        continue;
      pairGraphs(*from, *to);
      constexpr unsigned mostFaults = 16;
      for (unsigned fault = 0; !otherNumbers && fault < mostFaults && resume(*to); ++fault)
        ;
      if (!otherNumbers)
        blameConstants(*to);
    }
  }
  return llvm::Error::success();
}

} // namespace origo::report
