#include "commands/Mixed.h"

#include "commands/Files.h"
#include "export/Writer.h"
#include "schema/InputFile.h"
#include "schema/TensorTypes.h"

#include "llvm/ADT/StringMap.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"

namespace origo::commands {

using namespace quantize;

/// What --max_bytes counts, of the model that is written: numbers of weights, biases and results, but of bridges.
llvm::Expected<uint64_t> MixedSolver::writtenBytes(const Levels &levels) {
  auto written = read();
  if (!written)
    return written.takeError();
  if (llvm::Error failed = quantize(*written, levels, false))
    return failed;
  uint64_t bits = 0;
  auto add = [&](const Value *value) {
    bits += value->elementCount().value_or(0) * bitsPerElement(value->type).value_or(0);
  };
  for (const Operator &op : written->model->subgraphs.front()->operators) {
    if (op.code == BuiltinOperator::QUANTIZE || op.code == BuiltinOperator::DEQUANTIZE)
      continue;
    for (const Use &use : op.operands())
      if (const Value *value = use.get();
          value && value->isConstant() &&
          (value->type == TensorType::FLOAT32 || (value->quantization && value->quantization->quantized())))
        add(value);
    for (const Value *value : op.results())
      if (value)
        add(value);
  }
  return (bits + 7) / 8;
}

static bool isStored(TensorType type) { return type != TensorType::FLOAT32; }

static bool isBias(const Operator &op, size_t operand) {
  using Op = BuiltinOperator;
  return (operand == 2 &&
          llvm::is_contained({Op::CONV_2D, Op::DEPTHWISE_CONV_2D, Op::FULLY_CONNECTED, Op::CONV_3D}, op.code)) ||
         (operand == 3 && op.code == Op::TRANSPOSE_CONV);
}

/// What --costs says; else bytes: of weights and of what operators compute.
llvm::Expected<LevelCosts> MixedSolver::levelCosts() const {
  LevelCosts costs;
  if (!request.costFile.empty()) {
    auto file = readInput(request.costFile);
    if (!file)
      return makeError(printable(request.costFile, 300) + ": " + file.getError().message());
    auto read = readCosts((*file)->getBuffer(), graph(), request.isUnsigned());
    if (!read)
      return inFile(request.costFile, read.takeError());
    costs = std::move(*read);
    if (llvm::none_of(costs, [](const auto &cost) { return cost != LevelCosts::value_type{0, 0, 0}; }))
      return inFile(request.costFile, makeError("gives no layer a cost, so that every choice would be free"));
  } else {
    for (const Operator &op : graph().operators) {
      uint64_t weights = 0, biases = 0, results = 0;
      for (auto [i, use] : llvm::enumerate(op.operands()))
        if (const Value *value = use.get(); value && value->isConstant() && value->type == TensorType::FLOAT32)
          (isBias(op, i) ? biases : weights) += value->elementCount().value_or(0);
      for (const Value *value : op.results())
        results += value ? value->elementCount().value_or(0) : 0;
      auto w = static_cast<double>(weights), b = static_cast<double>(biases), r = static_cast<double>(results);
      // In int16x8, weights keep 8 bits; biases are sums of products.
      costs.push_back({w + 4 * b + r, (request.isUnsigned() ? 2 : 1) * w + 8 * b + 2 * r, 4 * (w + b + r)});
    }
  }
  for (auto &cost : costs)
    for (size_t k = 0; k < levelCount; ++k)
      if (!request.levelNames.empty() && !llvm::is_contained(request.levelNames, request.shown(static_cast<Level>(k))))
        cost[k].reset();
  return costs;
}

llvm::Error MixedSolver::solveBudget() {
  auto costs = levelCosts();
  if (!costs)
    return costs.takeError();
  // Few kernels of uint8 are fast, and none has weights of 16 bits, so that only what is found is run.
  auto measure = [&](const Levels &levels) { return writtenErrorOf(levels, !request.isUnsigned()); };
  bool bytes = request.mostBytes.has_value();
  double budget = bytes ? *request.mostBytes : request.mostTime.value_or(0), most = request.bound.value_or(0);
  auto search = [&] {
    return request.bound ? cheapestWithin(*costs, most, measure) : bestWithin(*costs, budget, measure);
  };
  auto found = search();
  // Where the quantiser leaves floats, what is written takes more than its levels cost: as much less is looked for
  // again.
  constexpr unsigned mostSearches = 4;
  bool cheapest = true;
  for (unsigned i = 0; found && bytes; ++i) {
    auto written = writtenBytes(found->levels);
    if (!written)
      return written.takeError();
    double over = static_cast<double>(*written) - *request.mostBytes;
    budget = std::min(budget, found->cost) - over;
    found->cost = static_cast<double>(*written);
    cheapest = !found->suffices;
    found->suffices &= over <= 0;
    if (found->suffices || cheapest || i == mostSearches)
      break;
    found = search();
  }
  for (unsigned i = 0; found && found->suffices && request.isUnsigned(); ++i) {
    auto error = writtenErrorOf(found->levels, true);
    if (!error)
      return error.takeError();
    found->error = *error;
    if (!request.bound || *error <= *request.bound)
      break;
    found->suffices = false;
    if (i == mostSearches)
      break;
    most *= 0.9 * *request.bound / *error;
    found = search();
  }
  if (!found)
    return inFile(request.input, found.takeError());
  door.phase(nullptr);
  if (!found->suffices) {
    std::string text;
    llvm::raw_string_ostream os(text);
    if (request.bound) {
      os << llvm::format("with each operator at its finest the error is still %.4g, more than %.4g", found->error,
                         *request.bound);
      if (llvm::any_of(scheme.inputs, isStored) || llvm::any_of(scheme.outputs, isStored))
        os << "; that of ends in integers is part of it, --input_dtype and --output_dtype float32 keep them floats";
    } else {
      os << (cheapest ? "with each operator at its cheapest the cost is still "
                      : "the cost of what was found is still ")
         << llvm::format("%.6g, more than %.6g", found->cost, bytes ? *request.mostBytes : *request.mostTime);
    }
    verdict = Verdict::Refused;
    return inFile(request.input, makeError(text));
  }
  llvm::outs() << llvm::format("mean absolute error: %.4g at a cost of %.6g; %.4g at the least, of %.6g\n",
                               found->error, found->cost, found->errorAtLeast, found->leastCost);
  for (auto [op, level] : llvm::zip_equal(graph().operators, found->levels))
    if (level != Level::Int8)
      llvm::outs() << "  " << request.shown(level) << ' ' << op.opName() << ' ' << printable(nameOf(op), 200) << '\n';
  if (llvm::Error error = keep("FINAL", found->levels, found->error))
    return error;
  return finish(found->levels);
}

/// Milliseconds of each layer, all others at the same level: the least of some runs, for what disturbs makes them
/// longer. An operator's time is that of what computes its result. A level at which our engine does not run the model
/// is left out.
llvm::Error MixedSolver::measureCosts() {
  LevelCosts costs(graph().operators.size());
  for (Level level : {Level::Int8, Level::Int16, Level::Float}) {
    auto model = read();
    if (!model)
      return model.takeError();
    if (level != Level::Float)
      if (llvm::Error error = quantize(*model, Levels(costs.size(), level), true))
        return error;
    eval::CompileOptions options;
    options.engine = eval::Engine::Fast;
    door.phase("executing");
    auto session = eval::compile(*model->model, options);
    if (!session) {
      door.note(request.shown(level) + " is left out: " + llvm::toString(session.takeError()));
      continue;
    }
    llvm::StringMap<double> least; // by the name of the first result
    auto inputs = records->read(0);
    if (!inputs)
      return inputs.takeError();
    std::vector<eval::TensorRef> refs(inputs->begin(), inputs->end());
    eval::State state;
    eval::RunOptions run;
    run.state = &state;
    bool failed = false;
    for (unsigned round = 0; round < 10 && !failed; ++round) {
      run.timer = [&](const eval::Timed &timed) {
        double ms = std::chrono::duration<double, std::milli>(timed.end - timed.begin).count();
        auto [known, isNew] = least.try_emplace(nameOf(timed.op), ms);
        known->second = std::min(known->second, ms);
      };
      auto outputs = session->run(refs, run);
      if (!outputs)
        door.note(request.shown(level) + " is left out: " + llvm::toString(outputs.takeError()));
      failed = !outputs;
    }
    for (auto [op, cost] : llvm::zip_equal(graph().operators, costs))
      if (auto found = least.find(nameOf(op)); !failed && found != least.end())
        cost[static_cast<size_t>(level)] = found->second;
  }
  door.phase(nullptr);
  return writeFile(request.writeCosts, costsText(costs, graph(), "ms", request.isUnsigned()));
}

} // namespace origo::commands
