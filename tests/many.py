"""Sweeps: command lines on many files, in few processes (tests/many/Many.cpp), which costs a tenth of starting a program for each."""
import atexit, collections, concurrent.futures, json, os, re, shutil, subprocess, sys, tempfile, threading

root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
NO_COMMAND = 127
thorough = os.environ.get("ORIGO_THOROUGH", "0") != "0"
Done = collections.namedtuple("Done", "status out err")  # what the command ends with, −N by signal N; and the bytes that it prints


def swept(folder, every, networks=1):
    """The files of tests/folder.sh's function of this name, and the folder that they are in."""
    script = 'source tests/folder.sh && folder_of "$1" && swept "$@"'
    said = subprocess.run(["bash", "-c", script, "_", folder, str(every), str(networks)], cwd=root, stdout=subprocess.PIPE, text=True)
    if said.returncode:
        sys.exit(said.stdout.strip())
    where, *files = said.stdout.splitlines()
    return where, files


class Tools:
    """The command lines of a folder. A thread has a process of its own, which `launcher` starts with `environment` and which works in
    `folder`, else in that of the script, and a folder `scratch`, empty for each file of a sweep."""

    def __init__(self, bin, launcher=(), folder=None, environment={}):
        self.bin, self.launcher, self.working, self.environment = os.path.abspath(bin), launcher, folder, environment
        with open(os.path.join(self.bin, "circle2circle"), "rb") as program:
            self.sanitized = b"__asan_init" in program.read()
        self.folder = tempfile.mkdtemp()
        atexit.register(self.close)
        self.own = threading.local()
        self.started = []

    def close(self):
        """Ends the processes, which the end of the script does, too. Where sanitizers find leaks then, the script fails."""
        running = [process for process in self.started if process.poll() is None]
        for process in running:
            process.stdin.close()
        ends = [process.wait() for process in running]
        self.started.clear()
        shutil.rmtree(self.folder, ignore_errors=True)
        if any(ends):
            print(f"FAILED: the processes of the command lines end with {ends}", flush=True)
            os._exit(1)

    def _own_folder(self, name):
        if not hasattr(self.own, name):
            setattr(self.own, name, tempfile.mkdtemp(dir=self.folder))
        return getattr(self.own, name)

    scratch = property(lambda self: self._own_folder("scratch"))
    printed = property(lambda self: self._own_folder("printed"))  # for what commands print

    def _process(self):
        process = getattr(self.own, "process", None)
        if process is None or process.poll() is not None:
            # Sanitizers end it, and not later than memory does.
            bounds = {"ASAN_OPTIONS": "exitcode=99:hard_rss_limit_mb=4096:allocator_may_return_null=1", "UBSAN_OPTIONS": "exitcode=99:halt_on_error=1"}
            bounds = {name: f"{own}:{os.environ.get(name, '')}" for name, own in bounds.items()}
            process = subprocess.Popen([*self.launcher, os.path.join(self.bin, "many")], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                       env={**os.environ, **bounds, **self.environment})
            self.own.process = process
            self.started.append(process)
        return process

    def __call__(self, *words, seconds=60, bytes=0):
        """Runs a command line, within so many seconds and, without sanitizers, bytes of address space."""
        out, err = (os.path.join(self.printed, name) for name in ("out", "err"))
        process = self._process()
        request = {"words": [str(word) for word in words], "folder": self.working or os.getcwd(), "out": out, "err": err,
                   "seconds": seconds, "bytes": 0 if self.sanitized else bytes}
        try:
            process.stdin.write(json.dumps(request) + "\n")
            process.stdin.flush()
            answer = process.stdout.readline()
        except BrokenPipeError:
            answer = ""
        status = int(answer) if answer else process.wait()
        if status == NO_COMMAND:
            return Done(status, b"", b"")
        return Done(status, read(out), read(err))

    def run(self, *words, seconds=300):
        """The same as subprocess.run tells it, of any program of the folder."""
        done = self(*words, seconds=seconds)
        if done.status == NO_COMMAND:
            command = [os.path.join(self.bin, str(words[0])), *map(str, words[1:])]
            return subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=seconds)
        return subprocess.CompletedProcess(words, done.status, done.out.decode(errors="replace"), done.err.decode(errors="replace"))

    def sweep(self, judge, items):
        """What `judge` says of each, in order; items are judged at the same time, as many as there are processors."""
        def one(item):
            shutil.rmtree(self.scratch)
            os.mkdir(self.scratch)
            return judge(item)
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            return list(pool.map(one, items))


def read(path):
    with open(path, "rb") as file:
        return file.read()


def line(text, length=300):
    """The beginning of what was printed, in one line."""
    return re.sub(r"\s+", " ", text.decode(errors="replace")[:length]).strip()
