/// TFLite's benchmark_model: the protocol buffers of --op_profiling_output_mode=proto and
/// --model_runtime_info_output_file, taken apart by hand.

#include "report/profile/Readers.h"

#include "ir/Error.h"

using namespace origo;
using namespace origo::report;
using llvm::StringRef;

namespace {

/// Goes through the fields of a message.
class Fields {
public:
  explicit Fields(StringRef bytes) : bytes(bytes) {}

  uint32_t number = 0;
  uint64_t value = 0; ///< of a varint or a fixed field
  StringRef text;     ///< of a field that has a length
  bool hasText = false;
  bool failed = false;

  bool next() {
    if (bytes.empty() || failed)
      return false;
    uint64_t tag = varint();
    number = static_cast<uint32_t>(tag >> 3);
    hasText = false;
    text = {};
    value = 0;
    if (!number || tag >> 32)
      failed = true;
    switch (tag & 7) {
    case 0:
      value = varint();
      break;
    case 1:
      fixed(8);
      break;
    case 2: {
      uint64_t size = varint();
      failed |= size > bytes.size();
      if (!failed) {
        text = bytes.take_front(size);
        bytes = bytes.drop_front(size);
        hasText = true;
      }
      break;
    }
    case 5:
      fixed(4);
      break;
    default: // groups are not used here
      failed = true;
    }
    return !failed;
  }

private:
  StringRef bytes;

  uint64_t varint() {
    uint64_t result = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      if (bytes.empty())
        break;
      uint64_t byte = static_cast<uint8_t>(bytes.front());
      bytes = bytes.drop_front();
      result |= (byte & 127) << shift;
      if (byte < 128)
        return result;
    }
    failed = true;
    return 0;
  }
  void fixed(size_t size) {
    failed |= bytes.size() < size;
    bytes = bytes.drop_front(std::min(bytes.size(), size));
  }
};

llvm::Error damaged(const char *message) { return makeError("damaged or truncated: " + llvm::Twine(message)); }

/// Calls `visit` with each field; false stops.
template <class Visit> bool forEachField(StringRef bytes, Visit visit) {
  Fields fields(bytes);
  while (fields.next())
    if (!visit(fields))
      return false;
  return !fields.failed;
}

bool readOperator(StringRef bytes, uint32_t subgraph, const char *metric, Profile &profile) {
  ProfileRow row;
  StringRef type, name;
  uint64_t average = 0;
  bool whole = forEachField(bytes, [&](const Fields &field) {
    if (field.number == 1 && field.hasText)
      type = field.text;
    else if (field.number == 5 && field.hasText)
      name = field.text;
    else if (field.number == 4)
      row.count = field.value;
    else if (field.number == 2 && field.hasText)
      return forEachField(field.text, [&](const Fields &stat) {
        if (stat.number == 3)
          average = stat.value;
        return true;
      });
    return true;
  });
  describeBenchmarkRow(type, name, row);
  if (metric)
    row.metric = metric;
  row.subgraph = subgraph;
  // An int64 of microseconds: what is negative has its highest bit set, and is refused as too large.
  whole &= !__builtin_mul_overflow(average, 1000, &row.value);
  whole &= !__builtin_mul_overflow(row.value, std::max<uint64_t>(row.count, 1), &row.value) && !(row.value >> 63);
  profile.rows.push_back(std::move(row));
  return whole;
}

bool readSubgraph(StringRef bytes, const char *metric, Profile &profile) {
  uint32_t subgraph = 0;
  bool whole = forEachField(bytes, [&](const Fields &field) {
    if (field.number == 2)
      subgraph = static_cast<uint32_t>(field.value);
    return true;
  });
  return whole && forEachField(bytes, [&](const Fields &field) {
           return field.number != 3 || !field.hasText || readOperator(field.text, subgraph, metric, profile);
         });
}

bool readModel(StringRef bytes, const char *metric, Profile &profile) {
  return forEachField(bytes, [&](const Fields &field) {
    if (!field.hasText || (field.number != 1 && field.number != 2))
      return true;
    return readSubgraph(field.text, metric ? metric : field.number == 2 ? "delegate_time" : nullptr, profile);
  });
}

/// Packed or one by one.
bool appendNumbers(const Fields &field, std::vector<uint32_t> &list) {
  if (!field.hasText) {
    list.push_back(static_cast<uint32_t>(field.value));
    return true;
  }
  // The elements of a packed list are varints without tags.
  uint64_t number = 0;
  unsigned shift = 0;
  for (char c : field.text) {
    uint64_t byte = static_cast<uint8_t>(c);
    if (shift > 63)
      return false;
    number |= (byte & 127) << shift;
    shift += 7;
    if (byte < 128) {
      list.push_back(static_cast<uint32_t>(number));
      number = shift = 0;
    }
  }
  return shift == 0;
}

bool readNode(StringRef bytes, RuntimePartition &partition) {
  return forEachField(bytes, [&](const Fields &field) {
    if (field.number == 1 && !field.hasText)
      partition.node = static_cast<uint32_t>(field.value);
    if (field.number != 8 || !field.hasText)
      return true;
    return forEachField(field.text, [&](const Fields &detail) {
      return detail.number != 2 || appendNumbers(detail, partition.replaced);
    });
  });
}

} // namespace

bool report::isBenchmarkProto(StringRef bytes) {
  // A message begins with the tag of its first field: the model's name, or one of the two profiles. No text has the
  // bytes of the tags inside.
  return !bytes.empty() && StringRef("\x0a\x12\x1a").contains(bytes.front()) &&
         bytes.find_first_of(StringRef("\0\1\2\3\4\5\6\7\x10\x12\x1a", 11)) != StringRef::npos;
}

llvm::Error report::readBenchmarkProto(StringRef bytes, const ProfileOptions &, Profile &profile) {
  profile.tool = "benchmark_model";
  profile.includesCallees = true;
  bool any = false;
  bool whole = forEachField(bytes, [&](const Fields &field) {
    if (!field.hasText || (field.number != 2 && field.number != 3))
      return true;
    any |= field.number == 3;
    return readModel(field.text, field.number == 2 ? "init_time" : nullptr, profile);
  });
  if (!whole)
    return damaged("this is no BenchmarkProfilingData of benchmark_model, or a time in it is negative or too large");
  return any ? llvm::Error::success() : makeError("has no profile of regular runs: is the file whole?");
}

llvm::Expected<std::vector<RuntimePartition>> report::readRuntimeInfo(StringRef bytes) {
  std::vector<RuntimePartition> partitions;
  bool whole = forEachField(bytes, [&](const Fields &field) {
    if (field.number != 2 || !field.hasText)
      return true;
    uint32_t subgraph = 0;
    size_t first = partitions.size();
    bool ok = forEachField(field.text, [&](const Fields &inner) {
      if (inner.number == 1 && !inner.hasText)
        subgraph = static_cast<uint32_t>(inner.value);
      if (inner.number != 3 || !inner.hasText)
        return true;
      RuntimePartition partition;
      if (!readNode(inner.text, partition))
        return false;
      if (!partition.replaced.empty())
        partitions.push_back(std::move(partition));
      return true;
    });
    for (size_t i = first; i < partitions.size(); ++i)
      partitions[i].subgraph = subgraph;
    return ok;
  });
  if (!whole)
    return damaged("this is no ModelRuntimeDetails of benchmark_model");
  return partitions;
}
