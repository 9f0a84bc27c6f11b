root=$(git rev-parse --show-toplevel 2>/dev/null) && cd "$root" || exit 0
if d=$(mktemp -d 2>/dev/null); then
  trap 'rm -rf "$d"' EXIT
  mkdir "$d/objects"
  cp "$(git rev-parse --git-path index)" "$d/index" 2>/dev/null
  GIT_ALTERNATE_OBJECT_DIRECTORIES=$(git rev-parse --path-format=absolute --git-path objects)
  GIT_OBJECT_DIRECTORY=$d/objects GIT_INDEX_FILE=$d/index
  export GIT_ALTERNATE_OBJECT_DIRECTORIES GIT_OBJECT_DIRECTORY GIT_INDEX_FILE
  git add -A 2>/dev/null
  git --no-pager diff --cached
else
  git --no-pager diff HEAD
fi
