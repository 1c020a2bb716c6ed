/// Perfetto's traces in protocol buffers: begin and end of slices on tracks. Names are spelt out or interned per
/// sequence; times are absolute, or differences in a clock of the sequence.

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

struct Sequence {
  std::map<uint64_t, StringRef> names;
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
    StringRef event, interned, defaults, snapshot;
    bool hasTime = false, ok = forEachField(bytes, [&](const Fields &field) {
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
                            case 58:
                              clock = field.value;
                              break;
                            case 59:
                              defaults = field.text;
                              break;
                            }
                            return true;
                          });
    if (!ok)
      return false;
    Sequence &sequence = sequences[id];
    if (flags & 1) // the sequence begins anew
      sequence.names.clear();
    if (!takeSnapshot(snapshot, sequence) || !takeDefaults(defaults, sequence) || !takeNames(interned, sequence))
      return false;
    if (hasTime) {
      Clock &is = sequence.clocks[clock ? clock : sequence.defaultClock];
      __builtin_mul_overflow(time, is.unit, &time);
      time = is.now = is.incremental ? is.now + time : time;
    }
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

private:
  Profile &profile;
  std::map<uint64_t, Sequence> sequences;
  std::map<uint64_t, std::vector<Slice>> open; ///< by track
  std::map<StringRef, size_t> rows;

  static bool takeNames(StringRef bytes, Sequence &sequence) {
    return forEachField(bytes, [&](const Fields &field) {
      uint64_t iid = 0;
      StringRef name;
      if (field.number != 2 || !field.hasText)
        return true;
      bool ok = forEachField(field.text, [&](const Fields &part) {
        if (part.number == 1)
          iid = part.value;
        else if (part.number == 2)
          name = part.text;
        return true;
      });
      sequence.names[iid] = name.take_front(longestName);
      return ok;
    });
  }
  static bool takeDefaults(StringRef bytes, Sequence &sequence) {
    return forEachField(bytes, [&](const Fields &field) {
      if (field.number == 58)
        sequence.defaultClock = field.value;
      return field.number != 11 || forEachField(field.text, [&](const Fields &part) {
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
      return add(slice.name, time - slice.begin);
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

  bool add(StringRef name, uint64_t time) {
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
  if (!reader.samples.empty()) {
    if (!profile.rows.empty())
      profile.notes.push_back("the trace has samples, by which its " + std::to_string(profile.rows.size()) +
                              " kinds of slices are left out");
    profile.rows.clear();
    return reader.samples.finish(profile);
  }
  if (size_t count = reader.unfinished())
    profile.notes.push_back(std::to_string(count) + " slices begin and never end, and are left out");
  return llvm::Error::success();
}

} // namespace

namespace origo::report::formats {

std::vector<ProfileFormat> Perfetto() {
  return {{"perfetto", Rank::Bytes, isPerfetto, readPerfetto,
           "traces in protocol buffers (.pftrace), whose slices are called as tensors, or V8's samples"}};
}

} // namespace origo::report::formats
