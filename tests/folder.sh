# To be sourced: what a test sweeps, networks that the tree makes (tests/networks/) or public models (tests/models.tsv).
# folder_of networks|models: where they are; the test fails where they are not.
folder_of() {
  local variable=ORIGO_NETWORKS
  [[ $1 == models ]] && variable=ORIGO_MODELS
  [[ -d ${!variable-} ]] || { echo "FAILED: $variable has to name the folder of $1" >&2; return 1; }
  realpath -- "${!variable}"
}
# swept networks|models EVERY: their files but the hostile ones, a line each, in a fixed order; about one in EVERY of them, though of
# what the tree makes all networks, which are small. ORIGO_THOROUGH=1 in the environment: all. A hash of its name draws a file,
# so that which ones are drawn does not depend on which others there are.
swept() {
  local folder every=$2
  folder=$(folder_of "$1") || return
  [[ ${ORIGO_THOROUGH-0} != 0 ]] && every=1
  find "$folder" -path "$folder/hostile" -prune -o \( -name '*.tflite' -o -name '*.circle' \) -printf '%P\n' | LC_ALL=C sort |
    LC_ALL=C awk -v every="$every" -v folder="$folder/" -v all="$([[ $1 == networks ]] && echo 1)" '
      BEGIN { for (i = 1; i < 256; ++i) code[sprintf("%c", i)] = i }
      {
        hash = 0
        for (i = 1; i <= length($0); ++i)
          hash = (hash * 31 + code[substr($0, i, 1)]) % 1000003
        if (hash % every == 0 || (all && !index($0, "/")))
          print folder $0
      }'
}
