# To be sourced: what a test sweeps, networks that the tree makes (tests/networks/) or public models (tests/models.tsv).
# folder_of networks|models: where they are; the test fails where they are not.
folder_of() {
  local variable=ORIGO_NETWORKS
  [[ $1 == models ]] && variable=ORIGO_MODELS
  [[ -d ${!variable-} ]] || { echo "FAILED: $variable has to name the folder of $1" >&2; return 1; }
  realpath -- "${!variable}"
}
# swept networks|models EVERY: their files but the hostile ones, a line each, in a fixed order; each EVERY-th of them, though of
# what the tree makes all networks, which are small. ORIGO_THOROUGH=1 in the environment: all.
swept() {
  local folder every=$2
  folder=$(folder_of "$1") || return
  [[ ${ORIGO_THOROUGH-0} != 0 ]] && every=1
  find "$folder" -path "$folder/hostile" -prune -o \( -name '*.tflite' -o -name '*.circle' \) -print | LC_ALL=C sort |
    awk -v every="$every" -v all="$([[ $1 == networks ]] && echo "$folder/")" '
      all && index(substr($0, length(all) + 1), "/") == 0 || ++n % every == 0'
}
