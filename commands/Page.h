#pragma once

#include "export/Writer.h"
#include "origin/Files.h"
#include "view/Page.h"

/// The page of origin-view, from models that have been read and files that belong to them.
namespace origo::commands {

struct PageInput {
  Imported imported;
  const origin::ModelFile *file = nullptr; ///< its bytes; null: it is a text
  std::string path;                        ///< as messages name it
};

struct PageRequest {
  PageInput result;
  std::optional<PageInput> source;
  std::shared_ptr<const origin::OriginMap> map; ///< of the result; null: there is none
  std::string history, errors, target;          ///< files; empty: none
  std::vector<std::string> profiles;
  bool histograms = false;
  unsigned threads = 1;
  std::vector<std::string> notes;                ///< for the reader of the page
  std::function<void(llvm::StringRef)> note;     ///< takes one-line notices for the user; may be null
  std::function<void(const char *word)> onPhase; ///< told of what begins: "measuring", "checking"; may be null
};

/// What view::writePage() writes. An error: the source is not the one that the map names, or a file is refused.
llvm::Expected<std::string> pageData(PageRequest &&request);

} // namespace origo::commands
