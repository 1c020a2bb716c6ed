#include "report/errors/RunParts.h"
#include "report/errors/Slice.h"

#include "eval/RealNumbers.h"

#include "llvm/ADT/STLExtras.h"

#include <cmath>
#include <deque>

namespace origo::report {

using namespace eval;

/// What the source's numbers become on the way into the counterpart and back; as they are where that cannot be told.
static Numbers through(const Tensor &source, const Counterpart &counterpart, const Numbers &numbers) {
  auto way = wayAlong(source, counterpart.steps, source);
  const Value &value = *counterpart.value;
  Shape shape = source.shape;
  if (!way || !way->straight || llvm::ArrayRef<int32_t>(value.shape) != llvm::ArrayRef<int32_t>(shape)) {
    if (!value.isStatic())
      return numbers;
    shape.assign(value.shape.begin(), value.shape.end());
  }
  auto bits = bitsPerElement(value.type);
  if (!bits || *bits < 8)
    return numbers;
  std::vector<uint8_t> bytes(static_cast<size_t>(product(shape)) * (*bits / 8));
  Tensor tensor = viewOf(value, shape, bytes);
  Numbers made = numbers;
  std::vector<bool> known(numbers.size(), true);
  if (!writeCounterpart(source, numbers, counterpart, tensor) ||
      !numbersOfSource(source, counterpart, tensor, made, known))
    return numbers;
  return made;
}

/// All runs of one signature on one record. The source's run sets the pace; every other one goes on as far as what is
/// wanted of it.
class ErrorRun::Record {
public:
  Record(Parts &parts, std::string signature, OwnErrors *own, Observer replace = {})
      : parts(parts), signature(std::move(signature)), ownErrors(own), replace(std::move(replace)) {}

  llvm::Error run(llvm::ArrayRef<OwnedTensor> inputs) {
    auto ports = parts.source.inputs(signature), resultPorts = parts.result.inputs(signature);
    if (!ports || !resultPorts)
      return firstError(ports, resultPorts);
    auto others = inputsMade(*ports, *resultPorts, parts.pairs, inputs, true);
    if (!others)
      return others.takeError();
    made = std::move(*others);
    std::vector<TensorRef> given = refsTo(inputs);
    for (const auto &[i, other] : made)
      given[i] = other;
    auto its = signatureParts();
    if (!its)
      return its.takeError();
    auto measured = [this](const Value &value) { return parts.rowOf.count(&value) != 0; };
    auto related = [this](const Value &value) { return !parts.pairs.sourcesOf(value).empty(); };
    RunOptions resultRun = runOf(parts.resultState, parts.resultTurns, !replace);
    resultRun.observer = replace;
    bool own = parts.options.own && !replace;
    if (!replace && (*its)->slice)
      slice = &*(*its)->slice;
    auto live = LiveResult::of(parts.result, (*its)->readings, std::move(resultRun), given);
    if (!live)
      return live.takeError();
    result = std::move(*live);

    led.resize(inputs.size());
    rounded.resize(inputs.size());
    if (wantsLed())
      led = inputs.vec();
    if (own)
      rounded = inputs.vec();
    for (auto [i, port] : llvm::enumerate(*ports))
      if (measured(*port.value))
        startAt(*port.value, inputs[i], led[i], rounded[i]);
    if (wantsLed()) {
      auto stops = [this](const Value &value) { return parts.rowOf.count(&value) && (!slice || isInSlice(value)); };
      ledSource.emplace(parts.source, runOf(parts.ledState, parts.sourceTurns, false), refsTo(led), stops);
    }
    if (own) {
      RunOptions roundedRun{.signature = signature, .turns = &parts.sourceTurns};
      roundedSource.emplace(parts.source, roundedRun, refsTo(rounded), measured);
      RunOptions ledRun{.signature = signature, .turns = &parts.resultTurns};
      ledResult.emplace(parts.result, ledRun, given, related);
    }
    bool once = parts.source.runsOnce(signature);
    const Subgraph *graph = *parts.source.graph(signature);
    llvm::DenseMap<const Value *, unsigned> times;
    RunOptions sourceRun = runOf(parts.sourceState, parts.sourceTurns, true);
    sourceRun.observer = [&](const Operator &, const Value &value, Tensor &tensor) {
      if (measured(value))
        at({&value, once && value.subgraph() == graph ? 0 : times[&value]++}, tensor);
    };
    auto done = parts.source.run(refsTo(inputs), sourceRun);
    pump(true);
    llvm::Error errors = done ? llvm::Error::success() : done.takeError();
    auto end = [&](SteppedRun &walk) {
      auto outputs = walk.finish();
      if (!outputs && !errors)
        errors = outputs.takeError();
      else if (!outputs)
        llvm::consumeError(outputs.takeError());
    };
    end(result->walk());
    for (auto *walk : {&ledSource, &roundedSource, &ledResult})
      if (*walk)
        end(**walk);
    return errors;
  }

private:
  Parts &parts;
  std::string signature;
  OwnErrors *ownErrors;
  Observer replace;
  const RunPart *slice = nullptr;     ///< of the led source, where nothing is asked of it but what has no counterpart
  std::map<size_t, OwnedTensor> made; ///< inputs of the result that are not the source's
  std::vector<OwnedTensor> led, rounded; ///< inputs of these runs
  std::unique_ptr<LiveResult> result;
  std::optional<SteppedRun> ledSource, roundedSource, ledResult;

