#!/usr/bin/env bash
# Random graphs, single operators and parts of model files in TensorFlow Lite as well, natively: the same numbers, and of operators
# the same yes or no; and every model file before and after each flag of circle2circle alone (a sample, unless thorough).
# usage: native.sh BIN SCRATCH networks|models     SCRATCH keeps the library; ORIGO_NATIVE names another libtensorflowlite_c.so
# Random graphs and operators go with networks. ORIGO_THOROUGH=1 in the environment checks many more.
set -uo pipefail
bin=$(realpath "$1") scratch=$2
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
source "$here/../runtimes/install.sh"
source "$here/../folder.sh"
library=${ORIGO_NATIVE-}
if [[ -z $library ]]; then
  fetch_native "$scratch"
  library=$native/linux_amd64/libtensorflowlite_c.so
fi
graphs=200 operators=4000 parts=200 work=1e6 every=4
[[ ${ORIGO_THOROUGH-0} != 0 ]] && graphs=20000 operators=200000 parts=20000 work=1e12 every=1
models=$(folder_of "$3") || exit 1
if [[ $3 == networks ]]; then
  every=1
  said=$("$bin/circle-fuzz" --graphs=$graphs --operators=$operators --native="$library" 2>&1)
  status=$?
  grep -E '^(graphs|operators): ' <<<"$said" | sed 's/^/models: random /'
  ((status == 0)) || { echo "$said"; echo "FAILED"; exit 1; }
  # The runtime has to compute something, or nothing is compared.
  awk '/^graphs: /{ if ($7 < $2 * 0.15) exit 1 } /^operators: /{ if ($7 < $2 * 0.3) exit 1 }' <<<"$said" || { echo "FAILED: too few of them run: $said"; exit 1; }
fi

# Models, before and after each flag alone.
mapfile -t files < <(find "$models" -name '*.tflite' -size -4000k -not -path '*/hostile/*' | LC_ALL=C sort)
said=$("$bin/circle-fuzz" --parts=$parts --native="$library" "${files[@]}" 2>&1) || { echo "$said"; echo "FAILED"; exit 1; }
sed 's/^/models: /' <<<"$said"
awk '{ if ($5 < $2 * 0.5 || $7 < $2 * 0.4) exit 1 }' <<<"$said" || { echo "FAILED: too few of them run"; exit 1; }
said=$("$bin/native_flags" "$library" $work $every 2>&1) || { echo "$said"; echo "FAILED"; exit 1; }
[[ ${ORIGO_THOROUGH-0} != 0 ]] && echo "$said" || tail -n 1 <<<"$said"
