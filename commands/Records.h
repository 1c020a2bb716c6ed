#pragma once

#include "commands/Door.h"
#include "commands/Option.h"
#include "ir/OpenFile.h"
#include "quantize/Calibrate.h"

#include <set>

/// Records to run a model on, as several commands take them.
namespace origo::commands {

struct RecordsRequest {
  std::string data; ///< a path, or the word "random"
  quantize::RecordFormat format = quantize::RecordFormat::ByName;
  quantize::ImageOptions images;
  /// Records that are no file; null: those of `data`.
  std::function<llvm::Expected<std::unique_ptr<quantize::Records>>(llvm::ArrayRef<eval::Port>)> arrays;

  bool any() const { return arrays || !data.empty(); }
  bool isRandom() const { return !arrays && (data.empty() || data == "random"); }
  /// Opens them for the inputs of a signature. One that has a folder of its name in `data`, or a file called after it,
  /// has these.
  llvm::Expected<std::unique_ptr<quantize::Records>> open(llvm::ArrayRef<eval::Port> inputs,
                                                          llvm::StringRef signature) const;
};

/// Opens records as often as a command asks for them, and notes what a person may not expect of them, each once: that
/// data without names could be meant in two orders, records that have NaN, by number, images that are not like those of
/// the model.
class RecordsOpener {
public:
  RecordsOpener(const RecordsRequest &request, const Door &door) : request(request), door(door) {}
  llvm::Expected<std::unique_ptr<quantize::Records>> operator()(llvm::ArrayRef<eval::Port> inputs,
                                                                llvm::StringRef signature);
  /// The same of records that are open already.
  llvm::Expected<std::unique_ptr<quantize::Records>> watch(llvm::Expected<std::unique_ptr<quantize::Records>> records,
                                                           llvm::ArrayRef<eval::Port> inputs);

private:
  const RecordsRequest &request;
  const Door &door;
  std::set<std::string> said;
};

/// What lies at a path, or of the word "random". `format`, by the names of ONE's tools and ours: h5, list, directory,
/// numpy or images; empty: as the path tells.
llvm::Expected<std::unique_ptr<quantize::Records>> recordsAt(const std::string &path, llvm::ArrayRef<eval::Port> inputs,
                                                             llvm::StringRef format = {},
                                                             const quantize::ImageOptions &images = {});

template <>
inline constexpr auto choicesOf<quantize::RecordFormat> = std::to_array<ChoiceOf<quantize::RecordFormat>>(
    {{"list", quantize::RecordFormat::List, "a line for each record: the files of its inputs"},
     {"filelist", quantize::RecordFormat::List, "the same"},
     {"directory", quantize::RecordFormat::Directory, "a file for each record: all inputs in order"},
     {"dir", quantize::RecordFormat::Directory, "the same"},
     {"numpy", quantize::RecordFormat::Numpy, ".npy, or .npz with an array for each input"},
     {"h5", quantize::RecordFormat::Hdf5, "HDF5: value/RECORD/INPUT, both numbered from 0"},
     {"hdf5", quantize::RecordFormat::Hdf5, "the same"},
     {"images", quantize::RecordFormat::Images, "a directory of PNG, JPEG or BMP files"}});
using Layout = quantize::ImageOptions::Layout;
template <>
inline constexpr auto choicesOf<Layout> = std::to_array<ChoiceOf<Layout>>(
    {{"nhwc", Layout::ChannelsLast, "channels last"}, {"nchw", Layout::ChannelsFirst, "channels first"}});
using Resize = quantize::ImageOptions::Resize;
template <>
inline constexpr auto
    choicesOf<Resize> = std::to_array<ChoiceOf<Resize>>({{"stretch", Resize::Stretch, "are stretched"},
                                                         {"crop", Resize::Crop, "their middle is taken"},
                                                         {"pad", Resize::Pad, "get black borders"}});
using Channels = quantize::ImageOptions::Channels;
template <>
inline constexpr auto choicesOf<Channels> = std::to_array<ChoiceOf<Channels>>({{"rgb", Channels::Rgb, "red first"},
                                                                               {"bgr", Channels::Bgr, "blue first"},
                                                                               {"gray", Channels::Gray, "brightness"}});

template <>
inline constexpr auto choicesOf<eval::Engine> =
    std::to_array<ChoiceOf<eval::Engine>>({{"reference", eval::Engine::Reference, "the semantics, bit for bit"},
                                           {"fast", eval::Engine::Fast, "vector kernels, within small tolerances"}});

/// The rows of how images become numbers, of a request whose member `Images` is ImageOptions, or has a member that is.
template <auto Images, auto... Inner>
constexpr std::array imageRows{
    option<Images, Inner..., &quantize::ImageOptions::mean>(
        "mean", "N,…", "Images: (pixel - mean) / std, one number or one a channel (0)"),
    option<Images, Inner..., &quantize::ImageOptions::deviation>("std", "N,…", "Images: see mean (255)"),
    option<Images, Inner..., &quantize::ImageOptions::layout>("layout", "LAYOUT",
                                                              "Images: of the input; without: as its shape tells"),
    option<Images, Inner..., &quantize::ImageOptions::resize>("resize", "HOW", "Images of another size:"),
    option<Images, Inner..., &quantize::ImageOptions::channels>(
        "channels", "ORDER", "Images: of the input; without: rgb, or gray if it has one"),
};

/// The rows of a request whose member `Records` is a RecordsRequest.
template <auto Records>
constexpr std::array dataRows{
    option<Records, &RecordsRequest::data>("data", "PATH",
                                           "Records to run the model on, or the word random; also --input_data",
                                           {.also = "input_data,d", .key = "input_data"}),
    option<Records, &RecordsRequest::format>("data_format", "FORMAT", "What lies at PATH; without: as its name tells",
                                             {.also = "input_data_format", .key = "input_data_format"}),
};
template <auto Records>
constexpr auto recordRows = joinRows(dataRows<Records>, imageRows<Records, &RecordsRequest::images>);

/// Puts together what `Part` has written into these files.
template <class Part> llvm::Expected<Part> mergeFiles(llvm::ArrayRef<std::string> files) {
  std::optional<Part> all;
  for (const std::string &path : files) {
    auto part = readFile(path, Part::parse);
    if (!part)
      return part.takeError();
    if (!all)
      all = std::move(*part);
    else if (llvm::Error error = all->merge(*part))
      return inFile(path, std::move(error));
  }
  return std::move(*all);
}

/// What options of records say that cannot be.
llvm::Error checkRecords(const RecordsRequest &request, const Door &door);

} // namespace origo::commands
