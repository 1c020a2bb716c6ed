#include "quantize/Images.h"
#include "quantize/Records.h"
#include "quantize/Statistics.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"

#include <chrono>
#include <gtest/gtest.h>
#include <random>

/// Data for models as files: HDF5, images, numpy.

using namespace origo;
using namespace origo::quantize;
using eval::OwnedTensor;
using eval::Port;

namespace {

std::string text(llvm::Error error) { return llvm::toString(std::move(error)); }

/// A folder that is gone after the test.
class Folder {
public:
  Folder() { llvm::sys::fs::createUniqueDirectory("origo-records", path); }
  ~Folder() { llvm::sys::fs::remove_directories(path); }
  std::string operator/(llvm::StringRef name) const { return (path + "/" + name).str(); }
  std::string write(llvm::StringRef name, llvm::StringRef bytes) const {
    std::error_code ec;
    llvm::raw_fd_ostream(*this / name, ec) << bytes;
    EXPECT_FALSE(ec);
    return *this / name;
  }
  llvm::SmallString<128> path;
};

std::string bytesOf(const std::string &path) {
  auto file = llvm::MemoryBuffer::getFile(path, false, false);
  EXPECT_TRUE(static_cast<bool>(file)) << path;
  return file ? (*file)->getBuffer().str() : "";
}

bool make(const std::string &arguments) { return std::system((ORIGO_BIN_DIR "/make_data " + arguments).c_str()) == 0; }

Port port(TensorType type, std::initializer_list<int32_t> shape, const char *name = "x") {
  return {name, type, eval::Shape(shape), true, nullptr};
}

std::vector<float> floatsOf(const OwnedTensor &tensor) {
  std::vector<float> numbers(tensor.bytes.size() / 4);
  std::memcpy(numbers.data(), tensor.bytes.data(), numbers.size() * 4);
  return numbers;
}

const std::vector<Port> two = {port(TensorType::FLOAT32, {1, 2, 3}), port(TensorType::INT32, {2}, "y")};

TEST(RecordsOfBareElements, TellAnOpenDimension) {
  Folder folder;
  auto said = [&](size_t bytes) {
    folder.write("a", std::string(bytes, 0));
    auto records = openRecords(folder.path.str().str(), RecordFormat::ByName, port(TensorType::FLOAT32, {-1, 2, 3}));
    auto record = records ? (*records)->read(0) : records.takeError();
    return record ? "f32" + eval::shapeText(record->front().shape) : text(record.takeError());
  };
  EXPECT_EQ(said(48), "f32[2,2,3]");
  EXPECT_NE(said(50).find("takes 48"), std::string::npos);
  EXPECT_NE(said(7).find("takes 24"), std::string::npos);
}

#ifdef ORIGO_HDF5

TEST(Hdf5, IsReadAsOneWritesIt) {
  Folder folder;
  ASSERT_TRUE(make("hdf5 " + folder / "a.h5" + " 12") && make("hdf5 " + folder / "raw.h5" + " 3 raw"));
  for (const char *name : {"a.h5", "raw.h5"}) {
    auto records = openRecords(folder / name, RecordFormat::ByName, two);
    ASSERT_TRUE(static_cast<bool>(records)) << text(records.takeError());
    EXPECT_EQ((*records)->count(), name[0] == 'a' ? 12u : 3u);
    for (uint64_t r : {2, 0, 1}) {
      auto record = (*records)->read(r);
      ASSERT_TRUE(static_cast<bool>(record)) << text(record.takeError());
      ASSERT_EQ(record->size(), 2u);
      EXPECT_EQ((*record)[0].shape, eval::Shape({1, 2, 3}));
      std::vector<float> numbers = floatsOf((*record)[0]);
      for (size_t i = 0; i < 6; ++i)
        EXPECT_EQ(numbers[i], static_cast<float>(r) + 0.25f * i) << name << r;
      int32_t last;
      std::memcpy(&last, (*record)[1].bytes.data() + 4, 4);
      EXPECT_EQ(last, -static_cast<int32_t>(r));
    }
  }
}

TEST(Hdf5, WhatDoesNotFitIsNamed) {
  Folder folder;
  ASSERT_TRUE(make("hdf5 " + folder / "a.h5" + " 2"));
  auto said = [&](std::vector<Port> ports, const std::string &name = "a.h5") {
    auto records = openRecords(folder / name, RecordFormat::Hdf5, ports);
    if (!records)
      return text(records.takeError());
    auto record = (*records)->read(1);
    return record ? "" : text(record.takeError());
  };
  EXPECT_EQ(said(two), "");
  EXPECT_NE(said({two[0]}).find("more arrays than the model's 1 inputs"), std::string::npos) << said({two[0]});
  EXPECT_NE(said({two[0], two[1], two[1]}).find("2 arrays for 3 inputs"), std::string::npos);
  EXPECT_NE(said({two[0], port(TensorType::INT64, {2}, "y")}).find("is INT64[2], its dataset INT32[2]"),
            std::string::npos)
      << said({two[0], port(TensorType::INT64, {2}, "y")});
  EXPECT_NE(said({port(TensorType::FLOAT32, {1, 3, 2}), two[1]}).find("[1,3,2]"), std::string::npos);
  EXPECT_EQ(said({port(TensorType::FLOAT32, {-1, 2, 3}), two[1]}), "");
  folder.write("text.h5", "this is no HDF5");
  EXPECT_NE(said(two, "text.h5").find("is no HDF5 file"), std::string::npos) << said(two, "text.h5");
  EXPECT_NE(said(two, "none.h5").find("No such file"), std::string::npos) << said(two, "none.h5");
}

/// The library dies, hangs or swallows memory on some; for us these are errors.
TEST(Hdf5, DamagedFilesEndInErrorsAndInTime) {
  Folder folder;
  ASSERT_TRUE(make("hdf5 " + folder / "a.h5" + " 3"));
  const std::string good = bytesOf(folder / "a.h5");
  ASSERT_GT(good.size(), 1000u);
  std::mt19937 random(1);
  unsigned refused = 0, read = 0;
  for (int mutant = 0; mutant < 300; ++mutant) {
    std::string bad = good;
    if (mutant % 10 == 0)
      bad.resize(random() % good.size());
    else
      for (unsigned i = 0, count = 1 + random() % 8; i < count; ++i)
        bad[random() % bad.size()] = static_cast<char>(random() % 3 == 0 ? 0xff : random());
    std::string path = folder.write("bad.h5", bad);
    auto records = openRecords(path, RecordFormat::Hdf5, two);
    bool fine = static_cast<bool>(records);
    std::string said = fine ? "" : text(records.takeError());
    for (uint64_t r = 0; fine && r < std::min<uint64_t>((*records)->count(), 3); ++r)
      if (auto record = (*records)->read(r); !record) {
        said = text(record.takeError());
        fine = false;
      }
    (fine ? read : refused) += 1;
    EXPECT_TRUE(fine || said.find("bad.h5") != std::string::npos) << said;
  }
  EXPECT_GT(refused, 60u);
  EXPECT_GT(read, 30u); // damage to elements is no damage to the file
}

#endif

TEST(Reader, ThatHangsIsEnded) {
  auto reader = Reader::start("image", "", {1000, std::chrono::milliseconds(200)});
  ASSERT_TRUE(static_cast<bool>(reader)) << text(reader.takeError());
  uint64_t announced = 5; // and does not come
  auto answer = (*reader)->ask({reinterpret_cast<const uint8_t *>(&announced), sizeof(announced)});
  ASSERT_FALSE(static_cast<bool>(answer));
  EXPECT_EQ(text(answer.takeError()), "is not read within 200 ms");
  auto again = (*reader)->ask({});
  ASSERT_FALSE(static_cast<bool>(again));
  EXPECT_EQ(text(again.takeError()), "its reader has ended");
}

TEST(Reader, ThatTakesTooMuchMemoryIsEnded) {
  auto reader = Reader::start("image", "", {1000});
  ASSERT_TRUE(static_cast<bool>(reader)) << text(reader.takeError());
  uint64_t size = uint64_t(1) << 40;
  auto answer = (*reader)->ask({reinterpret_cast<const uint8_t *>(&size), sizeof(size)});
  ASSERT_FALSE(static_cast<bool>(answer));
  EXPECT_NE(text(answer.takeError()).find("is damaged"), std::string::npos);
}

#ifdef ORIGO_STB

std::vector<float> imageOf(const Folder &folder, const Port &input, const ImageOptions &options, uint64_t record) {
  auto records = openRecords(folder.path.str().str(), RecordFormat::ByName, input, options);
  EXPECT_TRUE(static_cast<bool>(records)) << text(records.takeError());
  if (!records)
    return {};
  EXPECT_EQ((*records)->count(), 4u);
  auto tensor = (*records)->read(record);
  EXPECT_TRUE(static_cast<bool>(tensor)) << text(tensor.takeError());
  return tensor ? floatsOf(tensor->front()) : std::vector<float>();
}

TEST(Images, BecomeInputs) {
  Folder folder;
  ASSERT_TRUE(make("images " + folder.path.str().str()));
  for (const char *beside : {"labels.txt", ".hidden", "Labels.CSV"})
    folder.write(beside, "0 1 2 3");
  using O = ImageOptions;
  Port last = port(TensorType::FLOAT32, {1, 2, 4, 3}), first = port(TensorType::FLOAT32, {-1, 3, 2, 4});
  O plain;
  plain.deviation = {1};
  for (uint64_t record : {0, 1}) { // PNG and BMP
    std::vector<float> numbers = imageOf(folder, last, plain, record);
    ASSERT_EQ(numbers.size(), 24u);
    for (int y = 0; y < 2; ++y)
      for (int x = 0; x < 4; ++x) {
        EXPECT_EQ(numbers[(y * 4 + x) * 3], 10 * x);
        EXPECT_EQ(numbers[(y * 4 + x) * 3 + 1], 100 * y);
        EXPECT_EQ(numbers[(y * 4 + x) * 3 + 2], 7);
      }
  }
  std::vector<float> planes = imageOf(folder, first, plain, 0);
  ASSERT_EQ(planes.size(), 24u);
  EXPECT_EQ(planes[3], 30);
  EXPECT_EQ(planes[8 + 4], 100);
  EXPECT_EQ(planes[16], 7);
  O bgr = plain;
  bgr.channels = O::Channels::Bgr;
  EXPECT_EQ(imageOf(folder, last, bgr, 0)[0], 7);
  O scaled;
  scaled.mean = {0, 50, 7};
  scaled.deviation = {10, 50, 2};
  std::vector<float> numbers = imageOf(folder, last, scaled, 0);
  EXPECT_EQ(numbers[9], 3);
  EXPECT_EQ(numbers[10], -1);
  EXPECT_EQ(numbers[11], 0);
  EXPECT_FLOAT_EQ(imageOf(folder, last, {}, 0)[2], 7 / 255.0f); // without --mean and --std, from 0 to 1
  // JPEG, shrunk: all 128 stays so.
  for (float x : imageOf(folder, last, plain, 2))
    EXPECT_NEAR(x, 128, 2);
  // Brightness of colours, and grey as colours.
  Port grey = port(TensorType::FLOAT32, {1, 2, 4, 1});
  EXPECT_FLOAT_EQ(imageOf(folder, grey, plain, 0)[1], 0.299f * 10 + 0.114f * 7);
  Port small = port(TensorType::FLOAT32, {3, 3, 3});
  EXPECT_EQ(imageOf(folder, small, plain, 3)[5], 20);
  Port any = port(TensorType::FLOAT32, {-1, -1, -1, 3}); // takes each as it is
  EXPECT_EQ(imageOf(folder, any, plain, 0).size(), 24u);
  EXPECT_EQ(imageOf(folder, any, plain, 2).size(), 192u);
}

TEST(Images, AreResized) {
  using O = ImageOptions;
  Picture row{4, 2, 1, {0, 10, 20, 30, 0, 10, 20, 30}};
  O options;
  options.deviation = {1};
  auto numbers = [&](uint32_t height, uint32_t width, O::Resize how) {
    options.resize = how;
    ImageInput input;
    input.width = width, input.height = height, input.channels = 1;
    return floatsOf(tensorOf(row, input, options));
  };
  // The middle of four is what crop takes; stretched, two and two are averaged, with some of their neighbours.
  EXPECT_EQ(numbers(2, 2, O::Resize::Crop), (std::vector<float>{10, 20, 10, 20}));
  std::vector<float> stretched = numbers(2, 2, O::Resize::Stretch);
  ASSERT_EQ(stretched.size(), 4u);
  EXPECT_NEAR(stretched[0], (0.75f * 0 + 0.75f * 10 + 0.25f * 20) / 1.75f, 1e-5);
  EXPECT_NEAR(stretched[0] + stretched[1], 30, 1e-4);
  EXPECT_EQ(numbers(4, 4, O::Resize::Pad), (std::vector<float>{0, 0, 0, 0, 0, 10, 20, 30, 0, 10, 20, 30, 0, 0, 0, 0}));
  std::vector<float> wide = numbers(2, 8, O::Resize::Stretch);
  EXPECT_EQ(wide[0], 0);
  EXPECT_NEAR(wide[1], 2.5f, 1e-5);
  EXPECT_EQ(wide[7], 30);
}

TEST(Images, WhatCannotBeIsRefused) {
  Folder folder;
  ASSERT_TRUE(make("images " + folder.path.str().str()));
  auto said = [&](std::vector<Port> ports, ImageOptions options = {}) {
    auto records = openRecords(folder.path.str().str(), RecordFormat::Images, ports, options);
    return records ? "" : text(records.takeError());
  };
  Port good = port(TensorType::FLOAT32, {1, 2, 4, 3});
  EXPECT_EQ(said({good}), "");
  EXPECT_NE(said({good, good}).find("models of one input"), std::string::npos);
  EXPECT_NE(said({port(TensorType::FLOAT32, {8, 2, 4, 3})}).find("takes 8 at once"), std::string::npos);
  EXPECT_NE(said({port(TensorType::FLOAT32, {1, 2, 4, 5})}).find("neither one channel nor three"), std::string::npos);
  EXPECT_NE(said({port(TensorType::INT32, {1, 2, 4, 3})}).find("float32 or uint8"), std::string::npos);
  ImageOptions options;
  options.mean = {1, 2};
  EXPECT_NE(said({good}, options).find("one for each channel"), std::string::npos);
  options = {};
  options.channels = ImageOptions::Channels::Gray;
  EXPECT_NE(said({good}, options).find("gray is one channel"), std::string::npos);
}

TEST(Images, DamagedOnesEndInErrors) {
  Folder folder;
  ASSERT_TRUE(make("images " + folder.path.str().str()));
  auto reader = Reader::start("image", "", {1 << 24, std::chrono::seconds(20)});
  ASSERT_TRUE(static_cast<bool>(reader)) << text(reader.takeError());
  std::mt19937 random(1);
  unsigned refused = 0, read = 0;
  for (const char *name : {"a.png", "b.bmp", "c.jpg"}) {
    const std::string good = bytesOf(folder / name);
    for (int mutant = 0; mutant < 300; ++mutant) {
      std::string bad = good;
      if (mutant % 10 == 0)
        bad.resize(random() % good.size());
      else
        for (unsigned i = 0, count = 1 + random() % 4; i < count; ++i)
          bad[random() % bad.size()] = static_cast<char>(random() % 3 == 0 ? 0xff : random());
      auto picture = decode(**reader, llvm::arrayRefFromStringRef(bad));
      (picture ? read : refused) += 1;
      if (!picture && text(picture.takeError()).find("the library that reads it") != std::string::npos) {
        reader = Reader::start("image", "", {1 << 24, std::chrono::seconds(20)}); // it died of this one
        ASSERT_TRUE(static_cast<bool>(reader)) << text(reader.takeError());
      }
    }
  }
  EXPECT_GT(refused, 200u);
  EXPECT_GT(read, 100u);
}

#endif

} // namespace
