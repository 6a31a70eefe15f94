at=$tw_at
bell=$tw_bell
umask "$tw_umask"
unset tw_at tw_umask tw_bell
case $1 in
*/*) [ -x "$1" ] && [ ! -d "$1" ] ;;
*) command -v -- "$1" >/dev/null 2>&1 ;;
esac || { printf '%s\n' "$1" >"$at/missing"; exit 127; }
# Who keeps the limit reads them at any time: without the end of its line a file is not written yet.
echo $$ >"$at/pid"
date +%s%3N >"$at/began"
[ -z "$bell" ] || printf '' 2>/dev/null >"$bell"
unset at bell
exec "$@"
