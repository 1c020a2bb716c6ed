#include "commands/Divide.h"

#include "commands/Files.h"
#include "export/Writer.h"
#include "origin/Fingerprint.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

namespace origo::commands {

using llvm::Error;
using llvm::Expected;
using llvm::StringRef;
using report::Ports;
using report::Region;

Error keepOnly(Imported &imported, PayloadStore &store, StringRef pass, llvm::ArrayRef<Operator *> kept,
               Editor::PartOf partOf) {
  std::vector<int32_t> producers(imported.model->sourceTensors, -1);
  int32_t id = 0;
  for (const origin::SourceSubgraph &graph : imported.lineage.source->subgraphs)
    for (const origin::SourceOperator &op : graph.operators) {
      for (int32_t tensor : op.tensors)
        if (tensor >= 0 && static_cast<size_t>(tensor) < producers.size())
          producers[tensor] = id;
      ++id;
    }
  return Editor(*imported.model).keepOnly(pass, kept, partOf, producers);
}

namespace {

class Divider {
public:
  Divider(StringRef path, const ImportOptions &options, StringRef directory, const Door &door)
      : path(path), options(options), directory(directory), door(door) {}

  using Partition = llvm::function_ref<Expected<std::vector<Region>>(Model &model)>;
  /// Writes the parts and how they are connected.
  Error run(Partition partition) {
    Expected<Imported> whole = load(path, options, store, door);
    if (!whole)
      return whole.takeError();
    auto regions = partition(*whole->model);
    if (!regions)
      return inFile(path, regions.takeError());
    divided = std::move(*regions);
    note(*whole->model, divided);
    for (auto [i, region] : llvm::enumerate(divided)) {
      std::string number = std::to_string(i + 1);
      files.push_back(base() + "." + std::string(5 - std::min<size_t>(5, number.size()), '0') + number + "_" +
                      region.backend + ".circle");
      fingerprints.emplace_back();
    }
    // The rows of what is elsewhere hold the fingerprints of the other parts, which do not depend on those rows.
    std::vector<Ports> ports;
    for (unsigned i = 0; i < files.size(); ++i) {
      Expected<Imported> part = extract(i);
      if (!part)
        return part.takeError();
      auto listing = listingOf(*part->model, Format::Circle);
      if (!listing)
        return inFile(path, listing.takeError());
      fingerprints[i] = "sha256:" + origin::hex((*listing)->fingerprint);
      ports.push_back(report::portsOf(*part->model, files[i]));
      if (eachPart)
        eachPart(*part->model, divided[i], i);
    }
    if (llvm::Error error = makeFolder(directory))
      return error;
    for (unsigned i = 0; i < files.size(); ++i) {
      Expected<Imported> part = extract(i);
      if (!part)
        return part.takeError();
      ExportOptions to;
      to.originJson = inDirectory(files[i]) + ".origin.json";
      if (Error error = save(*part, inDirectory(files[i]), to, door))
        return error;
    }
    Ports source = report::portsOf(*whole->model, llvm::sys::path::filename(path));
    std::vector<std::pair<std::string, std::string>> texts = {
        {base() + ".conn.ini", report::connectionsIni(source, ports)},
        {base() + ".conn.json", report::connectionsJson(source, ports)}};
    if (partText)
      texts.push_back({base() + ".part", partText(divided)});
    return writeTexts(texts);
  }
  std::function<void(const Model &part, const Region &region, unsigned number)> eachPart; ///< may be null
  std::function<std::string(llvm::ArrayRef<Region>)> partText; ///< null: there is a .part already
  std::string base() const { return llvm::sys::path::stem(path).str(); }

private:
  StringRef path;
  const ImportOptions &options;
  StringRef directory;
  const Door &door;
  PayloadStore store;
  std::vector<Region> divided;
  std::vector<std::string> files, fingerprints;
  std::vector<unsigned> regionOf;    ///< by operator of the first subgraph
  std::vector<int> regionOfSubgraph; ///< −1: nothing in the first one calls it

  void note(const Model &model, llvm::ArrayRef<Region> regions) {
    regionOf.resize(model.subgraphs.front()->operators.size());
    regionOfSubgraph.assign(model.subgraphs.size(), -1);
    std::function<void(const Operator &, unsigned)> calls = [&](const Operator &op, unsigned region) {
      for (Subgraph *callee : op.callees())
        if (std::exchange(regionOfSubgraph[callee->index], region) != static_cast<int>(region))
          for (const Operator &inner : callee->operators)
            calls(inner, region);
    };
    for (unsigned region = 0; region < regions.size(); ++region)
      for (const Operator *op : regions[region].operators) {
        regionOf[op->index] = region;
        calls(*op, region);
      }
    if (size_t count = llvm::count(llvm::drop_begin(regionOfSubgraph), -1))
      door.note(llvm::Twine(count) + " subgraphs are in no part, as nothing in the first one calls them");
  }

