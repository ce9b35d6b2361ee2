#!/usr/bin/env bash
# Gets the public templates that public.txt lists: public.sh <folder>
#
# A line has a repository of GitHub, a commit, a path and the file's SHA-256; the
# file becomes <folder>/<SHA-256>.yaml. What is there already is left. A commit is
# fetched by git alone, without its history, or, if HOLDFAST_TEST_MIRRORS names a
# folder with a copy of the repository in owner+name/repo, read from that.
set -euo pipefail
folder=$1
list=$(cd "$(dirname "$0")" && pwd)/public.txt
mkdir -p "$folder"

repository=""
while read -r name commit path sum; do
    file=$folder/$sum.yaml
    [ -e "$file" ] && continue
    if [ "$name" != "$repository" ]; then
        repository=$name
        copy=${HOLDFAST_TEST_MIRRORS:-}/${name/\//+}/repo
        if [ ! -d "$copy" ]; then
            copy=$folder/${name/\//+}.git
            git init --quiet --bare "$copy"
            git -C "$copy" fetch --quiet --depth 1 "https://github.com/$name" "$commit"
        fi
    fi
    git -C "$copy" cat-file blob "$commit:$path" > "$file.part"
    echo "$sum  $file.part" | sha256sum --check --quiet
    mv "$file.part" "$file"
done < "$list"