  /// What the led run of the source has computed and nobody has asked for yet.
  std::map<Place, Numbers> ledAhead, roundedAhead;
  /// For the led run of the result: the source's numbers, and what its operator makes of rounded operands.
  struct Lead {
    Shape shape;
    Numbers numbers, expected;
    unsigned readers;
  };
  std::map<Place, Lead> leads;
  /// Into a tensor of the led result, while bridges behind it have not run.
  struct Written {
    Numbers numbers;
    unsigned readers;
  };
  std::map<Place, Written> written;

  static std::vector<TensorRef> refsTo(llvm::ArrayRef<OwnedTensor> list) { return {list.begin(), list.end()}; }

  /// Is there a run of the source that goes on with what the result has?
  bool wantsLed() const { return parts.options.own || slice || replace; }

  /// Records know nothing of each other.
  RunOptions runOf(State &state, Turns &turns, bool onlyReads) const {
    if (parts.remembers)
      state.reset();
    RunOptions run;
    run.signature = signature;
    run.state = &state;
    run.turns = &turns;
    run.onlyReads = onlyReads;
    run.part = &state == &parts.ledState ? slice : nullptr;
    return run;
  }

  llvm::Expected<const Parts::Signature *> signatureParts() {
    auto known = parts.signatures.find(signature);
    if (known != parts.signatures.end())
      return &known->second;
    auto measured = [this](const Value &value) { return parts.rowOf.count(&value) != 0; };
    auto readings = Readings::of(parts.pairs, parts.result, signature, measured);
    if (!readings)
      return readings.takeError();
    std::optional<RunPart> slice;
    if (parts.recovers && !parts.options.own) {
      auto made = sliceOf(parts.source, parts.result, parts.pairs, signature,
                          [&](const Value &value) { return measured(value) && parts.pairs.of(value).empty(); });
      if (!made)
        return made.takeError();
      if (!made->computes.empty())
        slice = std::move(*made);
    }
    return &parts.signatures.try_emplace(signature, Parts::Signature{std::move(*readings), std::move(slice)})
                .first->second;
  }
  bool isInSlice(const Value &value) const {
    return slice->given.contains(&value) || (value.producer() && slice->computes.contains(value.producer()));
  }

  Parts::Open &openOf(const Value &value) { return openOf(parts.rowOf.lookup(&value)); }
  Parts::Open &openOf(size_t row) {
    Parts::Open &open = parts.open[row];
    if (!open.touched)
      parts.touched.push_back(row);
    open.touched = true;
    return open;
  }

  /// An input of the source: what the result makes of it is what the led runs start from.
  void startAt(const Value &value, const OwnedTensor &input, OwnedTensor &led, OwnedTensor &rounded) {
    Tensor tensor = viewOf(value, TensorRef(input));
    Place place{&value, 0};
    if (slice) {
      Tensor ledView = viewOf(value, led);
      result->copy(place, ledView);
    }
    if (!wantsLed() || slice)
      return measure(place, tensor);
    auto want = realNumbers(tensor);
    if (!want)
      return;
    parts.part.rows[parts.rowOf.lookup(&value)].seen = true;
    Numbers have = *want;
    result->read(place, tensor, have);
    openOf(value).total.add(*want, have);
    openOf(value).inherited.add(*want, *want);
    Tensor ledView = viewOf(value, led);
    storeNumbers(ledView, have);
    result->release(place);
    if (!parts.options.own || replace)
      return;
    Tensor roundedView = viewOf(value, rounded);
    if (auto holding = parts.pairs.holders(place); !holding.empty())
      storeNumbers(roundedView, through(tensor, *holding.back().first, *want));
    for (const Counterpart &c : parts.pairs.of(value))
      if (!c.value->producer())
        noteWritten(*c.value, 0, *want);
    addLead(place, tensor, *want, *want);
  }

  void addLead(const Place &place, const Tensor &tensor, Numbers numbers, Numbers expected) {
    unsigned readers = 0;
    for (auto [counterpart, time] : parts.pairs.holders(place))
      readers += counterpart->value->producer() != nullptr;
    if (readers)
      leads[place] = {tensor.shape, std::move(numbers), std::move(expected), readers};
  }

