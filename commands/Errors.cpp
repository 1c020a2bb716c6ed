#include "commands/Errors.h"

#include "commands/JsonOutput.h"
#include "export/Writer.h"

namespace origo::commands {

llvm::Expected<std::vector<uint64_t>> runRecords(report::ErrorRun &run, quantize::OpenRecords open,
                                                 const ErrorRecords &options) {
  struct Part {
    std::string signature;
    std::unique_ptr<quantize::Records> records;
  };
  std::vector<Part> parts;
  uint64_t count = 0;
  for (const std::string &signature : run.signatures()) {
    auto ports = run.inputs(signature);
    if (!ports)
      return ports.takeError();
    auto records = open(*ports, run.signatures().size() > 1 ? signature : "");
    if (!records)
      return records.takeError();
    count = std::max(count, (*records)->count());
    parts.push_back({signature, std::move(*records)});
  }
  if (options.most)
    count = std::min(count, *options.most);
  std::vector<uint64_t> numbers;
  for (uint64_t i = options.shard.part - 1; i < count; i += options.shard.parts) {
    for (const Part &part : parts) {
      if (i >= part.records->count())
        continue;
      auto inputs = part.records->read(i);
      if (!inputs)
        return inputs.takeError();
      report::OwnErrors own;
      bool effects = i < options.withEffects;
      llvm::Error error = effects ? run.add(part.signature, *inputs, &own) : run.add(part.signature, *inputs);
      if (!error && effects)
        error = run.addEffects(part.signature, *inputs, own);
      if (error)
        return makeError("record " + llvm::Twine(i) + ": " + llvm::toString(std::move(error)));
      if (effects && options.onEffect)
        options.onEffect(part.signature, std::move(*inputs));
    }
    run.endRecord();
    numbers.push_back(i);
    if (options.progress)
      options.progress(i + 1, count);
  }
  return numbers;
}

llvm::Error writeErrorFiles(const report::ErrorReport &report, llvm::ArrayRef<ErrorFile> files) {
  std::vector<std::unique_ptr<OutputFile>> open;
  std::vector<OutputFile *> done;
  for (const ErrorFile &wanted : files) {
    auto file = OutputFile::open(wanted.path);
    if (!file)
      return file.takeError();
    {
      OutputStream os(**file);
      JsonOutput escaped(os);
      wanted.dot ? report::writeErrorDot(report, *wanted.metric, os)
                 : report::writeErrors(report, *wanted.metric, escaped);
    }
    if (llvm::Error error = (*file)->finish())
      return error;
    done.push_back(file->get());
    open.push_back(std::move(*file));
  }
  return OutputFile::commit(done);
}

} // namespace origo::commands
