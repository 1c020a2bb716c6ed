#include "quantize/ImageMetadata.h"
#include "quantize/Images.h"
#include "quantize/RecordParts.h"
#include "readers/Protocol.h"
#include "schema/TensorTypes.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/Path.h"

namespace origo::quantize {

using namespace eval;
using Bytes = llvm::ArrayRef<uint8_t>;

namespace {

/// The type of elements that a reader tells; none: no tensor has it.
std::optional<TensorType> typeOf(const readers::Array &array) {
  switch (array.kind << 8 | array.elementSize) {
  case 'f' << 8 | 4:
    return TensorType::FLOAT32;
  case 'f' << 8 | 8:
    return TensorType::FLOAT64;
  case 'i' << 8 | 1:
    return TensorType::INT8;
  case 'i' << 8 | 2:
    return TensorType::INT16;
  case 'i' << 8 | 4:
    return TensorType::INT32;
  case 'i' << 8 | 8:
    return TensorType::INT64;
  case 'u' << 8 | 1:
    return TensorType::UINT8;
  case 'u' << 8 | 2:
    return TensorType::UINT16;
  case 'u' << 8 | 4:
    return TensorType::UINT32;
  case 'u' << 8 | 8:
    return TensorType::UINT64;
  case 'b' << 8 | 1:
    return TensorType::BOOL;
  default:
    return std::nullopt;
  }
}

llvm::Error lost() { return makeError("is damaged: the library that reads it has lost its way"); }

class Hdf5Records : public Records {
public:
  std::vector<Port> ports;
  std::string path;
  std::unique_ptr<Reader> reader;
  uint64_t records = 0;
  bool raw = false;

  uint64_t count() const override { return records; }
  bool hasNoNames() const override { return true; }
  llvm::Error open() {
    auto bytes = askFor(*reader, readers::countQuestion);
    if (!bytes)
      return bytes.takeError();
    if (bytes->size() != sizeof(records) + 1)
      return lost();
    std::memcpy(&records, bytes->data(), sizeof(records));
    raw = bytes->back() != 0;
    return llvm::Error::success();
  }
  llvm::Expected<Record> read(uint64_t record) override {
    auto answer = askFor(*reader, record);
    if (!answer)
      return inFile(path, answer.takeError());
    auto all = take(*answer);
    if (!all)
      return inFile(path, makeError("record " + llvm::Twine(record) + ": " + llvm::toString(all.takeError())));
    return all;
  }

private:
  llvm::Expected<Record> take(Bytes rest) const {
    Record record;
    while (!rest.empty()) {
      size_t i = record.size();
      auto array = takeArray(rest);
      if (!array)
        return array.takeError();
      if (i == ports.size())
        return makeError("has more arrays than the model's " + llvm::Twine(i) + " inputs");
      auto one = raw ? ofRaw(ports, i, array->elements) : typed(i, *array);
      if (!one)
        return one.takeError();
      record.push_back(std::move(*one));
    }
    if (record.size() != ports.size())
      return makeError("has " + llvm::Twine(record.size()) + " arrays for " + llvm::Twine(ports.size()) + " inputs");
    return record;
  }

  llvm::Expected<OwnedTensor> typed(size_t i, const SentArray &array) const {
    if (!array.type)
      return makeError(inputText(ports, i) + " is of a type that no tensor has");
    if (*array.type != ports[i].type || !fits(ports[i], array.shape))
      return makeError(inputText(ports, i) + " is " + tensorTypeName(ports[i].type) + shapeText(ports[i].shape) +
                       ", its dataset " + tensorTypeName(*array.type) + shapeText(array.shape));
    return OwnedTensor{*array.type, array.shape, {array.elements.begin(), array.elements.end()}};
  }
};

std::string numbersText(llvm::ArrayRef<float> numbers) {
  std::string text;
  for (float number : numbers) {
    char digits[32];
    std::snprintf(digits, sizeof(digits), "%.6g", static_cast<double>(number));
    text += (text.empty() ? "" : ", ") + std::string(digits);
  }
  return numbers.size() == 1 ? text : "(" + text + ")";
}

class ImageRecords : public Records {
public:
  std::vector<std::string> files;
  ImageInput input;
  ImageOptions options;
  std::unique_ptr<Reader> reader;
  std::string normalized; ///< in a way that nobody asked for

  uint64_t count() const override { return files.size(); }
  llvm::Expected<Record> read(uint64_t record) override {
    const std::string &path = files[record];
    auto file = openFile(path);
    if (!file)
      return file.takeError();
    constexpr uint64_t most = uint64_t(1) << 28;
    if ((*file)->getBufferSize() > most)
      return inFile(path, makeError("is too big for an image"));
    auto picture =
        decode(*reader, {reinterpret_cast<const uint8_t *>((*file)->getBufferStart()), (*file)->getBufferSize()});
    if (!picture)
      return inFile(path, picture.takeError());
    remember(*picture, path);
    Record one;
    one.push_back(tensorOf(*picture, input, options));
    return one;
  }
  std::vector<std::string> remarks() const override {
    std::vector<std::string> lines;
    for (const std::string &line : {normalized, resized, coloured})
      if (!line.empty())
        lines.push_back(line);
    return lines;
  }

private:
  std::string resized, coloured; ///< of the first picture that is such a one