  /// What a led run of the source has at that place, before it is led on by what `lead` makes of it.
  template <class Make>
  std::optional<Numbers> advance(SteppedRun &walk, std::map<Place, Numbers> &ahead, const Place &place, Make lead) {
    if (auto found = ahead.find(place); found != ahead.end()) {
      Numbers numbers = std::move(found->second);
      ahead.erase(found);
      return numbers;
    }
    while (const SteppedRun::Stop *stop = walk.next()) {
      Place now{stop->value, stop->time};
      auto numbers = realNumbers(*stop->tensor);
      if (!numbers)
        continue;
      Numbers next = *numbers;
      if (lead(now, *stop->tensor, next))
        storeNumbers(*stop->tensor, next);
      if (now == place)
        return numbers;
      ahead[now] = std::move(*numbers);
    }
    return std::nullopt;
  }

  /// The same of a slice. The tensor lives until the run goes on; null: it is not computed again.
  const Tensor *advanceSlice(const Place &place) {
    while (const SteppedRun::Stop *stop = ledSource->next()) {
      Place now{stop->value, stop->time};
      result->copy(now, *stop->tensor);
      if (now == place)
        return stop->tensor;
      // Only what is called can come in another order than in the source's own run.
      if (auto numbers = realNumbers(*stop->tensor))
        ledAhead[now] = std::move(*numbers);
    }
    return nullptr;
  }

  /// A tensor of the source, where the led run computes a slice only.
  void atSlice(const Place &place, Tensor &tensor) {
    size_t index = parts.rowOf.lookup(place.first);
    if (!isInSlice(*place.first))
      return measure(place, tensor);
    auto ahead = ledAhead.extract(place);
    const Tensor *led = ahead ? nullptr : advanceSlice(place);
    if (!parts.rows[index].recovered)
      return measure(place, tensor);
    ErrorPart::Row &row = parts.part.rows[index];
    row.seen = true;
    RecordSums &sums = openOf(*place.first).total;
    bool compared = tensor.count() == 0 || (led && sums.add(tensor, *led));
    if (auto want = ahead ? realNumbers(tensor) : std::nullopt; want && want->size() == ahead.mapped().size()) {
      sums.add(*want, ahead.mapped());
      compared = true;
    }
    if (!compared)
      noteUnmeasured(row.unmeasured, led || ahead ? "has another shape in the result"
                                                  : "is not computed again, as the result goes another way");
  }

  /// Where all error is wanted, and nothing else.
  void measure(const Place &place, const Tensor &tensor) {
    size_t index = parts.rowOf.lookup(place.first);
    ErrorPart::Row &row = parts.part.rows[index];
    row.seen = true;
    if (tensor.count() == 0)
      result->release(place);
    else if (!result->measure(place, tensor, openOf(index).total))
      noteUnmeasured(row.unmeasured, "has another shape in the result");
  }

  /// The source's run has computed a tensor.
  void at(const Place &place, Tensor &tensor) {
    if (slice)
      return atSlice(place, tensor);
    if (!ledSource)
      return measure(place, tensor);
    size_t index = parts.rowOf.lookup(place.first);
    ErrorPart::Row &row = parts.part.rows[index];
    row.seen = true;
    auto want = realNumbers(tensor);
    if (!want)
      return;
    auto inherited = advance(*ledSource, ledAhead, place, [&](const Place &now, const Tensor &t, Numbers &numbers) {
      return result->read(now, t, numbers);
    });
    if (!inherited || inherited->size() != want->size()) {
      noteUnmeasured(row.unmeasured, inherited ? "has another shape in the result"
                                               : "is not computed again, as the result goes another way");
      result->release(place);
      return;
    }
    Numbers have = *inherited;
    result->read(place, tensor, have);
    result->release(place);
    if (have.size() == want->size()) {
      openOf(*place.first).total.add(*want, have);
      openOf(*place.first).inherited.add(*want, *inherited);
      if (replace && !parts.rows[index].recovered)
        openOf(*place.first).own[{0, 0}].add(*inherited, have);
    } else {
      noteUnmeasured(row.unmeasured, "has another shape in the result");
    }
    if (roundedSource)
      ownAt(place, tensor, std::move(*want));
  }

  void ownAt(const Place &place, Tensor &tensor, Numbers want) {
    auto round = [&](const Place &now, const Tensor &t, Numbers &numbers) {
      auto holding = parts.pairs.holders(now);
      if (holding.empty() || now != place)
        return false;
      numbers = through(t, *holding.back().first, want);
      return true;
    };
    auto expected = advance(*roundedSource, roundedAhead, place, round);
    if (!expected || expected->size() != want.size())
      return;
    addLead(place, tensor, std::move(want), std::move(*expected));
    pump(false);
  }

