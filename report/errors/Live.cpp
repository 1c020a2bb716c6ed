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

Tensor viewOf(const Value &value, const TensorRef &ref) {
  return viewOf(value, ref.shape, {const_cast<uint8_t *>(ref.bytes.data()), ref.bytes.size()});
}

Readings::Readings(const Pairs &pairs) : Readings(pairs, {}, [](const Value &) { return true; }) {}

Readings::Readings(const Pairs &pairs, const llvm::DenseSet<const Value *> &always,
                   llvm::function_ref<bool(const Value &)> asked)
    : pairs(&pairs) {
  for (const auto &[source, counterparts] : pairs.all()) {
    if (!asked(*source))
      continue;
    if (const Counterpart *one = pairs.deciding(*source, always)) {
      decided[source] = one;
      ++readers[one->value];
    } else {
      for (const Counterpart &counterpart : counterparts)
        ++readers[counterpart.value];
    }
  }
}

llvm::Expected<Readings> Readings::of(const Pairs &pairs, const Session &result, llvm::StringRef signature,
                                      llvm::function_ref<bool(const Value &)> asked) {
  auto always = result.always(signature, true);
  if (!always)
    return always.takeError();
  return Readings(pairs, *always, asked);
}

llvm::SmallVector<std::pair<const Counterpart *, unsigned>, 2> Readings::holders(const Place &source) const {
  if (const Counterpart *one = only(source))
    return {{one, 0}};
  return pairs->holders(source);
}

llvm::Expected<std::unique_ptr<LiveResult>> LiveResult::of(const Session &session, const Readings &readings,
                                                           RunOptions run, std::vector<TensorRef> inputs) {
  auto ports = session.inputs(run.signature);
  if (!ports)
    return ports.takeError();
  std::unique_ptr<LiveResult> live(new LiveResult(readings));
  for (auto [port, tensor] : llvm::zip(*ports, inputs))
    if (size_t readers = readings.readersOf(*port.value))
      live->kept[{port.value, 0}] = {viewOf(*port.value, tensor), readers, {}};
  live->run.emplace(session, std::move(run), std::move(inputs), [&reads = *live](const Value &value) {
    return (reads.readers = reads.readings.readersOf(value)) != 0;
  });
  return live;
}

void LiveResult::keep(const SteppedRun::Stop &stop) {
  size_t readers = readings.readersOf(*stop.value);
  if (!readers)
    return;
  Kept &now = kept[{stop.value, stop.time}];
  now = {*stop.tensor, readers, {stop.tensor->storage.begin(), stop.tensor->storage.end()}};
  now.tensor.storage = now.bytes;
}

/// What the run stands at is not copied before it goes on, and often not even then.
void LiveResult::goOn() {
  if (const SteppedRun::Stop *left = run->at(); left && wanted) {
    keep(*left);
    kept[{left->value, left->time}].readers = wanted;
  }
  wanted = run->next() ? readers : 0; // of this stop it was asked last
}

void LiveResult::goTo(const Place &place) {
  for (auto [counterpart, time] : readings.holders(place))
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
  auto holders = readings.holders(place);
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
  // Of most tensors one counterpart counts, which the run comes to next.
  if (const Counterpart *only = readings.only(place)) {
    Place one{only->value, 0};
    while (!standsAt(one) && !run->ended() && (kept.empty() || !kept.count(one)))
      goOn();
    if (standsAt(one) && llvm::ArrayRef(source.shape) == llvm::ArrayRef(run->at()->tensor->shape) &&
        sums.add(source, *run->at()->tensor)) {
      wanted -= wanted != 0;
      return true;
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
  for (auto [counterpart, time] : readings.holders(place))
    if (const Tensor *tensor = find({counterpart->value, time}))
      any |= numbersOfSource(source, *counterpart, *tensor, numbers, known);
  return any;
}

void LiveResult::release(const Place &place) {
  for (auto [counterpart, time] : readings.holders(place))
    if (auto found = kept.find({counterpart->value, time}); found != kept.end()) {
      if (--found->second.readers == 0)
        kept.erase(found);
    } else if (wanted && standsAt({counterpart->value, time})) {
      --wanted;
    }
}

namespace {

/// An input as the other model stores it; `to` leads from the source's numbers, `back` to them.
llvm::Expected<OwnedTensor> convert(const Port &source, const Port &result, const Counterpart &way,
                                    const OwnedTensor &input, bool toResult) {
  const Port &from = toResult ? source : result, &to = toResult ? result : source;
  OwnedTensor made{to.type, input.shape, {}};
  if (!way.steps.empty() && to.value->isStatic())
    made.shape.assign(to.value->shape.begin(), to.value->shape.end());
  made.bytes.resize(static_cast<size_t>(product(made.shape)) * bitsPerElement(to.type).value_or(0) / 8);
  Tensor have = viewOf(*from.value, TensorRef(input)), want = viewOf(*to.value, made);
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

llvm::Expected<std::vector<OwnedTensor>> withMade(std::vector<OwnedTensor> inputs,
                                                  llvm::Expected<std::map<size_t, OwnedTensor>> made) {
  if (!made)
    return made.takeError();
  for (auto &[i, other] : *made)
    inputs[i] = std::move(other);
  return inputs;
}

} // namespace

llvm::Expected<std::map<size_t, OwnedTensor>> inputsMade(llvm::ArrayRef<Port> source, llvm::ArrayRef<Port> result,
                                                         const Pairs &pairs, llvm::ArrayRef<OwnedTensor> inputs,
                                                         bool forResult) {
  if (source.size() != result.size() || inputs.size() != source.size())
    return makeError("the two models have " + llvm::Twine(source.size()) + " and " + llvm::Twine(result.size()) +
                     " inputs; only models of the same inputs are compared");
  std::map<size_t, OwnedTensor> all;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const Port &from = source[i], &to = result[i];
    auto ways = pairs.of(*from.value);
    auto known = llvm::find_if(ways, [&](const Counterpart &c) { return c.value == to.value; });
    Counterpart way = known != ways.end() ? *known : Counterpart{to.value, {}};
    if (from.type == to.type && sameQuantization(from.value->quantization, to.value->quantization) && way.steps.empty())
      continue;
    auto made = convert(from, to, way, inputs[i], forResult);
    if (!made)
      return made.takeError();
    all[i] = std::move(*made);
  }
  return all;
}

llvm::Expected<std::vector<OwnedTensor>> inputsOfResult(llvm::ArrayRef<Port> source, llvm::ArrayRef<Port> result,
                                                        const Pairs &pairs, std::vector<OwnedTensor> inputs) {
  auto made = inputsMade(source, result, pairs, inputs, true);
  return withMade(std::move(inputs), std::move(made));
}

llvm::Expected<std::vector<OwnedTensor>> inputsOfSource(llvm::ArrayRef<Port> source, llvm::ArrayRef<Port> result,
                                                        const Pairs &pairs, std::vector<OwnedTensor> inputs) {
  auto made = inputsMade(source, result, pairs, inputs, false);
  return withMade(std::move(inputs), std::move(made));
}

} // namespace origo::report
