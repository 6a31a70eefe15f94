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
# Scripts go to the folder from which they were submitted.
export SLURM_SUBMIT_DIR="$tw_directory"
at_home "$tw_output"
tw_output=$place
at_home "$tw_error"
tw_error=$place
at_home "$tw_input"
tw_input=$place
folder=$tw_spool/$tw_folder

# Milliseconds since 1970.
now() { date +%s%3N; }

# tick: milliseconds since the machine's start, in `ticks`; on machines that do not say, since 1970. It is
# one clock for the whole task: if it cannot be read for once, no time has passed.
read -r up place 2>/dev/null </proc/uptime || up=
ticks=${up%.*}${up#*.}0
tick() {
    if [ -z "$up" ]; then
        ticks=$(now)
    elif read -r up_now place 2>/dev/null </proc/uptime; then
        ticks=${up_now%.*}${up_now#*.}0
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

# What was submitted in an earlier term, and is not among the tasks that the owner has found since, comes too
# late: it was submitted again, or given up.
if [ -n "$tw_epoch" ]; then
    set +f
    for kept in "$tw_spool/$tw_terms"/*/kept; do
        term=${kept%/kept}
        term=${term##*/}
        case $term in *[!0-9]*) continue ;; esac
        [ "$term" -gt "$tw_epoch" ] || continue
        while :; do
            read -r name || {
                echo "of epoch $tw_epoch, and the site knows epoch $term" >&2
                exit 127
            }
            [ "$name" != "$tw_folder" ] || break
        done <"$kept"
    done
    set -f
fi

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

# signal_others NUMBER: to all processes of the work but its first.
signal_others() {
    ps -A -o pid= -o pgid= | while read -r one of; do
        [ "$of" != "$group" ] || [ "$one" = "$group" ] || kill "-$1" "$one"
    done
}

# Warns of the limit, once: who is slow to hear of it holds nothing up.
warn() {
    read -r group <"$folder/pid" || return
    if [ -n "$tw_batch" ]; then
        kill "-$tw_signal" "$group"
    else
        task_signal "$tw_signal" &
    fi
    tw_signal=
}

# begun: since when the work runs, in `since`: by the same clock as `moment`. The time of day may be set
# while it runs.
begun() {
    [ -f "$folder/began" ] && read -r began <"$folder/began" || return
    since=$began
    [ -n "$up" ] && [ -f "$folder/up" ] && read -r up_then <"$folder/up" || return
    [ -z "$up_then" ] || since=$((arrived + ${up_then%.*}${up_then#*.}0 - arrival))
}

# Stops the work at its limit, or when its manager has lost sight of it.
watch() {
    trap 'kill "$nap" 2>/dev/null; exit 0' TERM
    # Signals to all processes of the job are not for us.
    trap '' HUP INT QUIT USR1 USR2 ALRM
    while :; do
        begun
        moment
        # The moment is told in hundredths of a second, and nobody is stopped before the limit.
        left=$((since + tw_limit * 1000 - moment + 10))
        [ -f "$folder/stop" ] && why=withdrawn && break
        [ "$left" -le 0 ] && why=limit && break
        if [ -n "$tw_signal" ]; then
            first=$((left - tw_before * 1000))
            [ "$first" -gt 0 ] || ! [ -f "$folder/began" ] || warn
            # Until its first process is known nobody can be warned.
            [ "$first" -gt 100 ] || first=100
            [ -z "$tw_signal" ] || [ "$first" -ge "$left" ] || left=$first
        fi
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

# end_of_work: waits for it; its exit code, in `code`. A signal ends a wait, too.
end_of_work() {
    while :; do
        got=
        wait "$work"
        code=$?
        [ -n "$got" ] || return
        kill -0 "$work" 2>/dev/null && continue
        # It was over already: shells say so once, or as often as they are asked.
        wait "$work" 2>/dev/null
        again=$?
        [ "$again" = 127 ] || code=$again
        return
    done
}

# What somebody sends to us is for the work: to its first process, as it would be without us. We
# stay, and write its end down, if there is time.
forward() {
    got=yes
    [ -z "$work" ] || [ -f "$folder/why" ] || kill -s "$1" "$work" 2>/dev/null
}
forwarded='HUP INT QUIT USR1 USR2 ALRM TERM CONT'
work=
for signal in $forwarded; do trap "forward $signal" "$signal"; done
# Traps wait for what runs in front, so the work runs behind us. There the shell ignores two signals,
# and only newer tools undo that: with older ones it runs in front, and nothing is forwarded.
tw_default=--default-signal=INT,QUIT
env "$tw_default" true 2>/dev/null || tw_default=
moment
since=$moment
watch </dev/null >/dev/null 2>&1 &
watcher=$!
export tw_umask="$umask_before" tw_at="$folder"
[ -z "$tw_gather" ] || export tw_bell="$bell"
if [ -n "$tw_default" ]; then
    task_work &
    work=$!
    end_of_work
else
    (task_work)
    code=$?
fi
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
    trap - $forwarded
    kill -s "$((code - 128))" $$ 2>/dev/null || kill "-$((code - 128))" $$
else
    over "$since" code "$code"
fi
exit "$code"
