#include "tests/fuzz/FuzzNative.h"

#include "eval/RandomInput.h"
#include "export/Export.h"
#include "ir/text/Text.h"
#include "tests/fuzz/NativeKnown.h"

#include "llvm/ADT/STLExtras.h"

#include <cmath>

using namespace origo;
using namespace origo::fuzz;

namespace {

/// The same model beside an operator whose result has no shape before it runs: delegates take no such graph, so that
/// plain kernels run all of it.
std::string besideUnknownShape(llvm::StringRef text) {
  auto [head, rest] = text.split(") -> (");
  auto [results, body] = rest.split(") {\n");
  return head.str() + (head.ends_with("(") ? "" : ", ") + "%native_shape: i32[1]) -> (" + results.str() +
         ", %native_filled) {\n%native_value: f32[] = const [1]\n%native_filled: f32 = FILL(%native_shape, "
         "%native_value)\n" +
         body.str();
}

} // namespace

NativeRuntime::Outcome FuzzNative::run(llvm::StringRef text, uint32_t seed, bool plain, NativeStage now,
                                       std::string &unsaid) const {
  PayloadStore store(directory);
  auto model = parseText(plain ? besideUnknownShape(text) : text.str(), "", store);
  if (!model) {
    unsaid = llvm::toString(model.takeError());
    return {};
  }
  inferShapes(**model);
  std::vector<eval::OwnedTensor> inputs;
  for (const Value *value : (*model)->subgraphs[0]->inputs) {
    for (auto [stated, size] : llvm::zip(value->shapeSignature(), value->shape))
      if (stated < 0 && size != 1) {
        unsaid = "an open dimension of an input is 1 here, and there what the file states";
        return {};
      }
    eval::Port port{value->name.str(), value->type, eval::Shape(value->shape.begin(), value->shape.end()), true, value};
    auto input = eval::randomInput(port, static_cast<unsigned>(inputs.size()), seed);
    if (!input) {
      unsaid = llvm::toString(input.takeError());
      return {};
    }
    inputs.push_back(std::move(*input));
  }
  if (plain)
    inputs.back().bytes = {1, 0, 0, 0};
  (*model)->becomeSource();
  ExportOptions options;
  options.format = Format::Tflite;
  options.embed = origin::Embed::None;
  std::string path = directory + "/native.tflite";
  origin::Lineage lineage;
  if (llvm::Error error = exportModel(**model, lineage, path, options)) {
    unsaid = llvm::toString(std::move(error));
    return {};
  }
  if (stage)
    *stage = now;
  NativeRuntime::Outcome outcome = runtime.run(path, inputs);
  if (stage)
    *stage = NativeStage::Idle;
  return outcome;
}

std::string FuzzNative::compare(Model &model, const Run &reference, llvm::StringRef text, uint32_t seed,
                                FuzzOutcome &outcome) const {
  for (bool plain : {true, false}) {
    std::string unsaid, who = plain ? "the native runtime's plain kernels" : "the native runtime";
    auto native = run(text, seed, plain, NativeStage::Source, unsaid);
    if (!unsaid.empty() || !native.knows)
      return "";
    const Operator &op = *model.subgraphs[0]->operators.begin();
    if (!native.refused.empty() && reference.refused.empty())
      return mayRefuse(native.refused).empty() ? who + " refuses what we compute: " + native.refused : "";
    if (!reference.refused.empty())
      return native.refused.empty() && mayCompute(reference.refused).empty() && incomparable(op, reference).empty()
                 ? who + " computes what we refuse: " + reference.refused
                 : "";
    if (!incomparable(op, reference).empty())
      return "";
    outcome.compared = true;
    native.outputs.resize(reference.outputs.size()); // without what was added
    std::string difference = differenceFrom(reference, native.outputs, model, seed, true, 1);
    if (!difference.empty())
      return who + " differs: " + difference;
  }
  return "";
}

std::string FuzzNative::compareGraph(Model &model, const Run &reference, llvm::StringRef text, uint32_t seed,
                                     NativeStage now, std::optional<std::string> &refused, FuzzOutcome &outcome) const {
  // Products of these may overflow in one order of a sum, and not in another.
  constexpr float huge = 1e15f;
  bool comparable =
      !reference.overflowsWords && !anyConstant(model, [](float number) { return std::fabs(number) > huge; });
  for (const auto &graph : model.subgraphs)
    for (const Operator &op : graph->operators)
      comparable &= incomparable(op, reference).empty();
  for (bool plain : {true, false}) {
    std::string unsaid, who = plain ? "the native runtime's plain kernels" : "the native runtime";
    auto native = run(text, seed, plain, now, unsaid);
    if (!unsaid.empty() || !native.knows)
      return "";
    if (refused = native.refused; !refused->empty())
      return "";
    if (!comparable)
      continue;
    outcome.compared = true;
    native.outputs.resize(reference.outputs.size()); // without what was added
    // One differing bit decides on integers behind it.
    if (std::string difference = differenceFrom(reference, native.outputs, model, seed, false); !difference.empty())
      return who + " differs: " + difference;
  }
  return "";
}

std::string FuzzNative::refusal(llvm::StringRef text, uint32_t seed) const {
  for (bool plain : {true, false}) {
    std::string unsaid;
    auto native = run(text, seed, plain, NativeStage::Result, unsaid);
    if (!unsaid.empty() || !native.knows)
      return "";
    if (!native.refused.empty())
      return native.refused;
  }
  return "";
}
