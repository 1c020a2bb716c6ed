#include "report/profile/KernelTable.h"

#include "report/profile/Readers.h"

#include "ir/Error.h"

#include "nlohmann/json.hpp"
#include "llvm/ADT/STLExtras.h"

#include <set>

using namespace origo;
using namespace origo::report;
using nlohmann::json;

const Kernel *KernelTable::atOffset(uint64_t offset) const {
  auto behind = llvm::partition_point(kernels, [&](const Kernel &kernel) { return kernel.offset <= offset; });
  if (behind == kernels.begin())
    return nullptr;
  const Kernel &kernel = *std::prev(behind);
  return offset - kernel.offset < kernel.size ? &kernel : nullptr;
}

/// A number, or one in a string, which may be hexadecimal as JSON's cannot.
static bool toNumber(const json &value, uint64_t &result) {
  if (value.is_string())
    return !llvm::StringRef(value.get_ref<const std::string &>()).getAsInteger(0, result);
  if (!value.is_number_unsigned())
    return false;
  result = value.get<uint64_t>();
  return true;
}

static llvm::Error readKernel(const json &entry, Kernel &kernel) {
  if (!entry.is_object())
    return makeError("is not an object");
  if (!entry.contains("kernel") || !toNumber(entry["kernel"], kernel.id))
    return makeError("\"kernel\" must be a number");
  if (!entry.contains("offset") || !toNumber(entry["offset"], kernel.offset))
    return makeError("\"offset\" must be a number");
  if (entry.contains("size") && (!toNumber(entry["size"], kernel.size) || !kernel.size))
    return makeError("\"size\" must be a number from 1 on");
  if (kernel.size - 1 > UINT64_MAX - kernel.offset)
    return makeError("ends behind the largest offset");
  if (entry.contains("name") && entry["name"].is_string())
    kernel.name = entry["name"].get<std::string>();
  uint64_t number = 0;
  if (entry.contains("subgraph") && (!toNumber(entry["subgraph"], number) || number > UINT32_MAX))
    return makeError("\"subgraph\" must be an index");
  kernel.subgraph = static_cast<uint32_t>(number);
  if (!entry.contains("operators") || !entry["operators"].is_array() || entry["operators"].empty())
    return makeError("\"operators\" must list indices of operators");
  for (const json &index : entry["operators"]) {
    if (!toNumber(index, number) || number > UINT32_MAX)
      return makeError("\"operators\" must list indices of operators");
    kernel.operators.push_back(static_cast<uint32_t>(number));
  }
  llvm::sort(kernel.operators);
  if (std::adjacent_find(kernel.operators.begin(), kernel.operators.end()) != kernel.operators.end())
    return makeError("\"operators\" names an operator twice");
  return llvm::Error::success();
}

llvm::Expected<KernelTable> report::readKernelTable(llvm::StringRef text) {
  if (llvm::Error error = checkJson(text))
    return error;
  json file = json::parse(text.begin(), text.end());
  if (!file.is_object() || !file.contains("format") || file["format"] != "origo.kernels")
    return makeError("is no table of kernels: \"format\" must be \"origo.kernels\"");
  if (!file.contains("version") || file["version"] != 1)
    return makeError("is a table of kernels of another version than 1");
  KernelTable table;
  if (!file.contains("fingerprint") || !file["fingerprint"].is_string())
    return makeError("\"fingerprint\" must be that of the model, as origin-dump --fingerprint prints it");
  table.fingerprint = file["fingerprint"].get<std::string>();
  if (!file.contains("kernels") || !file["kernels"].is_array())
    return makeError("\"kernels\" must be a list");
  std::set<uint64_t> ids;
  for (size_t i = 0; i < file["kernels"].size(); ++i) {
    Kernel kernel;
    llvm::Error error = readKernel(file["kernels"][i], kernel);
    if (!error && !ids.insert(kernel.id).second)
      error = makeError("kernel " + llvm::Twine(kernel.id) + " is there twice");
    if (error)
      return makeError("kernels[" + llvm::Twine(i) + "]: " + llvm::toString(std::move(error)));
    table.kernels.push_back(std::move(kernel));
  }
  llvm::stable_sort(table.kernels, [](const Kernel &a, const Kernel &b) { return a.offset < b.offset; });
  for (size_t i = 1; i < table.kernels.size(); ++i)
    if (table.kernels[i].offset - table.kernels[i - 1].offset < table.kernels[i - 1].size)
      return makeError("kernels " + llvm::Twine(table.kernels[i - 1].id) + " and " + llvm::Twine(table.kernels[i].id) +
                       " overlap");
  return table;
}
