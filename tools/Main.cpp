#include "tools/Driver.h"

/// The program of one command, ORIGO_COMMAND.
int main(int argc, char **argv) { return origo::tools::main(argc, argv, *origo::commands::findCommand(ORIGO_COMMAND)); }
