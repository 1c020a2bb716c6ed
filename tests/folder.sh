# To be sourced: what a test sweeps, networks that the tree makes (tests/networks/) or public models (tests/models.tsv).
# folder_of networks|models: where they are; the test fails where they are not.
folder_of() {
  local variable=ORIGO_NETWORKS
  [[ $1 == models ]] && variable=ORIGO_MODELS
  [[ -d ${!variable-} ]] || { echo "FAILED: $variable has to name the folder of $1" >&2; return 1; }
  realpath -- "${!variable}"
}
# swept networks|models EVERY [NETWORKS]: their files but the hostile ones, a line each, in a fixed order; about one in EVERY of them, though of
# what the tree makes one in NETWORKS of the networks, which are small; all without it. ORIGO_THOROUGH=1 in the environment: all. A hash of its name draws a file,
# so that which ones are drawn does not depend on which others there are.
swept() {
  local folder every=$2 networks=${3-1}
  folder=$(folder_of "$1") || return
  [[ ${ORIGO_THOROUGH-0} != 0 ]] && every=1 networks=1
  find "$folder" -path "$folder/hostile" -prune -o \( -name '*.tflite' -o -name '*.circle' \) -printf '%P\n' | LC_ALL=C sort |
    LC_ALL=C awk -v every="$every" -v folder="$folder/" -v networks="$([[ $1 == networks ]] && echo "$networks")" '
      BEGIN { for (i = 1; i < 256; ++i) code[sprintf("%c", i)] = i }
      {
        hash = 0
        for (i = 1; i <= length($0); ++i)
          hash = (hash * 31 + code[substr($0, i, 1)]) % 1000003
        if (hash % every == 0 || (networks && !index($0, "/") && hash % networks == 0))
          print folder $0
      }'
}
