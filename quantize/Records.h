#pragma once

#include "eval/Session.h"

#include <memory>

namespace origo::quantize {

/// Inputs for a model to be run on, record by record. Each is in the order of the model's inputs.
class Records {
public:
  virtual ~Records();
  virtual uint64_t count() const = 0;
  /// Which input is which is told by nothing but the order.
  virtual bool hasNoNames() const { return false; }
  virtual llvm::Expected<std::vector<eval::OwnedTensor>> read(uint64_t record) = 0;
  /// What a person may not expect of what was read so far, a line each; the same line for the same thing.
  virtual std::vector<std::string> remarks() const { return {}; }
};

/// How images become numbers.
struct ImageOptions {
  enum class Layout { FromShape, ChannelsLast, ChannelsFirst } layout = Layout::FromShape;
  enum class Resize { Stretch, Crop, Pad } resize = Resize::Stretch; ///< crop: the middle; pad: with black, around
  enum class Channels { FromShape, Rgb, Bgr, Gray } channels = Channels::FromShape; ///< of three: Rgb
  /// (pixel − mean) / deviation, with pixels from 0 to 255: one number, or one for each channel of the input. Empty: 0,
  /// and 255 for an input of floats, 1 for one of integers.
  std::vector<float> mean, deviation;
};

enum class RecordFormat {
  ByName,    ///< a directory with an image in it is Images, another one Directory; by extension Numpy and Hdf5; else a
             ///< List
  List,      ///< each line names the files of the inputs, separated by spaces, or one with all of them in order
  Directory, ///< each file, by name, is a record: elements of all inputs in order, or .npy or .npz
  Numpy,     ///< .npy, or .npz with an array for each input: the input's shape, or behind a first dimension of records
  Hdf5, ///< a group "value", in it a group "0", "1", … for each record, in it a dataset "0", "1", … for each input
  /// A directory of PNG, JPEG and BMP files, by name a record each, for a model whose one input takes images. Hidden
  /// files and texts beside them, as labels are, count for nothing.
  Images,
};

/// Opens what lies at `path`. Nothing big is read before it is asked for. HDF5 files and images are read by a process
/// with limits.
llvm::Expected<std::unique_ptr<Records>> openRecords(const std::string &path, RecordFormat format,
                                                     llvm::ArrayRef<eval::Port> inputs,
                                                     const ImageOptions &images = {});

/// What to tell where a signature lists inputs otherwise than its subgraph does, which is the order of data without
/// names, and where the data fit both ways; empty: nothing.
std::string orderNote(llvm::ArrayRef<eval::Port> inputs, const Records &records);

/// What is run where there are no data: three records of std::mt19937 with its default seed, which so are the same
/// everywhere. Floats lie between −5 and 5, integers between 0 and 100. What is not known of a shape is 1.
llvm::Expected<std::unique_ptr<Records>> randomRecords(llvm::ArrayRef<eval::Port> inputs);

/// The random inputs of docs/kernels.md, seed 1 for the first record: floats between −1 and 1, integers 0 or 1, so that
/// they are good indices.
llvm::Expected<std::unique_ptr<Records>> seededRecords(llvm::ArrayRef<eval::Port> inputs, uint64_t count);

} // namespace origo::quantize
