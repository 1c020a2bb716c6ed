/// origo-reader: reads HDF5 files and images for the tools, in a process that can do nothing else. Not to be called by
/// hand; Protocol.h says what goes over its socket.

#include "readers/Reader.h"

#include <csignal>
#include <cstdlib>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

using namespace origo::readers;

namespace {

void limit(int what, uint64_t most) {
  rlimit both{most, most};
  ::setrlimit(static_cast<__rlimit_resource_t>(what), &both);
}

/// So much more time of a processor.
void limitTime(uint64_t seconds) {
  rusage used;
  ::getrusage(RUSAGE_SELF, &used);
  rlimit both;
  ::getrlimit(RLIMIT_CPU, &both);
  both.rlim_cur = used.ru_utime.tv_sec + used.ru_stime.tv_sec + 1 + seconds;
  ::setrlimit(RLIMIT_CPU, &both);
}

bool receive(void *data, size_t size) {
  auto *at = static_cast<char *>(data);
  while (size > 0) {
    ssize_t got = ::recv(socketDescriptor, at, size, 0);
    if (got <= 0)
      return false;
    at += got;
    size -= got;
  }
  return true;
}

void send(const void *data, size_t size) {
  auto *at = static_cast<const char *>(data);
  while (size > 0) {
    ssize_t sent = ::send(socketDescriptor, at, size, MSG_NOSIGNAL);
    if (sent <= 0)
      ::_exit(0); // the tool has gone
    at += sent;
    size -= sent;
  }
}

void answer(const Result &result) {
  Answer head;
  head.failed = !result.error.empty();
  head.size = head.failed ? result.error.size() : result.bytes.size();
  send(&head, sizeof(head));
  if (head.failed)
    send(result.error.data(), result.error.size());
  else
    send(result.bytes.data(), result.bytes.size());
}

/// A question is answered in a second, and one more for each 100 MB.
uint64_t secondsFor(uint64_t most) { return 1 + most / 100'000'000; }

int serveHdf5(uint64_t most, std::string (*open)(), Result (*count)(), Result (*read)(uint64_t, uint64_t)) {
  limitTime(secondsFor(most));
  limit(RLIMIT_NOFILE, fileDescriptor + 2); // the file once more, and no other: files may name files
  std::string error = open();
  for (uint64_t question; receive(&question, sizeof(question)); limitTime(secondsFor(most)))
    answer(!error.empty() ? Result{{}, error} : question == countQuestion ? count() : read(question, most));
  return 0;
}

int serveImages(uint64_t most) {
  limit(RLIMIT_NOFILE, fileDescriptor);
  for (uint64_t size; receive(&size, sizeof(size));) {
    limitTime(secondsFor(most));
    Bytes file(size);
    if (!receive(file.data(), size))
      break;
    answer(decodeImage(file, most));
  }
  return 0;
}

} // namespace

int main(int argc, char **argv) {
  std::string what = argc == 3 ? argv[1] : "";
  if (what != "hdf5" && what != "tensors" && what != "image")
    return 1;
  uint64_t most = std::strtoull(argv[2], nullptr, 10);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL); // a tool that is killed leaves nothing behind
  limit(RLIMIT_CORE, 0);
  limit(RLIMIT_FSIZE, 0);
#ifndef ORIGO_SANITIZED
  limit(RLIMIT_AS, 3 * most + (uint64_t(512) << 20));
#endif
  return what == "hdf5"      ? serveHdf5(most, openHdf5, countHdf5, recordHdf5)
         : what == "tensors" ? serveHdf5(most, openTensors, namesOfTensors, tensorHdf5)
                             : serveImages(most);
}