  /// Takes the led run of the result as far as its leads are known; to its end, if they will not come.
  void pump(bool end) {
    if (!ledResult)
      return;
    while (true) {
      const SteppedRun::Stop *stop = ledResult->at();
      if (stop && !readyFor(*stop) && !end)
        return;
      if (stop)
        leadResult(*stop);
      if (!ledResult->next())
        return;
    }
  }

  bool readyFor(const SteppedRun::Stop &stop) const {
    // The source may have inlined nothing, so calls count alike; where the result has, the lead is of that call.
    return llvm::all_of(parts.pairs.sourcesOf(*stop.value), [&](const Value *value) {
      return !parts.rowOf.count(value) || leads.count(parts.pairs.placeFor(*value, {stop.value, stop.time}));
    });
  }

  void leadResult(const SteppedRun::Stop &stop) {
    const Counterpart *way = nullptr;
    const Lead *last = nullptr;
    llvm::SmallVector<Place, 2> done;
    for (const Value *value : parts.pairs.sourcesOf(*stop.value)) {
      Place place = parts.pairs.placeFor(*value, {stop.value, stop.time});
      auto lead = leads.find(place);
      if (lead == leads.end())
        continue;
      auto all = parts.pairs.of(*value);
      const Counterpart &counterpart = *llvm::find_if(all, [&](const Counterpart &c) { return c.value == stop.value; });
      measureOwn(place, counterpart, lead->second, stop);
      way = &counterpart;
      last = &lead->second;
      done.push_back(place);
    }
    if (!last)
      return;
    Tensor source = viewOf(*done.back().first, last->shape);
    writeCounterpart(source, last->numbers, *way, *stop.tensor);
    Numbers now = last->numbers;
    std::vector<bool> known(now.size(), true);
    if (numbersOfSource(source, *way, *stop.tensor, now, known))
      noteWritten(*stop.value, stop.time, std::move(now));
    for (const Place &place : done)
      if (auto lead = leads.find(place); --lead->second.readers == 0)
        leads.erase(lead);
  }

  /// What a bridge makes of a tensor is measured against what was written into that; all else against what the source's
  /// operator makes of the same operands.
  void measureOwn(const Place &place, const Counterpart &counterpart, const Lead &lead, const SteppedRun::Stop &stop) {
    Numbers bridged;
    if (const Operator *op = stop.value->producer())
      for (const Use &use : op->operands())
        if (use.get() && llvm::is_contained(parts.pairs.sourcesOf(*use.get()), place.first))
          if (auto found = written.find({use.get(), stop.time}); found != written.end()) {
            bridged = found->second.numbers;
            if (--found->second.readers == 0)
              written.erase(found);
            break;
          }
    const Numbers *expected = bridged.empty() ? &lead.expected : &bridged;
    Tensor source = viewOf(*place.first, lead.shape);
    Numbers have = *expected;
    std::vector<bool> known(have.size(), true);
    if (!numbersOfSource(source, counterpart, *stop.tensor, have, known) || have.size() != expected->size())
      return;
    openOf(*place.first).own[{stop.value->subgraph()->index, stop.value->index}].add(*expected, have);
    if (!ownErrors)
      return;
    std::vector<float> &sum = (*ownErrors)[place];
    sum.resize(have.size());
    for (size_t i = 0; i < have.size(); ++i)
      if (double off = have[i] - (*expected)[i]; std::isfinite(off))
        sum[i] += static_cast<float>(off);
  }

  /// Operators that make a counterpart of the same source tensor from this one.
  unsigned bridgesBehind(const Value &value) const {
    unsigned count = 0;
    auto same = parts.pairs.sourcesOf(value);
    value.forEachUse([&](const Use &use) {
      count += llvm::any_of(use.user()->results(), [&](const Value *made) {
        return made &&
               llvm::any_of(parts.pairs.sourcesOf(*made), [&](const Value *v) { return llvm::is_contained(same, v); });
      });
    });
    return count;
  }
  void noteWritten(const Value &value, unsigned time, Numbers numbers) {
    if (unsigned readers = bridgesBehind(value))
      written[{&value, time}] = {std::move(numbers), readers};
  }
};

llvm::Error ErrorRun::add(llvm::StringRef signature, llvm::ArrayRef<OwnedTensor> inputs, OwnErrors *own) {
  return Record(*parts, signature.str(), own).run(inputs);
}

llvm::Error ErrorRun::addReplaced(llvm::StringRef signature, llvm::ArrayRef<OwnedTensor> inputs, Observer replace) {
  return Record(*parts, signature.str(), nullptr, std::move(replace)).run(inputs);
}

} // namespace origo::report
