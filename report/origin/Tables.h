#pragma once

#include "report/origin/Words.h"

namespace origo::report {

/// One line an operator of the written file, in columns; with `full`, nothing
/// is shortened.
void printTable(const MapNames &names, bool full, llvm::raw_ostream &os);
void printLedger(const MapNames &names, bool full, llvm::raw_ostream &os);
void printSummary(const MapNames &names, llvm::raw_ostream &os);
void printCsv(const MapNames &names, llvm::raw_ostream &os);
/// Source operators and written operators side by side, with an edge for each origin. What is gone is dashed, and so
/// are the edges to where its work went.
void printDot(const MapNames &names, llvm::raw_ostream &os);

} // namespace origo::report
