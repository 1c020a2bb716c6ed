#!/usr/bin/env bash
# Kernels of our own on lesser processors, which qemu plays: that nothing is executed which they do not have, and that the
# numbers are right. With ORIGO_THOROUGH=1 all tests of the fast engine.
# usage: fast_lesser.sh BIN
set -uo pipefail
bin=$(realpath "$1")
command -v qemu-x86_64 >/dev/null || { echo "FAILED: there is no qemu-x86_64 (./setup --install)"; exit 1; }
only='FastWindows.Convolutions:FastWindows.DepthwiseConvolutions:FastOperators.Reductions:FastOperators.FunctionsOfFloats'
[[ -z ${ORIGO_THOROUGH-} ]] || only='Fast*-*PublicModels*'
least=4
# AVX2; SSE 4.2; SSE 3.
for processor in Haswell Nehalem qemu64; do
  [[ $processor == qemu64 && -z ${ORIGO_THOROUGH-} ]] && continue
  said=$(timeout 1200 qemu-x86_64 -cpu $processor "$bin/origo_tests" --gtest_filter="$only" 2>&1) ||
    { echo "fast: on $processor: $(tail -n 20 <<<"$said")"; exit 1; }
  passed=$(sed -nE 's/.*PASSED.* ([0-9]+) tests.*/\1/p' <<<"$said")
  ((passed >= least)) || { echo "fast: on $processor only ${passed:-0} tests were run"; exit 1; }
  echo "fast: $passed tests pass on $processor"
done
