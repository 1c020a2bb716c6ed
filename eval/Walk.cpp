#include "eval/Walk.h"

namespace origo::eval {

Walk::Walk(const Session &session, std::string signature, std::vector<OwnedTensor> given,
           std::function<bool(const Value &)> wants, Observer first)
    : inputs(std::move(given)), wants(std::move(wants)) {
  thread = std::thread([this, &session, signature = std::move(signature), first = std::move(first)] {
    {
      std::unique_lock lock(mutex);
      changed.wait(lock, [&] { return working; });
    }
    RunOptions run;
    run.signature = signature;
    run.observer = [&](const Operator &op, const Value &value, Tensor &tensor) {
      if (first)
        first(op, value, tensor);
      observe(value, tensor);
    };
    auto made = session.run(std::vector<TensorRef>(inputs.begin(), inputs.end()), run);
    std::lock_guard lock(mutex);
    outputs.emplace(std::move(made));
    stop.reset();
    done = true;
    working = false;
    changed.notify_all();
  });
}

Walk::~Walk() {
  unwatched = true;
  goOn();
  thread.join();
  if (outputs && !*outputs)
    llvm::consumeError(outputs->takeError());
}

void Walk::observe(const Value &value, Tensor &tensor) {
  if (unwatched || !wants(value))
    return;
  std::unique_lock lock(mutex);
  stop = Stop{&value, times[&value]++, &tensor};
  working = false;
  changed.notify_all();
  changed.wait(lock, [&] { return working; });
}

void Walk::goOn() {
  std::unique_lock lock(mutex);
  if (done)
    return;
  working = true;
  changed.notify_all();
  changed.wait(lock, [&] { return !working; });
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