  void remember(const Picture &picture, llvm::StringRef path) {
    constexpr uint32_t most = 4; // times as wide or high
    auto isFar = [](uint64_t from, uint64_t to) { return to != 0 && (from > most * to || to > most * from); };
    std::string name = "image \"" + printable(llvm::sys::path::filename(path), 200) + "\"";
    if (resized.empty() && (isFar(picture.width, input.width) || isFar(picture.height, input.height)))
      resized = name + " of " + std::to_string(picture.width) + " by " + std::to_string(picture.height) +
                " pixels becomes one of " + std::to_string(input.width) + " by " + std::to_string(input.height) +
                ", which may be another kind of image than the model is for";
    if (coloured.empty() && picture.channels == 1 && input.channels == 3)
      coloured = name + " is grey, and the model takes colours: all three channels are the same";
  }
};

} // namespace

llvm::Expected<SentArray> takeArray(Bytes &rest) {
  readers::Array array;
  if (rest.size() < sizeof(array))
    return lost();
  std::memcpy(&array, rest.data(), sizeof(array));
  rest = rest.drop_front(sizeof(array));
  if (array.rank > readers::maxRank || rest.size() < array.rank * sizeof(uint64_t) ||
      rest.size() - array.rank * sizeof(uint64_t) < array.size)
    return lost();
  SentArray sent{typeOf(array), {}, {}};
  uint64_t count = 1;
  for (uint32_t k = 0; k < array.rank; ++k) {
    uint64_t dim;
    std::memcpy(&dim, rest.data() + k * sizeof(dim), sizeof(dim));
    if (dim > INT32_MAX)
      return makeError("has an impossible shape");
    if (__builtin_mul_overflow(count, dim, &count))
      return lost();
    sent.shape.push_back(static_cast<int32_t>(dim));
  }
  rest = rest.drop_front(array.rank * sizeof(uint64_t));
  if (sent.type && payloadBytes(*sent.type, count) != array.size)
    return lost();
  sent.elements = rest.take_front(array.size);
  rest = rest.drop_front(array.size);
  return sent;
}

llvm::Expected<std::vector<uint8_t>> askFor(Reader &reader, uint64_t number) {
  return reader.ask({reinterpret_cast<const uint8_t *>(&number), sizeof(number)});
}

llvm::Expected<std::unique_ptr<Records>> hdf5Records(const std::string &path, llvm::ArrayRef<Port> inputs) {
  auto records = std::make_unique<Hdf5Records>();
  Reader::Limits limits;
  uint64_t known = 0;
  for (const Port &port : inputs) {
    auto size = sizeOf(port);
    if (!size || __builtin_add_overflow(known, *size, &known)) {
      known = limits.bytes;
      break;
    }
  }
  limits.bytes = std::min(std::max<uint64_t>(known, 1 << 20), limits.bytes);
  auto reader = Reader::start("hdf5", path, limits);
  if (!reader)
    return inFile(path, reader.takeError());
  records->path = path;
  records->ports.assign(inputs.begin(), inputs.end());
  records->reader = std::move(*reader);
  if (llvm::Error error = records->open())
    return inFile(path, std::move(error));
  return records;
}

llvm::Expected<std::unique_ptr<Records>> imageRecords(std::vector<std::string> files, llvm::ArrayRef<Port> inputs,
                                                      const ImageOptions &options) {
  if (inputs.size() != 1)
    return makeError("images are for models of one input, this one has " + llvm::Twine(inputs.size()));
  auto form = imageInput(inputs.front(), options);
  if (!form)
    return form.takeError();
  auto reader = Reader::start("image", "", {uint64_t(1) << 29});
  if (!reader)
    return reader.takeError();
  auto records = std::make_unique<ImageRecords>();
  records->files = std::move(files);
  records->input = *form;
  records->options = options;
  if (options.mean.empty() && options.deviation.empty() && form->type == TensorType::FLOAT32)
    if (auto own = normalizationOf(inputs.front());
        own && (own->mean.size() == 1 || own->mean.size() == form->channels)) {
      records->options.mean = own->mean;
      records->options.deviation = own->deviation;
      records->normalized = "images become (pixel - " + numbersText(own->mean) + ") / " + numbersText(own->deviation) +
                            ", as the model's metadata says; --mean and --std say otherwise";
    }
  records->reader = std::move(*reader);
  return records;
}

} // namespace origo::quantize
