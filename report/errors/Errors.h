#pragma once

#include "eval/Session.h"
#include "report/errors/Part.h"
#include "report/errors/Recover.h"

#include <memory>

/// How far a model's tensors are from those of the model that it was made from, in terms of the latter: its source
/// here, whatever the origin map calls so.
///
/// Both run on the same inputs, and a tensor is compared while both live. A third run, of the source again, is *led*:
/// as soon as it has computed a tensor that has a counterpart, it goes on with what the result's run has there. So
/// before that a tensor shows what its operator makes of the result's operands, which is inherited error alone; and a
/// tensor that has no counterpart is recovered, from the nearest ones that have. Led the other way, the result shows on
/// the source's operands what each of its layers adds.
namespace origo::report {

struct ErrorOptions {
  eval::CompileOptions compile = {};
  bool own = true; ///< two more runs: what each layer adds itself
};

/// One tensor of the source: computed, an input, or an output.
struct ErrorRow {
  const Value *value;
  bool isOutput = false;            ///< compared in every record, and never recovered
  bool recovered = false;           ///< it has no counterpart; the figures are of inherited error
  std::string unmeasured = {};      ///< why there are none
  std::optional<double> scale = {}; ///< of its counterpart, where that has one for the whole tensor
  ErrorSums total = {}, own = {}, inherited = {};
  /// What its own error does to the outputs, all else being right: root of the mean square in parts of an output's
  /// range, mean over outputs and records. Where it was asked for.
  std::optional<double> effect = {};
};

/// Own errors of a record, by tensor and how often it had been computed before: what is to be added to the source's.
using OwnErrors = std::map<std::pair<const Value *, unsigned>, std::vector<float>>;

class ErrorRun {
public:
  /// Both models stay as they are, and must outlive this.
  static llvm::Expected<ErrorRun> of(const Imported &source, const Imported &result, const ErrorOptions &options);
  ErrorRun(ErrorRun &&) noexcept;
  ~ErrorRun();

  /// In the order of the source's files. One of "" where the model has none.
  std::vector<std::string> signatures() const;
  llvm::Expected<llvm::ArrayRef<eval::Port>> inputs(llvm::StringRef signature) const;
  const Pairs &pairs() const;

  /// Runs all on a record: the source's inputs in the order of inputs(). `own`: takes own errors.
  llvm::Error add(llvm::StringRef signature, llvm::ArrayRef<eval::OwnedTensor> inputs, OwnErrors *own = nullptr);
  /// The same where the result ran elsewhere: `replace` writes into each tensor that the result computes here what it
  /// was there. What it leaves alone is computed from the others. Own error is what the tensor is off from what the
  /// source's operator makes of the result's operands.
  llvm::Error addReplaced(llvm::StringRef signature, llvm::ArrayRef<eval::OwnedTensor> inputs, eval::Observer replace);
  /// Ends a record, which is all that was added since the one before.
  void endRecord();
  /// Adds the effect of each layer's own error in a record to what is known of it.
  llvm::Error addEffects(llvm::StringRef signature, const std::vector<eval::OwnedTensor> &inputs, const OwnErrors &own);

  /// How far the result's outputs are from the source's when the source does the work of these layers: measured like an
  /// effect; infinite where a number is finite in one of the two only. An error: an output cannot be compared.
  llvm::Expected<double> errorWith(llvm::StringRef signature, const std::vector<eval::OwnedTensor> &inputs,
                                   const Layers &layers) const;

  /// What has been measured, without the names of models and records; and what was elsewhere, instead of it. Refused:
  /// it is of other tensors.
  const ErrorPart &measured() const;
  llvm::Error take(ErrorPart part);

  /// By subgraph: its inputs, and what is computed, in the order of execution. Rows without figures say why.
  std::vector<ErrorRow> rows() const;

private:
  struct Parts;
  class Record;
  explicit ErrorRun(std::unique_ptr<Parts> parts);
  std::unique_ptr<Parts> parts;
};

} // namespace origo::report
