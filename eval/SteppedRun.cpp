#include "eval/SteppedRun.h"

#include "llvm/Support/Compiler.h"
#include "llvm/Support/ErrorHandling.h"

#include <sys/mman.h>
#ifndef __x86_64__
#include <ucontext.h>
#endif

#if LLVM_ADDRESS_SANITIZER_BUILD
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#define ORIGO_TELL_STACKS 1
#else
#define ORIGO_TELL_STACKS 0
#endif

namespace origo::eval {

namespace {

/// Memory for a stack, with some before it that cannot be written to.
struct StackMemory {
  static constexpr size_t size = size_t(8) << 20, guard = size_t(1) << 16;
  char *memory;
  StackMemory() {
    void *mapped = ::mmap(nullptr, size + guard, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    memory = static_cast<char *>(mapped);
    if (mapped == MAP_FAILED || ::mprotect(memory + guard, size, PROT_READ | PROT_WRITE) != 0)
      llvm::report_bad_alloc_error("no memory for the stack of a run");
  }
  ~StackMemory() { ::munmap(memory, size + guard); }
  StackMemory(const StackMemory &) = delete;
  char *begin() const { return memory + guard; }
};

/// Of walks that this thread has done: as many as there ever were at the same time.
thread_local std::vector<std::unique_ptr<StackMemory>> spareStacks;

#ifdef __x86_64__

/// Saves in `from` what a function preserves, and goes on where `to` was left; `pass` is what is begun there called
/// with. swapcontext does as much, and asks the system for a mask of signals each time: that takes as long as a small
/// operator.
extern "C" __attribute__((visibility("hidden"))) void origoSwitchStack(void **from, void *to, void *pass);
__asm__(R"(
  .pushsection .text
  .hidden origoSwitchStack
  .globl origoSwitchStack
  .type origoSwitchStack, @function
origoSwitchStack:
  endbr64
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  movq %rdx, %rdi
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  retq
  .size origoSwitchStack, .-origoSwitchStack
  .popsection
)");

struct Switch {
  void *owner = nullptr, *run = nullptr; ///< where the two were left
  SteppedRun *walk = nullptr;
  void prepare(StackMemory &stack, void (*begin)(SteppedRun *), SteppedRun &of) {
    walk = &of;
    void **top = reinterpret_cast<void **>(stack.begin() + StackMemory::size);
    *--top = nullptr; // nobody has called it
    *--top = reinterpret_cast<void *>(begin);
    for (unsigned preserved = 0; preserved < 6; ++preserved)
      *--top = nullptr;
    run = top;
  }
  void toRun() { origoSwitchStack(&owner, run, walk); }
  void toOwner() { origoSwitchStack(&run, owner, nullptr); }
};

#else

struct Switch {
  ucontext_t owner, run;
  void (*begin)(SteppedRun *);
  SteppedRun *walk;
  void prepare(StackMemory &stack, void (*what)(SteppedRun *), SteppedRun &of) {
    begin = what;
    walk = &of;
    ::getcontext(&run);
    run.uc_stack.ss_sp = stack.begin();
    run.uc_stack.ss_size = StackMemory::size;
    run.uc_link = nullptr;
    auto address = reinterpret_cast<uintptr_t>(this);
    ::makecontext(&run, reinterpret_cast<void (*)()>(&start), 2, static_cast<unsigned>(address >> 32),
                  static_cast<unsigned>(address));
  }
  static void start(unsigned high, unsigned low) {
    auto *self = reinterpret_cast<Switch *>(uintptr_t(high) << 32 | low);
    self->begin(self->walk);
  }
  void toRun() { ::swapcontext(&owner, &run); }
  void toOwner() { ::swapcontext(&run, &owner); }
};

#endif

} // namespace

/// The stack of a run, and the way to it and back. A thread would do, but waking one for each tensor takes longer than
/// most operators.
struct SteppedRun::Stack {
  std::unique_ptr<StackMemory> memory;
  Switch way;

  explicit Stack(SteppedRun &walk) {
    if (!spareStacks.empty()) {
      memory = std::move(spareStacks.back());
      spareStacks.pop_back();
#if ORIGO_TELL_STACKS
      ASAN_UNPOISON_MEMORY_REGION(memory->begin(), StackMemory::size); // what was there never returned
#endif
    } else {
      memory = std::make_unique<StackMemory>();
    }
    way.prepare(*memory, &begin, walk);
  }
  ~Stack() { spareStacks.push_back(std::move(memory)); }

  static void begin(SteppedRun *walk) {
    walk->stack->arrive(nullptr);
    walk->runAll();
    walk->stack->toOwner(true);
  }

  void toRun() {
    void *mine = nullptr;
#if ORIGO_TELL_STACKS
    __sanitizer_start_switch_fiber(&mine, memory->begin(), StackMemory::size);
#endif
    way.toRun();
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
    way.toOwner();
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

SteppedRun::SteppedRun(const Session &session, RunOptions run, std::vector<TensorRef> given,
                       std::function<bool(const Value &)> wants)
    : session(session), options(std::move(run)), inputs(std::move(given)), wants(std::move(wants)),
      stack(std::make_unique<Stack>(*this)) {
  once = session.runsOnce(options.signature) ? *session.graph(options.signature) : nullptr;
}

void SteppedRun::runAll() {
  RunOptions run = options;
  run.observer = [&](const Operator &op, const Value &value, Tensor &tensor) {
    if (options.observer)
      options.observer(op, value, tensor);
    observe(value, tensor);
  };
  outputs.emplace(session.run(inputs, run));
  stop.reset();
  done = true;
}

SteppedRun::~SteppedRun() {
  unwatched = true;
  goOn();
  if (outputs && !*outputs)
    llvm::consumeError(outputs->takeError());
}

void SteppedRun::observe(const Value &value, Tensor &tensor) {
  if (unwatched || !wants(value))
    return;
  stop = Stop{&value, value.subgraph() == once ? 0 : times[&value]++, &tensor};
  stack->toOwner();
}

void SteppedRun::goOn() {
  if (!done)
    stack->toRun();
}

const SteppedRun::Stop *SteppedRun::next() {
  goOn();
  return at();
}

llvm::Expected<std::vector<NamedTensor>> SteppedRun::finish() {
  unwatched = true;
  goOn();
  auto made = std::move(*outputs);
  outputs.reset();
  return made;
}

} // namespace origo::eval
