# What follows is the same for every task; all that differs is in the payload. Each process costs
# more than all else here: what the shell can do itself, it does.
set -f
umask_before=$(umask)
umask 077
unset TZ LC_ALL SSH_AUTH_SOCK KRB5CCNAME CDPATH SLURM_EXPORT_ENV ENV BASH_ENV
eval "$payload"
unset payload
know_account
LOGNAME=$USER
LANG=${LANG:-C.UTF-8}
export HOME SHELL USER LOGNAME LANG
at_home "$tw_spool"
tw_spool=$place
at_home "$tw_directory"
tw_directory=$place
at_home "$tw_output"
tw_output=$place
at_home "$tw_error"
tw_error=$place
at_home "$tw_input"
tw_input=$place
folder=$tw_spool/$tw_folder

# Milliseconds since 1970.
now() { date +%s%3N; }

# tick: milliseconds since the machine's start, in `ticks`; where nobody says, since 1970.
tick() {
    if read -r ticks place 2>/dev/null </proc/uptime; then
        ticks=${ticks%.*}${ticks#*.}0
    else
        ticks=$(now)
    fi
}

# moment: milliseconds since 1970, in `moment`.
moment() {
    tick
    moment=$((arrived + ticks - arrival))
}

# A bell for whoever waits for news of this task, if there are bells.
bell=
[ -z "$tw_bells" ] || [ ! -d "$tw_spool/$tw_bells" ] || bell=$tw_spool/$tw_bells/$tw_folder
ring() { [ -z "$bell" ] || printf '' 2>/dev/null >"$bell"; }

# note NAME TEXT: a file of the task's folder. Who reads it waits for the end of its line.
note() { printf '%s\n' "$2" >"$folder/$1"; }

# over SINCE CAUSE [VALUE]: writes the end down; on a full disk, as soon as there is room.
over() {
    for try in 1 2 3 4 5 6 7 8 9 10; do
        note end "$1 $(now) $2 $3" 2>/dev/null && { ring; return; }
        sleep 1
    done
}

# unfit TEXT: the work cannot begin.
unfit() {
    over - unfit "$(printf '%s' "$1 (on $(uname -n))" | base64 | tr -d '\n')"
    exit 126
}

[ -d "$tw_spool" ] || mkdir -p "$tw_spool" 2>/dev/null
if ! mkdir "$folder" 2>/dev/null; then
    # It has begun before, or must not: once is enough.
    [ -d "$folder" ] && exit 0
    echo "cannot write to $tw_spool" >&2
    exit 125
fi

tw_nodes=
for node in $(task_nodes); do tw_nodes=$tw_nodes${tw_nodes:+,}$node; done
# In this order: what the two are apart makes moments later, and nobody's limit shorter.
arrived=$(now)
tick
arrival=$ticks
note here "$arrived $(task_id) $tw_nodes"
ring

# Waits for the others: until `go` is there, for so many seconds at most.
gather() {
    last=$((arrived + tw_gather * 1000))
    while [ ! -f "$folder.go" ]; do
        if [ -f "$folder/stop" ]; then
            over - withdrawn
            exit 126
        fi
        moment
        if [ "$moment" -ge "$last" ]; then
            over - ungathered
            exit 126
        fi
        sleep 0.05
    done
    { read -r begin; read -r told; } <"$folder.go"
    eval "$(printf '%s' "$told" | base64 -d)"
    await "$begin"
}

# await MOMENT: waits for a second since 1970.
await() {
    while left=$(($1 * 1000 - $(now))) && [ "$left" -gt 0 ]; do
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
umask "$umask_before"
for file in "$tw_output" "$tw_error"; do
    command : 2>/dev/null >>"$file" || unfit "$file: $USER cannot write it"
done
umask 077
if [ -n "$tw_script" ]; then
    task_script >"$folder/script" && chmod 700 "$folder/script" ||
        unfit "$folder/script: cannot be made"
fi

[ -n "$tw_gather" ] && gather
# It was near when the task was handed in: a clock that says otherwise is wrong.
[ -n "$tw_start" ] && [ $((tw_start * 1000 - $(now))) -le 10000 ] && await "$tw_start"
if [ -z "$tw_append" ]; then
    : >"$tw_output"
    : >"$tw_error"
fi

# Stops the work at its limit, or when its manager has lost sight of it.
watch() {
    trap 'kill "$nap" 2>/dev/null; exit 0' TERM
    trap '' HUP
    while :; do
        [ -f "$folder/began" ] && read -r began <"$folder/began" && since=$began
        moment
        # The moment is told in hundredths of a second, and nobody is stopped before the limit.
        left=$((since + tw_limit * 1000 - moment + 10))
        [ -f "$folder/stop" ] && why=withdrawn && break
        [ "$left" -le 0 ] && why=limit && break
        pause=2
        [ "$left" -lt 2000 ] && pause=$((left / 1000)).$(printf '%03d' $((left % 1000)))
        sleep "$pause" &
        nap=$!
        wait "$nap"
    done
    note why "$why"
    # Without its folder the task is over and forgotten.
    until read -r group <"$folder/pid"; do
        [ -d "$folder" ] || exit 0
        sleep 0.1
    done
    kill -s TERM -- "-$group"
    kill -s CONT -- "-$group"
    sleep "$tw_grace"
    kill -s KILL -- "-$group"
}

# What is withdrawn by its manager has its end written down all the same, if there is time.
trap : TERM INT HUP USR1 USR2
moment
since=$moment
watch </dev/null >/dev/null 2>&1 &
watcher=$!
export tw_umask="$umask_before" tw_at="$folder"
[ -z "$tw_gather" ] || export tw_bell="$bell"
task_work
code=$?
kill "$watcher" 2>/dev/null
[ -f "$folder/began" ] && read -r began <"$folder/began" && since=$began
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
