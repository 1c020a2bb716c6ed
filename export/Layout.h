#pragma once

#include "export/Tables.h"
#include "export/Writer.h"

namespace origo {

/// Where everything lies in the file: tables, payloads in the tables, payloads by position, the origin map, the
/// archive.
class Layout {
public:
  /// Gives the references of `tables` their positions and patches the tables. The notes are for the user.
  Layout(const Model &model, Tables &tables, std::vector<std::string> *notes);
  /// Do the tables and what they refer to by flatbuffer offset end within a flatbuffer's 2 GB?
  bool fits() const { return inlineEnd <= Tables::maxBytes; }
  uint64_t size() const { return total; }
  void write(OutputFile &file);

private:
  const Model &model;
  Tables &tables;
  const Payload &archive;
  std::string archiveTail; ///< the archive's directory with its offsets moved; empty: as it was
  uint64_t inlineEnd, total;
  void place();
  void patch();
  void moveArchive(uint64_t position, std::vector<std::string> *notes);
};

} // namespace origo
