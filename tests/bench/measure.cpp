// Runs a command within limits and prints what it took: seconds of processor time and KiB of peak memory.
// usage: measure SECONDS MIB COMMAND...

#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

int main(int argc, char **argv) {
  if (argc < 4)
    return std::fprintf(stderr, "usage: measure SECONDS MIB COMMAND...\n"), 2;
  pid_t child = ::fork();
  if (child == 0) {
    auto seconds = rlim_t(std::atoi(argv[1])), bytes = rlim_t(std::atoi(argv[2])) << 20;
    struct rlimit time = {seconds, seconds}, memory = {bytes, bytes}, core = {0, 0};
    ::setrlimit(RLIMIT_CPU, &time);
    ::setrlimit(RLIMIT_AS, &memory);
    ::setrlimit(RLIMIT_CORE, &core);
    int nothing = ::open("/dev/null", O_WRONLY);
    ::dup2(nothing, 1);
    ::dup2(nothing, 2);
    ::execvp(argv[3], argv + 3);
    ::_exit(127);
  }
  int status;
  struct rusage used;
  if (child < 0 || ::wait4(child, &status, 0, &used) != child || !WIFEXITED(status) || WEXITSTATUS(status) != 0)
    return 1;
  auto seconds = [](const timeval &t) { return double(t.tv_sec) + double(t.tv_usec) / 1e6; };
  std::printf("%.4f %ld\n", seconds(used.ru_utime) + seconds(used.ru_stime), used.ru_maxrss);
  return 0;
}
