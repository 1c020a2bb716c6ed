/// Writes data as other programs would, for tests of what reads them. What is in it follows from the arguments alone.
///   make_data hdf5 FILE RECORDS [raw]   ONE's layout: input 0 is float32[1,2,3], record r holds r + 0, r + 1/4, …;
///                                       input 1 is int32[2] {r, -r}, packed in chunks
///   make_data images FOLDER             a.png (4x2, red 10·x, green 100·y, blue 7), b.bmp (the same), c.jpg (8x8, all
///   128),
///                                       d.png (3x3, grey 20·(3y + x))
///   make_data tensors FILE [turn] FOLDER…   the .npy files of a folder, datasets by their names; of several, in groups
///   0, 1, …;
///                                       turn: those of four dimensions have channels first

#define STB_IMAGE_WRITE_IMPLEMENTATION
#include <hdf5.h>
#include <stb_image_write.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

static int hdf5(const char *path, int records, bool raw) {
  hid_t file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
  hid_t timeless = H5Pcreate(H5P_DATASET_CREATE), packed = H5Pcreate(H5P_DATASET_CREATE);
  H5Pset_obj_track_times(timeless, false);
  H5Pset_obj_track_times(packed, false);
  hid_t value = H5Gcreate2(file, "value", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
  if (raw) {
    hid_t space = H5Screate(H5S_SCALAR);
    H5Aclose(H5Acreate2(value, "rawData", H5T_STD_I8LE, space, H5P_DEFAULT, H5P_DEFAULT));
  }
  for (int r = 0; r < records; ++r) {
    hid_t group = H5Gcreate2(value, std::to_string(r).c_str(), H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    hsize_t dims[3] = {1, 2, 3}, flat = 6, two = 2;
    hid_t space = raw ? H5Screate_simple(1, &flat, nullptr) : H5Screate_simple(3, dims, nullptr);
    // As another kind of machine writes it.
    hid_t set = H5Dcreate2(group, "0", H5T_IEEE_F32BE, space, H5P_DEFAULT, timeless, H5P_DEFAULT);
    float numbers[6];
    for (int i = 0; i < 6; ++i)
      numbers[i] = static_cast<float>(r) + 0.25f * i;
    H5Dwrite(set, H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT, numbers);
    H5Pset_chunk(packed, 1, &two);
    H5Pset_deflate(packed, 6);
    hid_t pair = H5Screate_simple(1, &two, nullptr);
    hid_t second = H5Dcreate2(group, "1", H5T_STD_I32LE, pair, H5P_DEFAULT, packed, H5P_DEFAULT);
    int32_t integers[2] = {r, -r};
    H5Dwrite(second, H5T_NATIVE_INT32, H5S_ALL, H5S_ALL, H5P_DEFAULT, integers);
    H5Dclose(set);
    H5Dclose(second);
    H5Gclose(group);
  }
  H5Gclose(value);
  return H5Fclose(file) < 0;
}

static int images(const std::string &folder) {
  std::vector<uint8_t> rgb;
  for (int y = 0; y < 2; ++y)
    for (int x = 0; x < 4; ++x)
      rgb.insert(rgb.end(), {static_cast<uint8_t>(10 * x), static_cast<uint8_t>(100 * y), 7});
  std::vector<uint8_t> flat(8 * 8 * 3, 128), grey;
  for (int i = 0; i < 9; ++i)
    grey.push_back(static_cast<uint8_t>(20 * i));
  return !(stbi_write_png((folder + "/a.png").c_str(), 4, 2, 3, rgb.data(), 12) &&
           stbi_write_bmp((folder + "/b.bmp").c_str(), 4, 2, 3, rgb.data()) &&
           stbi_write_jpg((folder + "/c.jpg").c_str(), 8, 8, 3, flat.data(), 100) &&
           stbi_write_png((folder + "/d.png").c_str(), 3, 3, 1, grey.data(), 3));
}

/// A file that numpy wrote, as a dataset.
static void addTensor(hid_t group, const std::filesystem::path &path, bool turn) {
  std::ifstream in(path, std::ios::binary);
  std::string file{std::istreambuf_iterator<char>(in), {}};
  std::string head = file.substr(10, static_cast<uint8_t>(file[8]) | static_cast<uint8_t>(file[9]) << 8);
  std::string bytes = file.substr(10 + head.size());
  char kind = head[head.find("descr") + 10];
  size_t size = std::strtoul(&head[head.find("descr") + 11], nullptr, 10);
  std::vector<hsize_t> dims;
  for (char *at = &head[head.find("'shape': (") + 10]; *at >= '0' && *at <= '9'; at += *at == ',', at += *at == ' ')
    dims.push_back(std::strtoul(at, &at, 10));
  hid_t type = kind == 'f' ? H5T_IEEE_F32LE : size == 1 ? H5T_STD_I8LE : H5T_STD_I32LE;
  if ((kind != 'f' && kind != 'i') || H5Tget_size(type) != size)
    return;
  if (turn && dims.size() == 4) {
    std::string turned = bytes;
    size_t channels = dims[3], places = dims[1] * dims[2];
    for (size_t i = 0; i < bytes.size() / size; ++i)
      std::memcpy(
          &turned[(i / (channels * places) * channels * places + i % channels * places + i / channels % places) * size],
          &bytes[i * size], size);
    bytes = turned;
    std::rotate(dims.begin() + 1, dims.begin() + 3, dims.end());
  }
  hid_t space = H5Screate_simple(static_cast<int>(dims.size()), dims.data(), nullptr);
  hid_t set = H5Dcreate2(group, path.stem().c_str(), type, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
  H5Dwrite(set, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, bytes.data());
  H5Dclose(set);
}

static int tensors(const char *path, bool turn, const std::vector<std::string> &folders) {
  hid_t file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
  for (size_t i = 0; i < folders.size(); ++i) {
    hid_t group =
        folders.size() == 1 ? file : H5Gcreate2(file, std::to_string(i).c_str(), H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    for (const auto &entry : std::filesystem::directory_iterator(folders[i]))
      addTensor(group, entry.path(), turn);
  }
  return H5Fclose(file) < 0;
}

int main(int argc, char **argv) {
  std::string what = argc > 2 ? argv[1] : "";
  if (what == "hdf5" && argc > 3)
    return hdf5(argv[2], std::stoi(argv[3]), argc > 4);
  if (what == "tensors" && argc > 3) {
    bool turn = argv[3] == std::string("turn");
    return tensors(argv[2], turn, {argv + 3 + turn, argv + argc});
  }
  return what == "images" ? images(argv[2]) : 1;
}
