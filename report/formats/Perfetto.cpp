/// Perfetto's traces in protocol buffers: begin and end of slices on tracks, or samples. Names are spelt out or
/// interned per sequence; times are absolute, or differences in a clock of the sequence.

#include "report/profile/Protobuf.h"
#include "report/profile/Readers.h"
#include "report/profile/V8Samples.h"

#include "ir/Error.h"

#include "nlohmann/json.hpp"

using namespace origo;
using namespace origo::report;
using llvm::StringRef;

namespace {

constexpr uint32_t packetField = 1;
/// Each of many events may have one name, which is compared for each of them.
constexpr size_t longestName = 4096;

bool isPerfetto(StringRef bytes) {
  if (!bytes.starts_with("\x0a"))
    return false;
  Fields fields(bytes);
  return fields.next() && fields.number == packetField && fields.hasText && fields.next() &&
         fields.number == packetField && fields.hasText;
}

struct Clock {
  uint64_t now = 0, unit = 1;
  bool incremental = false;
};

/// How often traced_perf samples. A sample is as long as what is between two of them.
struct Timebase {
  uint64_t period = 0; ///< nanoseconds of a clock, or how often something else happened; 0: not said
  bool isTime = false;
};

struct Sequence {
  std::map<uint64_t, StringRef> names, functions;
  std::map<uint64_t, uint64_t> frames; ///< the function of each
  std::map<uint64_t, uint64_t> stacks; ///< the innermost frame of each
  Timebase timebase;
  StringRef running; ///< the function of the sample that lasts until the next one
  std::map<uint64_t, Clock> clocks;
  uint64_t defaultClock = 0, defaultTrack = 0;
};

struct Slice {
  StringRef name;
  uint64_t begin = 0;
};

class Reader {
public:
  explicit Reader(Profile &profile) : profile(profile) {}

  bool packet(StringRef bytes) {
    uint64_t id = 0, time = 0, clock = 0, flags = 0;
    StringRef event, interned, defaults, snapshot, sample, stream;
    bool hasTime = false, dropped = false;
    bool ok = forEachField(bytes, [&](const Fields &field) {
      switch (field.number) {
      case 6:
        snapshot = field.text;
        break;
      case 8:
        time = field.value, hasTime = true;
        break;
      case 10:
        id = field.value;
        break;
      case 11:
        event = field.text;
        break;
      case 12:
        interned = field.text;
        break;
      case 13:
        flags = field.value;
        break;
      case 42:
        dropped = field.value;
        break;
      case 54:
        stream = field.text;
        break;
      case 58:
        clock = field.value;
        break;
      case 59:
        defaults = field.text;
        break;
      case 66:
        sample = field.text;
        break;
      }
      return true;
    });
    if (!ok)
      return false;
    Sequence &sequence = sequences[id];
    if (flags & 1) { // the sequence begins anew
      sequence.names.clear(), sequence.functions.clear();
      sequence.frames.clear(), sequence.stacks.clear();
    }
    if ((flags & 1) || dropped) // the next sample does not say how long this one lasts
      sequence.running = {};
    if (!takeSnapshot(snapshot, sequence) || !takeDefaults(defaults, sequence) || !takeNames(interned, sequence))
      return false;
    if (hasTime) {
      Clock &is = sequence.clocks[clock ? clock : sequence.defaultClock];
      __builtin_mul_overflow(time, is.unit, &time);
      time = is.now = is.incremental ? is.now + time : time;
    }
    if ((!sample.empty() && !takeSample(sample, sequence)) || (!stream.empty() && !takeStream(stream, sequence)))
      return false;
    return event.empty() || (takeEvent(event, sequence, time) && takeSamples(event, id));
  }

  size_t unfinished() const {
    size_t count = 0;
    for (const auto &[track, slices] : open)
      count += slices.size();
    return count;
  }
  std::string failure;
  V8Samples samples;
  Profile sampled; ///< by traced_perf, or by Chromium's sampler of stacks
  size_t lost = 0; ///< of these samples

private:
  Profile &profile;
  std::map<uint64_t, Sequence> sequences;
  std::map<uint64_t, std::vector<Slice>> open; ///< by track
  std::map<StringRef, size_t> rows, functions;

