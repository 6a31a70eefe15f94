# What follows is the same for every task; all that differs is in the payload.
set -f
umask_before=$(umask)
umask 077
unset TZ LC_ALL SSH_AUTH_SOCK KRB5CCNAME CDPATH SLURM_EXPORT_ENV ENV BASH_ENV
eval "$payload"
unset payload
tw_spool=$(at_home "$tw_spool")
tw_directory=$(at_home "$tw_directory")
tw_output=$(at_home "$tw_output")
tw_error=$(at_home "$tw_error")
tw_input=$(at_home "$tw_input")
folder=$tw_spool/$tw_folder

# Milliseconds since 1970.
now() { date +%s%3N; }

# note NAME TEXT: a file of the task's folder, whole or not at all.
note() { printf '%s\n' "$2" >"$folder/.$1" && mv -f "$folder/.$1" "$folder/$1"; }

# over SINCE CAUSE [VALUE]: writes the end down; on a full disk, as soon as there is room.
over() {
    for try in 1 2 3 4 5 6 7 8 9 10; do
        note end "$1 $(now) $2 $3" 2>/dev/null && return
        sleep 1
    done
}

# unfit TEXT: the work cannot begin.
unfit() {
    over - unfit "$(printf '%s' "$1 (on $(uname -n))" | base64 | tr -d '\n')"
    exit 126
}

mkdir -p "$tw_spool" 2>/dev/null
if ! mkdir "$folder" 2>/dev/null; then
    # It has begun before, or must not: once is enough.
    [ -d "$folder" ] && exit 0
    echo "cannot write to $tw_spool" >&2
    exit 125
fi

USER=$(id -un)
LOGNAME=$USER
SHELL=$(getent passwd "$USER" 2>/dev/null | cut -d: -f7)
LANG=${LANG:-C.UTF-8}
export SHELL="${SHELL:-/bin/sh}" USER LOGNAME LANG

tw_nodes=$(task_nodes)
note here "$(now) $(task_id) $tw_nodes"

# Waits for the others: until `go` is there, for so many seconds at most.
gather() {
    last=$(($(now) + tw_gather * 1000))
    while [ ! -f "$folder.go" ]; do
        if [ -f "$folder/stop" ]; then
            over - withdrawn
            exit 126
        fi
        if [ "$(now)" -ge "$last" ]; then
            over - ungathered
            exit 126
        fi
        sleep 0.01
    done
    { read -r moment; read -r told; } <"$folder.go"
    eval "$(printf '%s' "$told" | base64 -d)"
    while left=$((moment * 1000 - $(now))) && [ "$left" -gt 0 ]; do
        if [ -f "$folder/stop" ]; then
            over - withdrawn
            exit 126
        fi
        [ "$left" -gt 500 ] && left=500
        sleep "0.$(printf '%03d' "$left")"
    done
}

cd -- "$tw_directory" 2>/dev/null || unfit "$tw_directory: not there, or closed to $USER"
[ -r "$tw_input" ] || unfit "$tw_input: no file that $USER can read"
for file in "$tw_output" "$tw_error"; do
    (umask "$umask_before" && : >>"$file") 2>/dev/null || unfit "$file: $USER cannot write it"
done
if task_script >"$folder/script"; then
    chmod 700 "$folder/script" || unfit "$folder/script: cannot be made"
else
    rm -f "$folder/script"
fi

[ -n "$tw_gather" ] && gather
if [ -z "$tw_append" ]; then
    : >"$tw_output"
    : >"$tw_error"
fi

# Stops the work at its limit, or when its manager has lost sight of it.
watch() {
    trap 'kill "$nap" 2>/dev/null; exit 0' TERM
    trap '' HUP
    while :; do
        [ -f "$folder/began" ] && read -r since <"$folder/began"
        left=$((since + tw_limit * 1000 - $(now)))
        [ -f "$folder/stop" ] && why=withdrawn && break
        [ "$left" -le 0 ] && why=limit && break
        [ "$left" -gt 2000 ] && left=2000
        sleep "$((left / 1000)).$(printf '%03d' $((left % 1000)))" &
        nap=$!
        wait "$nap"
    done
    note why "$why"
    read -r group <"$folder/pid"
    kill -s TERM -- "-$group"
    kill -s CONT -- "-$group"
    sleep "$tw_grace"
    kill -s KILL -- "-$group"
}

# What is withdrawn by its manager has its end written down all the same, if there is time.
trap : TERM INT HUP USR1 USR2
since=$(now)
watch </dev/null >/dev/null 2>&1 &
watcher=$!
export tw_umask="$umask_before" tw_at="$folder"
task_work
code=$?
kill "$watcher" 2>/dev/null
[ -f "$folder/began" ] && read -r since <"$folder/began"
[ -f "$folder/pid" ] && read -r group <"$folder/pid" && kill -s KILL -- "-$group" 2>/dev/null

if [ -f "$folder/why" ]; then
    read -r why <"$folder/why"
    over "$since" "$why"
elif [ -f "$folder/missing" ]; then
    unfit "$(cat "$folder/missing"): no such program"
elif [ "$code" -gt 128 ] && [ "$code" -le 192 ]; then
    over "$since" signal "$((code - 128))"
    trap - TERM INT HUP USR1 USR2
    kill -s "$((code - 128))" $$ 2>/dev/null || kill "-$((code - 128))" $$
else
    over "$since" code "$code"
fi
exit "$code"
