#!/usr/bin/env bash
# Random graphs, single operators and parts of model files in TensorFlow Lite as well, natively: the same numbers, and of operators
# the same yes or no; and every model file before and after each flag of circle2circle alone (a sample, unless thorough).
# usage: native.sh BIN SCRATCH      SCRATCH keeps the library; ORIGO_NATIVE in the environment names another libtensorflowlite_c.so
# ORIGO_THOROUGH=1 in the environment checks many more. Exits with 77 (skipped) where the library cannot be had.
set -uo pipefail
bin=$(realpath "$1") scratch=$2
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
source "$here/../oracle/install.sh"
library=${ORIGO_NATIVE-}
if [[ -z $library ]]; then
  [[ $(uname -sm) == "Linux x86_64" ]] || skip "the library is for x86-64 only"
  fetch_archive "$scratch" tfjs-tflite-node@0.0.2 Zed9biOz9lkWsekvPwdEmxXnsjXJnZO8iOV0s2Y20QU15cwiPedzFEBYiGbK7smYpkJpQNNY9SukoKmUi9bk9w==
  library=$scratch/package/cc_deps/linux_amd64/libtensorflowlite_c.so
fi
graphs=200 operators=4000 parts=200 work=1e6 every=4
[[ ${ORIGO_THOROUGH-0} != 0 ]] && graphs=20000 operators=200000 parts=20000 work=1e12 every=1
said=$("$bin/circle-fuzz" --graphs=$graphs --operators=$operators --native="$library" 2>&1)
status=$?
grep -E '^(graphs|operators): ' <<<"$said" | sed 's/^/models: random /'
((status == 0)) || { echo "$said"; echo "FAILED"; exit 1; }
# The runtime has to compute something, or nothing is compared.
awk '/^graphs: /{ if ($7 < $2 * 0.15) exit 1 } /^operators: /{ if ($7 < $2 * 0.3) exit 1 }' <<<"$said" || { echo "FAILED: too few of them run: $said"; exit 1; }

# Models, before and after each flag alone.
models=${ORIGO_SHARED:-$here/../../../shared}/models
if [[ -d $models ]]; then
  mapfile -t files < <(find "$models" -name '*.tflite' -size -4000k -not -path '*/hostile/*' | LC_ALL=C sort)
  said=$("$bin/circle-fuzz" --parts=$parts --native="$library" "${files[@]}" 2>&1) || { echo "$said"; echo "FAILED"; exit 1; }
  sed 's/^/models: /' <<<"$said"
  awk '{ if ($5 < $2 * 0.5 || $7 < $2 * 0.4) exit 1 }' <<<"$said" || { echo "FAILED: too few of them run"; exit 1; }
  said=$("$bin/native_flags" "$library" $work $every 2>&1) || { echo "$said"; echo "FAILED"; exit 1; }
  [[ ${ORIGO_THOROUGH-0} != 0 ]] && echo "$said" || tail -n 1 <<<"$said"
else
  echo "models: there is no folder $models (ORIGO_SHARED says where it is), so parts and flags are not compared natively"
fi
