#pragma once

#include "commands/Optimize.h"
#include "commands/Page.h"
#include "commands/Quantize.h"
#include "commands/RecordMinMax.h"
#include "eval/Session.h"
#include "export/Export.h"
#include "import/Import.h"
#include "origin/codec/OriginFile.h"
#include "quantize/Calibrate.h"
#include "report/metrics/Metrics.h"

/// What the Python module does, without Python.
namespace origo::python {

class LoadedModel;
using ModelPtr = std::shared_ptr<LoadedModel>;
using Open = llvm::function_ref<llvm::Expected<std::unique_ptr<quantize::Records>>(llvm::ArrayRef<eval::Port>)>;

/// A model that never changes: the bytes of a file, mapped from a copy that nobody else has, so that whoever changes or
/// cuts off the file does not end Python, and the origin map that belongs to them. Each use of its graph reads it anew,
/// so that threads need not wait for each other.
class LoadedModel {
public:
  /// A text becomes a binary model of the format that it names. `mapPath`: a side file; empty: as the model has it.
  static llvm::Expected<ModelPtr> open(const std::string &path, const std::string &mapPath);
  static llvm::Expected<ModelPtr> fromBytes(llvm::StringRef bytes, const std::string &name);

  llvm::Expected<Imported> import(ImportOptions options = {}) const;
  llvm::ArrayRef<uint8_t> bytes() const { return file->bytes(); }
  const std::string &path() const { return file->path(); } ///< as messages name it
  /// The bytes, and the side file beside them.
  llvm::Error save(const std::string &path, bool sideFile) const;

  llvm::Expected<ModelPtr> optimize(commands::OptimizeRequest request) const;
  llvm::Expected<ModelPtr> quantize(commands::QuantizeRequest request) const;
  /// The same model, with the range of each tensor.
  llvm::Expected<ModelPtr> calibrate(commands::RecordRequest request) const;
  llvm::Expected<quantize::Statistics> statistics(Open open) const;
  /// The same model, with the origins in `source` that are found by what both compute.
  llvm::Expected<ModelPtr> infer(const LoadedModel &source, unsigned seed) const;

  /// Answers about origins; an error where there is no map.
  llvm::Expected<std::string> mapJson() const;
  llvm::Expected<std::string> where(const std::string &what) const;
  llvm::Expected<std::string> from(const std::string &what) const;
  llvm::Expected<std::vector<std::string>> check(const LoadedModel *source) const;
  /// What exact arithmetic says of it and of its source, as `origin-dump --prove --json` prints it.
  llvm::Expected<std::string> prove(const LoadedModel &source) const;
  llvm::Expected<std::string> metricsCsv(report::Rows rows, const LoadedModel *source) const;
  /// What else the page has, `request` says.
  llvm::Expected<std::string> page(commands::PageRequest request, const LoadedModel *source) const;

  bool hasMap() const { return map != nullptr; }
  Format format = Format::Circle;
  uint32_t rewrites = 0; ///< of the step that made it
  std::vector<std::string> notes;

private:
  std::shared_ptr<MappedFile> file;
  std::unique_ptr<origin::ModelFile> tables;
  std::shared_ptr<const origin::OriginMap> map; ///< null: it is its own source

  /// Of a file that nobody else has; `path` is what it is called from now on.
  static llvm::Expected<ModelPtr> adopt(const std::string &file, const std::string &path);
  static llvm::Expected<ModelPtr> write(Imported &imported, Format format, origin::Embed embed, const std::string &path,
                                        std::vector<std::string> notes);
  llvm::Expected<const origin::OriginMap *> wantMap() const;
};

} // namespace origo::python
