#pragma once

#include "ir/Model.h"

#include "llvm/Support/raw_ostream.h"

namespace origo {

struct PrintOptions {
  bool origins = false; ///< origins, passes and relations as trailing comments
  bool quantization = true;
  /// Constants of more bytes than this are printed as a splat (where they are one) or a digest, others in full.
  uint64_t inlineBytes = 256;
  /// Where not empty: bigger constants are written to this file and referred to by offset, so that the text is
  /// complete.
  std::string dataFile = {};
  /// What only the file's layout shows: the order of tensors, buffers and operator codes where it is not that of first
  /// appearance, and buffers without bytes. Without it the text reads better and parses to the same graph.
  bool layout = true;
};

/// Prints the whole model; parse(print(m)) equals m in everything but the bytes behind a digest. A data file that
/// cannot be written ends the program: where there is one, use writeText.
void printText(Model &model, llvm::raw_ostream &os, const PrintOptions &options = {});
/// The same; fails if the data file cannot be written.
llvm::Error writeText(Model &model, llvm::raw_ostream &os, const PrintOptions &options);
/// One operator in one line without a newline, for diagnostics. Names are printed though they may not be unique.
void printOperator(const Operator &op, llvm::raw_ostream &os);
/// The options of an operator as the text form has them, without braces; nothing where it has none.
void printOptions(const Operator &op, llvm::raw_ostream &os);
/// The ledger as comments, one row a line, and what is lost.
void printLedger(Model &model, llvm::raw_ostream &os);

/// Parses a text. Errors are ModelErrors whose message begins with `line L, column C: `. `directory` is where file
/// references are looked up; `store` takes constants that a seed or a splat stands for.
llvm::Expected<std::unique_ptr<Model>> parseText(llvm::StringRef text, llvm::StringRef directory, PayloadStore &store);

} // namespace origo
