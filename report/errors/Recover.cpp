#include "report/errors/Recover.h"

#include "report/errors/Live.h"
#include "report/errors/Slice.h"

#include "llvm/ADT/STLExtras.h"

namespace origo::report {

using namespace eval;

llvm::Expected<std::vector<NamedTensor>> recover(const Session &source, const Session &result, const Pairs &pairs,
                                                 const std::string &signature, const std::vector<OwnedTensor> &inputs,
                                                 SeeTensor see, llvm::function_ref<bool(const Value &)> wanted,
                                                 Observer first, Timer ran) {
  auto ports = source.inputs(signature), resultPorts = result.inputs(signature);
  if (!ports || !resultPorts)
    return firstError(ports, resultPorts);
  auto given = inputsOfSource(*ports, *resultPorts, pairs, inputs);
  auto slice = sliceOf(source, result, pairs, signature, wanted);
  if (!given || !slice)
    return firstError(given, slice);
  auto stops = [&](const Value &value) {
    return value.isGraphInput || slice->given.contains(&value) ||
           (value.producer() && slice->computes.contains(value.producer()));
  };
  auto readings = Readings::of(pairs, result, signature, stops);
  if (!readings)
    return readings.takeError();
  std::vector<TensorRef> refs(inputs.begin(), inputs.end());
  auto live = LiveResult::of(result, *readings, {.signature = signature, .observer = std::move(first)}, refs);
  if (!live)
    return live.takeError();
  for (auto [port, tensor] : llvm::zip(*ports, *given)) {
    Tensor view = viewOf(*port.value, tensor);
    (*live)->copy({port.value, 0}, view);
    (*live)->release({port.value, 0});
  }
  RunOptions run{.signature = signature, .timer = std::move(ran), .part = &*slice};
  SteppedRun led(source, std::move(run), std::vector<TensorRef>(given->begin(), given->end()), stops);
  while (const SteppedRun::Stop *stop = led.next()) {
    Place place{stop->value, stop->time};
    bool lives = (*live)->copy(place, *stop->tensor);
    (*live)->release(place);
    if (wanted(*stop->value) && realNumbers(*stop->tensor))
      see(*stop->value, stop->time, *stop->tensor, !lives);
  }
  auto outputs = (*live)->walk().finish();
  if (auto ended = led.finish(); !ended)
    return firstError(outputs, ended);
  return outputs;
}

Layers closed(const Layers &layers, const Pairs &pairs) {
  Layers all = layers;
  std::vector<const Operator *> open(layers.begin(), layers.end());
  while (!open.empty()) {
    const Operator *op = open.back();
    open.pop_back();
    for (const Value *value : op->results())
      if (value && pairs.of(*value).empty())
        value->forEachUse([&](const Use &use) {
          if (all.insert(use.user()).second)
            open.push_back(use.user());
        });
  }
  return all;
}

namespace {

/// The result's run sets the pace; where a swapped layer's tensor is due, the source's run goes as far as that.
class Swapped {
public:
  Swapped(const Pairs &pairs, const Layers &layers, LiveResult &live, SteppedRun &led)
      : pairs(pairs), layers(layers), live(live), led(led) {}

  llvm::Expected<std::vector<NamedTensor>> run() {
    llvm::Error failed = llvm::Error::success();
    while (const SteppedRun::Stop *stop = live.walk().next()) {
      if (!failed)
        failed = at(*stop);
      live.keep(*stop);
    }
    auto outputs = live.walk().finish();
    if (failed) {
      llvm::consumeError(outputs.takeError());
      return failed;
    }
    return outputs;
  }

private:
  const Pairs &pairs;
  const Layers &layers;
  LiveResult &live;
  SteppedRun &led;
  std::map<Place, std::pair<Shape, Numbers>> ahead; ///< of swapped layers
  std::set<Place> unled;                            ///< passed before the result had them

  bool isSwapped(const Value &value) const { return value.producer() && layers.count(value.producer()); }

  llvm::Error at(const SteppedRun::Stop &stop) {
    for (const Value *value : pairs.sourcesOf(*stop.value)) {
      Place place = pairs.placeFor(*value, {stop.value, stop.time});
      if (unled.count(place))
        return makeError("tensor \"" + printable(value->name) +
                         "\" comes later in the result than in the source, so that layers cannot be swapped");
      if (!isSwapped(*value))
        continue;
      goTo(place);
      auto found = ahead.find(place);
      if (found == ahead.end())
        continue;
      auto all = pairs.of(*value);
      const Counterpart &way = *llvm::find_if(all, [&](const Counterpart &c) { return c.value == stop.value; });
      writeCounterpart(viewOf(*value, found->second.first), found->second.second, way, *stop.tensor);
    }
    return llvm::Error::success();
  }

  void goTo(const Place &place) {
    while (!ahead.count(place)) {
      const SteppedRun::Stop *stop = led.next();
      if (!stop)
        return;
      Place now{stop->value, stop->time};
      auto numbers = realNumbers(*stop->tensor);
      if (!numbers)
        continue;
      if (isSwapped(*stop->value))
        ahead[now] = {stop->tensor->shape, std::move(*numbers)};
      else if (live.readSoFar(now, *stop->tensor, *numbers))
        storeNumbers(*stop->tensor, *numbers);
      else if (!pairs.of(*stop->value).empty())
        unled.insert(now);
    }
  }
};

} // namespace

llvm::Expected<std::vector<NamedTensor>> runSwapped(const Session &source, const Session &result, const Pairs &pairs,
                                                    const std::string &signature,
                                                    const std::vector<OwnedTensor> &inputs, const Layers &layers) {
  auto ports = source.inputs(signature), resultPorts = result.inputs(signature);
  if (!ports || !resultPorts)
    return firstError(ports, resultPorts);
  bool reaches = llvm::any_of(layers, [&](const Operator *op) {
    return llvm::any_of(op->results(), [&](const Value *value) { return value && !pairs.of(*value).empty(); });
  });
  if (!reaches && !layers.empty())
    return makeError("no tensor of the result is what these layers compute, or what follows from it, so that they have "
                     "no place there");
  auto given = inputsOfSource(*ports, *resultPorts, pairs, inputs);
  std::vector<TensorRef> refs(inputs.begin(), inputs.end());
  Readings readings(pairs); // what is written to one counterpart goes on to the next
  auto live = LiveResult::of(result, readings, {.signature = signature}, refs);
  if (!given || !live)
    return firstError(given, live);
  SteppedRun led(source, {.signature = signature}, std::vector<TensorRef>(given->begin(), given->end()),
                 [](const Value &) { return true; });
  return Swapped(pairs, layers, **live, led).run();
}

} // namespace origo::report
