#!/bin/sh
# screenshot.sh HTML PNG [WIDTH HEIGHT]: what a browser shows of a page, as a picture. Where PNG ends in .html, the
# document as it is after its scripts have run; where it ends in .log, what the page wrote to the console, which is where a
# browser says what a content policy forbids.
# Looks for Chromium or Chrome (or takes $CHROMIUM); says so and exits 3 when there is none.
# HTML is a file, or the address of a page on this machine (http://127.0.0.1...).
# $SCHEME=dark asks for the dark colours. HTML may end in a fragment (page.html#renderer=software).
set -eu
if [ $# -lt 2 ]; then
    echo "usage: screenshot.sh HTML PNG [WIDTH HEIGHT]" >&2
    exit 2
fi
width=${3:-1400}
height=${4:-2200}

browser=${CHROMIUM:-}
for name in chromium chromium-browser google-chrome google-chrome-stable; do
    [ -n "$browser" ] || browser=$(command -v "$name" || true)
done
if [ -z "$browser" ]; then
    echo "SKIPPED: no Chromium found; install Debian's package chromium, or set CHROMIUM to a Chrome" >&2
    exit 3
fi

page=${1%%#*}
fragment=${1#"$page"}
case $page in
http://*) address=$page ;;
*) address="file://$(cd "$(dirname "$page")" && pwd)/$(basename "$page")" ;;
esac
profile=$(mktemp -d)
trap 'rm -rf "$profile"' EXIT
case $2 in
*.html) take=--dump-dom out=$2 ;;
*.log) take="--dump-dom --enable-logging=stderr" out=/dev/null ;;
*) take=--screenshot=$2 out=/dev/null ;;
esac
scheme=
[ "${SCHEME:-light}" = dark ] && scheme=--blink-settings=preferredColorScheme=0

# Without a GPU WebGL runs on SwiftShader, which newer versions want to be asked for.
"$browser" --headless --no-sandbox --disable-quic --no-first-run --disable-background-networking \
    --disable-component-update --disable-sync --user-data-dir="$profile" --hide-scrollbars \
    --use-gl=angle --use-angle=swiftshader --enable-unsafe-swiftshader $scheme \
    --window-size="$width,$height" --virtual-time-budget=5000 $take \
    "$address$fragment" >"$out" 2>"$profile/log" || { cat "$profile/log" >&2; exit 1; }
case $2 in
*.log)
    grep ':CONSOLE' "$profile/log" >"$2" || true
    exit 0
    ;;
esac
[ -s "$2" ] || { cat "$profile/log" >&2; exit 1; }