  /// Each has a number and one thing more; of a stack, the last frame is the innermost.
  static bool takeNames(StringRef bytes, Sequence &sequence) {
    return forEachField(bytes, [&](const Fields &field) {
      uint64_t iid = 0, other = 0;
      StringRef name;
      if (!field.hasText || (field.number != 2 && (field.number < 5 || field.number > 7)))
        return true;
      bool ok = forEachField(field.text, [&](const Fields &part) {
        if (part.number == 1)
          iid = part.value;
        else if (part.number == 2)
          name = part.text.take_front(longestName), other = part.value;
        return true;
      });
      if (field.number == 2)
        sequence.names[iid] = name;
      else if (field.number == 5)
        sequence.functions[iid] = name;
      else
        (field.number == 6 ? sequence.frames : sequence.stacks)[iid] = other;
      return ok;
    });
  }
  static bool takeTimebase(StringRef bytes, Timebase &timebase) {
    uint64_t period = 0, frequency = 0, counter = 1;
    bool ok = forEachField(bytes, [&](const Fields &field) {
      if (field.number == 1)
        period = field.value;
      else if (field.number == 2)
        frequency = field.value;
      else if (field.number == 4)
        counter = field.value;
      else if (field.number == 3 || field.number == 5) // an event without a number
        counter = UINT64_MAX;
      return true;
    });
    // cpu-clock, which is also what nothing said means, and task-clock.
    bool isClock = counter <= 1 || counter == 3;
    timebase.period = period ? period : isClock && frequency ? 1'000'000'000 / frequency : 0;
    timebase.isTime = isClock && timebase.period;
    return ok;
  }
  static bool takeDefaults(StringRef bytes, Sequence &sequence) {
    return forEachField(bytes, [&](const Fields &field) {
      if (field.number == 58)
        sequence.defaultClock = field.value;
      return (field.number != 11 && field.number != 12) || forEachField(field.text, [&](const Fields &part) {
               if (field.number == 12)
                 return part.number != 1 || takeTimebase(part.text, sequence.timebase);
               if (part.number == 11)
                 sequence.defaultTrack = part.value;
               return true;
             });
    });
  }
  static bool takeSnapshot(StringRef bytes, Sequence &sequence) {
    return forEachField(bytes, [&](const Fields &field) {
      uint64_t id = 0;
      Clock clock;
      if (field.number != 1 || !field.hasText)
        return true;
      bool ok = forEachField(field.text, [&](const Fields &part) {
        if (part.number == 1)
          id = part.value;
        else if (part.number == 2)
          clock.now = part.value;
        else if (part.number == 3)
          clock.incremental = part.value;
        else if (part.number == 4)
          clock.unit = part.value;
        return true;
      });
      if (clock.unit == 0)
        clock.unit = 1;
      __builtin_mul_overflow(clock.now, clock.unit, &clock.now);
      sequence.clocks[id] = clock;
      return ok;
    });
  }

  bool takeEvent(StringRef bytes, Sequence &sequence, uint64_t time) {
    uint64_t type = 0, iid = 0, track = sequence.defaultTrack;
    StringRef name;
    if (!forEachField(bytes, [&](const Fields &field) {
          if (field.number == 9)
            type = field.value;
          else if (field.number == 10)
            iid = field.value;
          else if (field.number == 11)
            track = field.value;
          else if (field.number == 23)
            name = field.text;
          return true;
        }))
      return false;
    std::vector<Slice> &slices = open[track];
    if (type == 1) { // TYPE_SLICE_BEGIN
      auto interned = sequence.names.find(iid);
      slices.push_back(
          {!name.empty() || interned == sequence.names.end() ? name.take_front(longestName) : interned->second, time});
    } else if (type == 2 && !slices.empty()) { // TYPE_SLICE_END; what began before the trace has no beginning
      Slice slice = std::move(slices.back());
      slices.pop_back();
      if (time < slice.begin) {
        failure = "\"" + printable(slice.name, 60) + "\" ends before it begins";
        return false;
      }
      return add(profile, rows, slice.name, time - slice.begin);
    }
    return true;
  }

  static StringRef innermost(uint64_t stack, const Sequence &sequence) {
    auto frame = sequence.stacks.find(stack);
    auto function = sequence.frames.find(frame == sequence.stacks.end() ? 0 : frame->second);
    auto name = sequence.functions.find(function == sequence.frames.end() ? 0 : function->second);
    return name == sequence.functions.end() || name->second.empty() ? "[unknown]" : name->second;
  }

  /// Of traced_perf. The innermost function counts, as in what perf script prints.
  bool takeSample(StringRef bytes, const Sequence &sequence) {
    uint64_t stack = 0;
    bool isSample = true;
    if (!forEachField(bytes, [&](const Fields &field) {
          if (field.number == 4)
            stack = field.value;
          else if (field.number == 17 || field.number == 18) // tells of samples that are not there
            isSample = false;
          return true;
        }))
      return false;
    if (!isSample) {
      ++lost;
      return true;
    }
    const Timebase &every = sequence.timebase;
    return addSample(innermost(stack, sequence), every.period ? every.period : 1, every.isTime);
  }

