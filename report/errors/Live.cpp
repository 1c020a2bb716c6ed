#include "report/errors/Live.h"

#include "eval/RunOperator.h"
#include "schema/TensorTypes.h"

#include "llvm/ADT/STLExtras.h"

namespace origo::report {

using namespace eval;

Tensor viewOf(const Value &value, const Shape &shape, llvm::MutableArrayRef<uint8_t> bytes) {
  Tensor tensor;
  tensor.type = value.type;
  tensor.shape = shape;
  tensor.quantization = value.quantization;
  tensor.value = &value;
  tensor.storage = bytes;
  return tensor;
}

Tensor viewOf(const Value &value, OwnedTensor &owned) { return viewOf(value, owned.shape, owned.bytes); }

llvm::Expected<std::unique_ptr<LiveResult>> LiveResult::of(const Session &session, const Pairs &pairs, RunOptions run,
                                                           std::vector<OwnedTensor> inputs,
                                                           std::function<bool(const Value &)> asked) {
  auto ports = session.inputs(run.signature);
  if (!ports)
    return ports.takeError();
  std::unique_ptr<LiveResult> live(new LiveResult(pairs, std::move(asked)));
  live->run.emplace(session, std::move(run), std::move(inputs),
                    [&reads = *live](const Value &value) { return (reads.readers = reads.readersOf(value)) != 0; });
  for (auto [port, tensor] : llvm::zip(*ports, live->run->given()))
    if (size_t readers = live->readersOf(*port.value))
      live->kept[{port.value, 0}] = {viewOf(*port.value, tensor), readers, {}};
  return live;
}

void LiveResult::keep(const Walk::Stop &stop) {
  size_t readers = readersOf(*stop.value);
  if (!readers)
    return;
  Kept &now = kept[{stop.value, stop.time}];
  now = {*stop.tensor, readers, {stop.tensor->storage.begin(), stop.tensor->storage.end()}};
  now.tensor.storage = now.bytes;
}

/// What the run stands at is not copied before it goes on, and often not even then.
void LiveResult::goOn() {
  if (const Walk::Stop *left = run->at(); left && wanted) {
    keep(*left);
    kept[{left->value, left->time}].readers = wanted;
  }
  wanted = run->next() ? readers : 0; // of this stop it was asked last
}

void LiveResult::goTo(const Place &place) {
  for (auto [counterpart, time] : pairs.holders(place))
    while (!find({counterpart->value, time}) && !run->ended())
      goOn();
}

const Tensor *LiveResult::find(const Place &place) const {
  if (standsAt(place))
    return run->at()->tensor;
  if (auto found = kept.empty() ? kept.end() : kept.find(place); found != kept.end())
    return &found->second.tensor;
  if (!place.first->isConstant())
    return nullptr;
  auto [constant, isNew] = constants.try_emplace(place.first);
  auto &[bytes, tensor] = constant->second;
  if (isNew) {
    if (auto read = ConstantBytes::of(*place.first, CompileOptions().memoryLimit)) {
      bytes = std::move(*read);
      tensor = viewOf(*place.first, Shape(place.first->shape.begin(), place.first->shape.end()));
      tensor.storage = {const_cast<uint8_t *>(bytes->bytes.data()), bytes->bytes.size()};
    } else {
      llvm::consumeError(read.takeError());
    }
  }
  return bytes ? &tensor : nullptr;
}

const Tensor *LiveResult::straight(const Place &place, const Tensor &source) const {
  auto holders = pairs.holders(place);
  for (auto [counterpart, time] : llvm::reverse(holders))
    if (const Tensor *tensor = find({counterpart->value, time})) {
      auto way = wayAlong(source, counterpart->steps, *tensor);
      return way && way->straight ? tensor : nullptr;
    }
  return nullptr;
}

bool LiveResult::read(const Place &place, const Tensor &source, Numbers &numbers) {
  goTo(place);
  return readSoFar(place, source, numbers);
}

bool LiveResult::copy(const Place &place, Tensor &source) {
  goTo(place);
  if (const Tensor *tensor = straight(place, source); tensor && copyNumbers(*tensor, source))
    return true;
  auto numbers = realNumbers(source);
  return numbers && readSoFar(place, source, *numbers) && storeNumbers(source, *numbers);
}

bool LiveResult::measure(const Place &place, const Tensor &source, RecordSums &sums) {
  // Most tensors have one counterpart, which the run comes to next.
  if (auto all = pairs.of(*place.first); all.size() == 1 && place.second == 0) {
    Place one{all[0].value, 0};
    while (!find(one) && !run->ended())
      goOn();
    if (standsAt(one)) {
      auto way = wayAlong(source, all[0].steps, *run->at()->tensor);
      if (way && way->straight && sums.add(source, *run->at()->tensor)) {
        wanted -= wanted != 0;
        return true;
      }
    }
  }
  bool measured = measureHolders(place, source, sums);
  release(place);
  return measured;
}

bool LiveResult::measureHolders(const Place &place, const Tensor &source, RecordSums &sums) {
  goTo(place);
  if (const Tensor *tensor = straight(place, source); tensor && sums.add(source, *tensor))
    return true;
  auto want = realNumbers(source);
  Numbers have = want.value_or(Numbers());
  if (!want || !readSoFar(place, source, have) || have.size() != want->size())
    return false;
  sums.add(*want, have);
  return true;
}

bool LiveResult::readSoFar(const Place &place, const Tensor &source, Numbers &numbers) const {
  bool any = false;
  std::vector<bool> known(numbers.size(), true);
  for (auto [counterpart, time] : pairs.holders(place))
    if (const Tensor *tensor = find({counterpart->value, time}))
      any |= numbersOfSource(source, *counterpart, *tensor, numbers, known);
  return any;
}

void LiveResult::release(const Place &place) {
  for (auto [counterpart, time] : pairs.holders(place))
    if (auto found = kept.find({counterpart->value, time}); found != kept.end()) {
      if (--found->second.readers == 0)
        kept.erase(found);
    } else if (wanted && standsAt({counterpart->value, time})) {
      --wanted;
    }
}

namespace {

/// An input as the other model stores it; `to` leads from the source's numbers, `back` to them.
llvm::Expected<OwnedTensor> convert(const Port &source, const Port &result, const Counterpart &way, OwnedTensor input,
                                    bool toResult) {
  const Port &from = toResult ? source : result, &to = toResult ? result : source;
  OwnedTensor made{to.type, input.shape, {}};
  if (!way.steps.empty() && to.value->isStatic())
    made.shape.assign(to.value->shape.begin(), to.value->shape.end());
  made.bytes.resize(static_cast<size_t>(product(made.shape)) * bitsPerElement(to.type).value_or(0) / 8);
  Tensor have = viewOf(*from.value, input), want = viewOf(*to.value, made);
  bool done = false;
  if (toResult) {
    auto numbers = realNumbers(have);
    done = numbers && writeCounterpart(have, *numbers, way, want);
  } else {
    Numbers numbers;
    std::vector<bool> known;
    done = numbersOfSource(want, way, have, numbers, known) && storeNumbers(want, numbers);
  }
  if (!done)
    return makeError("input \"" + printable(from.name) + "\" cannot be given to the other model, which wants " +
                     tensorTypeName(to.type));
  return made;
}

llvm::Expected<std::vector<OwnedTensor>> convertAll(llvm::ArrayRef<Port> source, llvm::ArrayRef<Port> result,
                                                    const Pairs &pairs, std::vector<OwnedTensor> inputs,
                                                    bool toResult) {
  if (source.size() != result.size() || inputs.size() != source.size())
    return makeError("the two models have " + llvm::Twine(source.size()) + " and " + llvm::Twine(result.size()) +
                     " inputs; only models of the same inputs are compared");
  for (size_t i = 0; i < inputs.size(); ++i) {
    const Port &from = source[i], &to = result[i];
    auto ways = pairs.of(*from.value);
    auto known = llvm::find_if(ways, [&](const Counterpart &c) { return c.value == to.value; });
    Counterpart way = known != ways.end() ? *known : Counterpart{to.value, {}};
    if (from.type == to.type && sameQuantization(from.value->quantization, to.value->quantization) && way.steps.empty())
      continue;
    auto made = convert(from, to, way, std::move(inputs[i]), toResult);
    if (!made)
      return made.takeError();
    inputs[i] = std::move(*made);
  }
  return inputs;
}

} // namespace

llvm::Expected<std::vector<OwnedTensor>> inputsOfResult(llvm::ArrayRef<Port> source, llvm::ArrayRef<Port> result,
                                                        const Pairs &pairs, std::vector<OwnedTensor> inputs) {
  return convertAll(source, result, pairs, std::move(inputs), true);
}

llvm::Expected<std::vector<OwnedTensor>> inputsOfSource(llvm::ArrayRef<Port> source, llvm::ArrayRef<Port> result,
                                                        const Pairs &pairs, std::vector<OwnedTensor> inputs) {
  return convertAll(source, result, pairs, std::move(inputs), false);
}

} // namespace origo::report
