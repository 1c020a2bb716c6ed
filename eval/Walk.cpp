#include "eval/Walk.h"

#include "llvm/Support/Compiler.h"
#include "llvm/Support/ErrorHandling.h"

#include <sys/mman.h>
#include <ucontext.h>

#if LLVM_ADDRESS_SANITIZER_BUILD
#include <sanitizer/common_interface_defs.h>
#define ORIGO_TELL_STACKS 1
#else
#define ORIGO_TELL_STACKS 0
#endif

namespace origo::eval {

/// The stack of a run, and the way to it and back. A thread would do, but waking one for each tensor takes longer than
/// most operators.
struct Walk::Stack {
  static constexpr size_t size = size_t(8) << 20, guard = size_t(1) << 16;
  ucontext_t owner, run;
  char *memory;

  explicit Stack(Walk &walk) {
    void *mapped = ::mmap(nullptr, size + guard, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    memory = static_cast<char *>(mapped);
    if (mapped == MAP_FAILED || ::mprotect(memory + guard, size, PROT_READ | PROT_WRITE) != 0)
      llvm::report_bad_alloc_error("no memory for the stack of a run");
    ::getcontext(&run);
    run.uc_stack.ss_sp = memory + guard;
    run.uc_stack.ss_size = size;
    run.uc_link = nullptr;
    auto address = reinterpret_cast<uintptr_t>(&walk);
    ::makecontext(&run, reinterpret_cast<void (*)()>(&begin), 2, static_cast<unsigned>(address >> 32),
                  static_cast<unsigned>(address));
  }
  ~Stack() { ::munmap(memory, size + guard); }

  static void begin(unsigned high, unsigned low) {
    auto *walk = reinterpret_cast<Walk *>(uintptr_t(high) << 32 | low);
    walk->stack->arrive(nullptr);
    walk->runAll();
    walk->stack->toOwner(true);
  }

  void toRun() {
    void *mine = nullptr;
#if ORIGO_TELL_STACKS
    __sanitizer_start_switch_fiber(&mine, memory + guard, size);
#endif
    ::swapcontext(&owner, &run);
#if ORIGO_TELL_STACKS
    __sanitizer_finish_switch_fiber(mine, nullptr, nullptr);
#endif
    (void)mine;
  }
  /// `last`: never to come back.
  void toOwner(bool last = false) {
    void *mine = nullptr;
#if ORIGO_TELL_STACKS
    __sanitizer_start_switch_fiber(last ? nullptr : &mine, ownerStack, ownerSize);
#endif
    (void)last;
    ::swapcontext(&run, &owner);
    arrive(mine);
  }

private:
  [[maybe_unused]] const void *ownerStack = nullptr;
  [[maybe_unused]] size_t ownerSize = 0;
  void arrive(void *mine) {
#if ORIGO_TELL_STACKS
    __sanitizer_finish_switch_fiber(mine, &ownerStack, &ownerSize);
#endif
    (void)mine;
  }
};

Walk::Walk(const Session &session, RunOptions run, std::vector<OwnedTensor> given,
           std::function<bool(const Value &)> wants)
    : session(session), options(std::move(run)), inputs(std::move(given)), wants(std::move(wants)),
      stack(std::make_unique<Stack>(*this)) {}

void Walk::runAll() {
  RunOptions run = options;
  run.observer = [&](const Operator &op, const Value &value, Tensor &tensor) {
    if (options.observer)
      options.observer(op, value, tensor);
    observe(value, tensor);
  };
  outputs.emplace(session.run(std::vector<TensorRef>(inputs.begin(), inputs.end()), run));
  stop.reset();
  done = true;
}

Walk::~Walk() {
  unwatched = true;
  goOn();
  if (outputs && !*outputs)
    llvm::consumeError(outputs->takeError());
}

void Walk::observe(const Value &value, Tensor &tensor) {
  if (unwatched || !wants(value))
    return;
  stop = Stop{&value, times[&value]++, &tensor};
  stack->toOwner();
}

void Walk::goOn() {
  if (!done)
    stack->toRun();
}

const Walk::Stop *Walk::next() {
  goOn();
  return at();
}

llvm::Expected<std::vector<NamedTensor>> Walk::finish() {
  unwatched = true;
  goOn();
  auto made = std::move(*outputs);
  outputs.reset();
  return made;
}

} // namespace origo::eval