  /// Of Chromium's sampler: stacks, and how many microseconds each is behind the one before it, in the packet before,
  /// too. A sample lasts until the next one; the last one of a sequence, and before it begins anew, has no end.
  bool takeStream(StringRef bytes, Sequence &sequence) {
    std::vector<uint64_t> stacks, deltas;
    if (!forEachField(bytes, [&](const Fields &field) {
          if (field.number == 1)
            stacks.push_back(field.value);
          else if (field.number == 2)
            deltas.push_back(field.value);
          return true;
        }))
      return false;
    if (stacks.size() != deltas.size()) {
      failure = "a packet has " + std::to_string(stacks.size()) + " sampled stacks and " +
                std::to_string(deltas.size()) + " times";
      return false;
    }
    for (auto [stack, delta] : llvm::zip(stacks, deltas)) {
      uint64_t time = 0;
      if (static_cast<int64_t>(delta) < 0 || __builtin_mul_overflow(delta, uint64_t(1000), &time)) {
        failure = "a sampled stack ends before it begins";
        return false;
      }
      if (!sequence.running.empty() && !addSample(sequence.running, time, true))
        return false;
      sequence.running = innermost(stack, sequence);
    }
    return true;
  }

  bool addSample(StringRef called, uint64_t value, bool isTime) {
    if (!add(sampled, functions, called, value))
      return false;
    ProfileRow &row = sampled.rows[functions[called]];
    if (row.count == 1) {
      row.ownDetails().symbol = row.tensor;
      row.backend = "cpu";
      row.metric = isTime ? "time" : "cycles";
      row.unit = isTime ? "ns" : "cycles";
    }
    if ((row.metric == "time") != isTime || (sampled.rows.front().metric == "time") != isTime) {
      failure = "there are samples of several events";
      return false;
    }
    return true;
  }

  /// V8 notes a chunk of samples as text: JSON, in an annotation of an event.
  bool takeSamples(StringRef bytes, uint64_t sequence) {
    return forEachField(bytes, [&](const Fields &field) {
      return field.number != 4 || !field.hasText || forEachField(field.text, [&](const Fields &part) {
               if (part.number != 9 || !part.text.starts_with("{") || !hasKey(part.text, "cpuProfile"))
                 return true;
               llvm::Error error = checkJson(part.text);
               if (!error)
                 error =
                     samples.add(std::to_string(sequence), nlohmann::json::parse(part.text.begin(), part.text.end()));
               if (!error)
                 return true;
               failure = llvm::toString(std::move(error));
               return false;
             });
    });
  }

  bool add(Profile &profile, std::map<StringRef, size_t> &rows, StringRef name, uint64_t time) {
    auto [found, isNew] = rows.try_emplace(name, profile.rows.size());
    if (isNew) {
      ProfileRow &row = profile.rows.emplace_back();
      row.rawName = row.tensor = name.str();
      if (name == "Invoke")
        row.metric = "graph_time";
    } else {
      ++profile.rows[found->second].count;
    }
    if (llvm::Error error = addTime(profile.rows[found->second], time)) {
      failure = llvm::toString(std::move(error));
      return false;
    }
    return true;
  }
};

llvm::Error readPerfetto(StringRef bytes, const ProfileOptions &, Profile &profile) {
  profile.tool = "perfetto";
  Reader reader(profile);
  bool whole = forEachField(bytes, [&](const Fields &field) {
    return field.number != packetField || !field.hasText || reader.packet(field.text);
  });
  if (!whole)
    return makeError(reader.failure.empty() ? "damaged or truncated: this is no trace of Perfetto" : reader.failure);
  bool isSampled = !reader.sampled.rows.empty();
  if (isSampled && !reader.samples.empty())
    return makeError("has samples of native code and of V8; record one of them");
  if (isSampled || !reader.samples.empty()) {
    if (!profile.rows.empty())
      profile.notes.push_back("the trace has samples, by which its " + std::to_string(profile.rows.size()) +
                              " kinds of slices are left out");
    profile.rows = std::move(reader.sampled.rows);
    if (reader.lost)
      profile.notes.push_back(std::to_string(reader.lost) + " packets tell of samples that were lost");
    return isSampled ? llvm::Error::success() : reader.samples.finish(profile);
  }
  if (size_t count = reader.unfinished())
    profile.notes.push_back(std::to_string(count) + " slices begin and never end, and are left out");
  return llvm::Error::success();
}

} // namespace

namespace origo::report::formats {

std::vector<ProfileFormat> Perfetto() {
  return {{"perfetto", Rank::Bytes, isPerfetto, readPerfetto,
           "traces in protocol buffers (.pftrace), whose slices are called as tensors, or samples of functions"}};
}

} // namespace origo::report::formats
