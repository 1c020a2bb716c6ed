#pragma once

#include <locale.h>

namespace origo {

/// While it lives, this thread writes and reads numbers as C does, whatever locale the program has chosen: libraries
/// that we use ask for it. For what is called by programs that are not ours.
class CLocale {
public:
  CLocale() {
    static const locale_t plain = ::newlocale(LC_ALL_MASK, "C", nullptr);
    before = ::uselocale(plain); // null, where there was no memory, changes nothing
  }
  ~CLocale() { ::uselocale(before); }
  CLocale(const CLocale &) = delete;

private:
  locale_t before;
};

} // namespace origo