  std::string inDirectory(StringRef name) const {
    llvm::SmallString<128> full(directory);
    llvm::sys::path::append(full, name);
    return full.str().str();
  }

  Expected<Imported> extract(unsigned region) {
    Expected<Imported> part = load(path, options, store, door);
    if (!part)
      return part.takeError();
    Model &model = *part->model;
    model.number();
    llvm::SmallVector<Operator *> kept;
    for (Operator &op : model.subgraphs.front()->operators)
      if (regionOf[op.index] == region)
        kept.push_back(&op);
    std::vector<const Part *> parts;
    for (auto [file, fingerprint] : llvm::zip_equal(files, fingerprints))
      parts.push_back(model.create(Part{model.copy(StringRef(file)), model.copy(StringRef(fingerprint))}));
    auto partOf = [&](const Operator *op, const Subgraph &graph) -> const Part * {
      int where = op ? static_cast<int>(regionOf[op->index]) : regionOfSubgraph[graph.index];
      return where < 0 ? nullptr : parts[where];
    };
    if (Error error = keepOnly(*part, store, "partition", kept, partOf))
      return inFile(path, std::move(error));
    return part;
  }

  Error writeTexts(llvm::ArrayRef<std::pair<std::string, std::string>> texts) {
    std::vector<std::unique_ptr<OutputFile>> open;
    std::vector<OutputFile *> all;
    for (auto &[name, text] : texts) {
      Expected<std::unique_ptr<OutputFile>> file = OutputFile::open(inDirectory(name));
      if (!file)
        return file.takeError();
      (*file)->write({reinterpret_cast<const uint8_t *>(text.data()), text.size()});
      if (Error error = (*file)->finish())
        return error;
      open.push_back(std::move(*file));
      all.push_back(open.back().get());
    }
    return OutputFile::commit(all);
  }
};

/// Back ends are in the names of files.
Error checkNames(llvm::ArrayRef<std::string> names) {
  for (StringRef name : names)
    if (name.empty() || name.front() == '.' || name.front() == '-' ||
        !llvm::all_of(name, [](char c) { return llvm::isAlnum(c) || c == '_' || c == '-' || c == '.'; }))
      return makeError("\"" + printable(name) + "\" cannot be in the names of files: a back end that parts are made " +
                       "for is called by letters, digits, - and _");
  return Error::success();
}

} // namespace

Error divide(StringRef path, const ImportOptions &options, const report::Target &target, StringRef fallback,
             StringRef directory, const Door &door) {
  if (Error error = checkNames({target.name, fallback.str()}))
    return error;
  if (target.name == fallback)
    return makeError("the target and --default are both called " + fallback);
  Divider divider(path, options, directory, door);
  // Where a region begins and ends, other limits than those of its operators hold.
  divider.eachPart = [&](const Model &part, const Region &region, unsigned number) {
    if (region.backend != target.name)
      return;
    if (size_t count = llvm::count_if(report::checkTarget(part, target), [](auto &violation) { return !violation.op; }))
      door.note("part " + llvm::Twine(number + 1) + " has " + llvm::Twine(count) +
                " inputs and outputs that the target does not take as such");
  };
  divider.partText = [&](llvm::ArrayRef<Region> regions) {
    std::vector<const Operator *> unnamed;
    std::string text = report::partText(regions, target.name, fallback, unnamed);
    if (!unnamed.empty())
      door.note(llvm::Twine(unnamed.size()) + " operators have no name that " + divider.base() +
                ".part could say, and are left to " + fallback + " there; the parts themselves are complete");
    return text;
  };
  return divider.run([&](Model &model) { return report::partition(model, target, target.name, fallback); });
}

Error divide(StringRef path, const report::PartFile &part, StringRef directory, const Door &door) {
  if (Error error = checkNames(part.backends))
    return error;
  ImportOptions options;
  return Divider(path, options, directory, door).run([&](Model &model) {
    std::vector<std::string> unused;
    auto regions = report::partition(model, part, unused);
    if (regions && !unused.empty())
      door.note(llvm::Twine(unused.size()) + (part.byName ? " names" : " kinds") + " of the .part file, such as " +
                printable(unused.front()) + ", are of no operator of the model");
    return regions;
  });
}

} // namespace origo::commands
