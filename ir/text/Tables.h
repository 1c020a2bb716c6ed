#pragma once

#include "ir/text/Lexer.h"
#include "schema/WireSchema.h"

#include "llvm/ADT/STLFunctionalExtras.h"

namespace origo::text {

/// The subgraph names that stand for indices in options: which fields hold indices, and how an index is spelled. The
/// printer returns false for an index that has no name.
struct GraphFields {
  llvm::ArrayRef<llvm::StringRef> names;
  llvm::function_ref<bool(llvm::raw_ostream &, int64_t)> print;
  llvm::function_ref<bool(Reader &, int64_t &)> parse; ///< the current token is an @name
};

/// `{field=value, …}` with what differs from the defaults.
void printTable(llvm::raw_ostream &os, const wire::TableType &type, const flatbuffers::Table &table,
                const GraphFields &graphs = {});
/// Is there anything to print?
bool hasContent(const wire::TableType &type, const flatbuffers::Table &table);

/// Reads such a table and builds it. The depth is that of the schema, which has no recursive types.
bool parseTable(Reader &reader, const wire::TableType &type, flatbuffers::FlatBufferBuilder &builder,
                flatbuffers::uoffset_t &table, const GraphFields &graphs = {});

} // namespace origo::text
