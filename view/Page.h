#pragma once

#include "origin/check/Violation.h"
#include "report/join/Join.h"
#include "report/metrics/Metrics.h"
#include "report/target/Target.h"

/// One HTML file that shows a model beside its source and how they are related, without a server and without fetching
/// anything.
namespace origo::view {

/// A model, and what it costs.
struct PageModel {
  const Imported *imported;
  const report::ModelMetrics *metrics;
  std::string file; ///< base name
};

/// That the laws of the origin map were checked when the page was written, and against what.
struct Proof {
  std::vector<origin::Violation> violations;
  std::vector<std::string> skipped;
  bool withSource = false;
};

/// A profile joined with the model.
struct PageProfile {
  std::string file;
  report::Join join;
};

/// What `--errors` says of a tensor of the source.
struct TensorError {
  uint32_t tensor;                                     ///< source id
  std::vector<std::pair<std::string, double>> figures; ///< by name: a metric, "own" or "inherited"
};

/// An operator of the result whose inferred origins were not executed on all seeds.
struct OriginDoubt {
  uint32_t subgraph, index;
  llvm::StringRef word; ///< "unproved", "ambiguous", "unknown"
};

struct PageContents {
  PageModel result;
  std::optional<PageModel> source;
  const origin::OriginMap *map = nullptr; ///< null: the model carries none
  bool isGuessed = false;                 ///< the map is a guess from names
  std::vector<OriginDoubt> doubts;        ///< where the map was inferred
  std::optional<Proof> proof;
  std::vector<PageProfile> profiles;
  std::vector<TensorError> errors;
  std::string history; ///< of readHistory(); empty: none
  bool histograms = false;
  std::string targetName; ///< empty: no target was given
  std::vector<report::Violation> unsupported;
  std::vector<std::string> notes; ///< for the reader, of what is missing
};

/// The data that the page shows, as JSON in UTF-8, in columns; view/page/data.js reads it.
std::string pageData(const PageContents &contents);

/// The page. Text from the model is in it only as compressed bytes in base64, which hold no markup.
void writePage(llvm::StringRef data, llvm::raw_ostream &os);

} // namespace origo::view
