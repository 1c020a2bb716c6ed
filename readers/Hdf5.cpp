#include "readers/Reader.h"

#ifdef ORIGO_HDF5
#include <hdf5.h>

#include <cstdlib>
#include <functional>
#endif

namespace origo::readers {

#ifdef ORIGO_HDF5

namespace {

/// An object of the library, closed by what closes its kind.
class Handle {
public:
  Handle(hid_t id, herr_t (*close)(hid_t)) : id(id), close(close) {}
  ~Handle() {
    if (id >= 0)
      close(id);
  }
  Handle(const Handle &) = delete;
  Handle &operator=(const Handle &) = delete;
  operator hid_t() const { return id; }
  bool none() const { return id < 0; }

private:
  hid_t id;
  herr_t (*close)(hid_t);
};

hid_t group = -1;
std::vector<std::string> tensors;

std::string openFile(hid_t &file) {
  ::setenv("HDF5_USE_FILE_LOCKING", "FALSE", 1);
  H5open();
  H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
  H5PLset_loading_state(0); // nothing that the file names is loaded
  file = H5Fopen(("/proc/self/fd/" + std::to_string(fileDescriptor)).c_str(), H5F_ACC_RDONLY, H5P_DEFAULT);
  return file < 0 ? "is no HDF5 file, or a damaged one" : "";
}

std::string readArray(hid_t record, const std::string &name, uint64_t limit, Bytes &out) {
  std::string place = "dataset \"" + name + "\"";
  Handle set(H5Dopen2(record, name.c_str(), H5P_DEFAULT), H5Dclose);
  if (set.none())
    return "has no " + place;
  Handle type(H5Dget_type(set), H5Tclose), space(H5Dget_space(set), H5Sclose);
  if (type.none() || space.none())
    return place + " is damaged";
  // Numbers that lie in other files, which no path in this one may name, would be read as zeros.
  Handle layout(H5Dget_create_plist(set), H5Pclose);
  if (layout.none() || H5Pget_layout(layout) == H5D_VIRTUAL || H5Pget_external_count(layout) != 0)
    return place +
           " is put together of other datasets or files (it is virtual, or external): copy its numbers into one file";
  Array array;
  H5T_class_t kind = H5Tget_class(type);
  array.kind = kind == H5T_FLOAT                                                      ? 'f'
               : kind == H5T_INTEGER && H5Tget_sign(type) == H5T_SGN_2                ? 'i'
               : kind == H5T_INTEGER                                                  ? 'u'
               : (kind == H5T_ENUM || kind == H5T_BITFIELD) && H5Tget_size(type) == 1 ? 'b'
                                                                                      : 0;
  int rank = H5Sget_simple_extent_ndims(space);
  if (array.kind == 0)
    return place + " holds neither numbers nor booleans";
  if (rank < 0 || rank > static_cast<int>(maxRank))
    return place + " has more than " + std::to_string(maxRank) + " dimensions";
  // Elements as this machine has them. h5py's booleans are an enumeration of int8.
  Handle native(array.kind == 'b' ? H5Tcopy(type) : H5Tget_native_type(type, H5T_DIR_ASCEND), H5Tclose);
  array.elementSize = native.none() ? 0 : static_cast<uint32_t>(H5Tget_size(native));
  if (array.elementSize != H5Tget_size(type) || array.elementSize > 8)
    return place + " holds numbers of a size that no tensor has";
  hsize_t dims[maxRank] = {};
  if (H5Sget_simple_extent_dims(space, dims, nullptr) < 0)
    return place + " is damaged";
  array.rank = rank;
  array.size = array.elementSize;
  for (int i = 0; i < rank; ++i)
    if (__builtin_mul_overflow(array.size, dims[i], &array.size) || array.size > limit - out.size())
      return place + " has more elements than are wanted";
  append(out, array);
  for (int i = 0; i < rank; ++i)
    append(out, static_cast<uint64_t>(dims[i]));
  size_t at = out.size();
  out.resize(at + array.size);
  if (array.size > 0 && H5Dread(set, native, H5S_ALL, H5S_ALL, H5P_DEFAULT, out.data() + at) < 0)
    return place + " cannot be read: it is damaged, or packed by a filter that is not installed";
  return {};
}

} // namespace

std::string openHdf5() {
  hid_t file;
  if (std::string error = openFile(file); !error.empty())
    return error;
  group = H5Gopen2(file, "value", H5P_DEFAULT);
  return group < 0 ? "has no group \"value\", in which a group for each record holds a dataset for each input" : "";
}

Result countHdf5() {
  H5G_info_t info;
  if (H5Gget_info(group, &info) < 0)
    return {{}, "group \"value\" is damaged"};
  htri_t raw = H5Aexists(group, "rawData");
  Result result;
  append(result.bytes, static_cast<uint64_t>(info.nlinks));
  append(result.bytes, static_cast<uint8_t>(raw > 0));
  return result;
}

Result recordHdf5(uint64_t number, uint64_t limit) {
  std::string name = std::to_string(number);
  Handle record(H5Gopen2(group, name.c_str(), H5P_DEFAULT), H5Gclose);
  if (record.none())
    return {{}, "group \"value\" has no group \"" + name + "\""};
  H5G_info_t info;
  if (H5Gget_info(record, &info) < 0 || info.nlinks > 4096)
    return {{}, "group \"value/" + name + "\" is damaged"};
  Result result;
  for (uint64_t i = 0; i < info.nlinks; ++i)
    if (std::string error = readArray(record, std::to_string(i), limit, result.bytes); !error.empty())
      return {{}, "group \"value/" + name + "\": " + error};
  return result;
}

std::string openTensors() {
  if (std::string error = openFile(group); !error.empty())
    return error;
  constexpr size_t most = 1 << 16, longest = 1 << 20;
  size_t length = 0;
  auto note = [&](const char *name, H5O_type_t type) {
    if (type == H5O_TYPE_DATASET)
      tensors.emplace_back(name);
    length += type == H5O_TYPE_DATASET ? tensors.back().size() + 1 : 0;
    return tensors.size() <= most && length <= longest ? 0 : -1;
  };
  auto visit = [](hid_t, const char *name, const auto *info, void *to) -> herr_t {
    return (*static_cast<decltype(note) *>(to))(name, info->type);
  };
  if (H5Ovisit2(group, H5_INDEX_NAME, H5_ITER_INC, visit, &note, H5O_INFO_BASIC) < 0)
    return tensors.size() > most || length > longest ? "has too many datasets" : "is damaged";
  return {};
}

Result namesOfTensors() {
  Result result;
  for (const std::string &name : tensors)
    result.bytes.insert(result.bytes.end(), name.c_str(), name.c_str() + name.size() + 1);
  return result;
}

Result tensorHdf5(uint64_t number, uint64_t limit) {
  Result result;
  if (number >= tensors.size())
    return {{}, "has no such dataset"};
  if (std::string error = readArray(group, tensors[number], limit, result.bytes); !error.empty())
    return {{}, error};
  return result;
}

#else

static const char *const missing =
    "HDF5 files are not read: this was built without libhdf5-dev; install it and build again";
std::string openHdf5() { return missing; }
Result countHdf5() { return {{}, missing}; }
Result recordHdf5(uint64_t, uint64_t) { return {{}, missing}; }
std::string openTensors() { return missing; }
Result namesOfTensors() { return {{}, missing}; }
Result tensorHdf5(uint64_t, uint64_t) { return {{}, missing}; }

#endif

} // namespace origo::readers
