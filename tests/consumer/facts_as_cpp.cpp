#include "facts.c" // the header as C++
