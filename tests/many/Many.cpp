/// many: runs the command lines that standard input asks for, one after another in this process. To start a program,
/// and to have its pages brought in once more, costs ten times as much as what it does to a small model. A request is
/// a line, a JSON object:
///
///   {"words": ["circle2circle", "-O1", "in.tflite", "out.circle"], "folder": FOLDER, "out": FILE, "err": FILE,
///    "seconds": 60, "bytes": 0}
///
/// It works in the folder, and the files take what is printed. The answer is a line with the exit status; 127: there is
/// no such command. Who takes longer than `seconds` is ended by SIGALRM, and this process with it. `bytes` is how much
/// address space the command may take, 0 for no bound. tests/many.py asks for scripts.

#include "tools/Driver.h"

#include <nlohmann/json.hpp>

#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <fstream>
#include <malloc.h>
#include <sys/resource.h>
#include <unistd.h>

using namespace origo;

/// Has what is printed go to a file.
static bool lead(int descriptor, const std::string &path) {
  int opened = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  bool led = opened >= 0 && ::dup2(opened, descriptor) >= 0;
  ::close(opened);
  return led;
}

/// So much more address space than now, however much is allowed later; 0: as much as ever.
static void allow(rlim_t bytes) {
  rlimit limit;
  ::getrlimit(RLIMIT_AS, &limit);
  limit.rlim_cur = limit.rlim_max;
  if (bytes) {
    ::malloc_trim(0); // what earlier commands left would be more room
    size_t pages = 0;
    std::ifstream("/proc/self/statm") >> pages;
    limit.rlim_cur = pages * ::sysconf(_SC_PAGESIZE) + bytes;
  }
  ::setrlimit(RLIMIT_AS, &limit);
}

static int run(const nlohmann::json &request) {
  auto words = request.at("words").get<std::vector<std::string>>();
  const commands::Command *command = commands::findCommand(words.front());
  auto folder = request.at("folder").get<std::string>();
  if (!command || ::chdir(folder.c_str()) || !lead(1, request.at("out")) || !lead(2, request.at("err")))
    return 127;
  std::vector<char *> argv;
  for (std::string &word : words)
    argv.push_back(word.data());
  argv.push_back(nullptr);
  allow(request.at("bytes"));
  ::alarm(request.at("seconds"));
  int status = tools::main(static_cast<int>(words.size()), argv.data(), *command);
  llvm::outs().flush();
  ::alarm(0);
  allow(0);
  return status;
}

int main() {
  int errors = ::fcntl(2, F_DUPFD_CLOEXEC, 3);
  std::FILE *answers = ::fdopen(::fcntl(1, F_DUPFD_CLOEXEC, 3), "w");
  char *line = nullptr;
  size_t capacity = 0;
  while (::getline(&line, &capacity, stdin) > 0) {
    std::fprintf(answers, "%d\n", run(nlohmann::json::parse(line)));
    std::fflush(answers);
  }
  std::free(line);
  ::dup2(errors, 2); // sanitizers may have something to say yet
}
