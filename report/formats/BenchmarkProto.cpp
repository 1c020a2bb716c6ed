/// TFLite's benchmark_model: the protocol buffers of --op_profiling_output_mode=proto and
/// --model_runtime_info_output_file, taken apart by hand.

#include "report/profile/Protobuf.h"
#include "report/profile/Readers.h"

#include "ir/Error.h"

using namespace origo;
using namespace origo::report;
using llvm::StringRef;

namespace {

llvm::Error damaged(const char *message) { return makeError("damaged or truncated: " + llvm::Twine(message)); }

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

static bool isBenchmarkProto(StringRef bytes) {
  // A message begins with the tag of its first field: the model's name, or one of the two profiles. No text has the
  // bytes of the tags inside. A trace of Perfetto is one field over and over.
  Fields fields(bytes);
  bool repeats = fields.next() && fields.number == 1 && fields.next() && fields.number == 1;
  return !repeats && !bytes.empty() && StringRef("\x0a\x12\x1a").contains(bytes.front()) &&
         bytes.find_first_of(StringRef("\0\1\2\3\4\5\6\7\x10\x12\x1a", 11)) != StringRef::npos;
}

static llvm::Error readBenchmarkProto(StringRef bytes, const ProfileOptions &, Profile &profile) {
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

namespace origo::report::formats {

std::vector<ProfileFormat> BenchmarkProto() {
  return {{"benchmark_model", Rank::Bytes, isBenchmarkProto, readBenchmarkProto, "--op_profiling_output_mode=proto"}};
}

} // namespace origo::report::formats
