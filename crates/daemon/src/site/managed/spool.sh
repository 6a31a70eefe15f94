# Looks after tasks' folders: spool.sh SPOOL VERB ARGUMENT...
umask 077
at_home "$1"
spool=$place
verb=$2
shift 2
# All that is known of a task, a line each: its name, the file's, what is in it. A file without the
# end of its line is not written yet.
tell() {
    [ -d "$spool/$1" ] || { echo "$1 absent"; return; }
    echo "$1 folder"
    [ ! -f "$spool/$1/claimed" ] || echo "$1 claimed"
    written "$1"
}
written() {
    for file in here began end; do
        [ -f "$spool/$1/$file" ] && read -r text <"$spool/$1/$file" && echo "$1 $file $text"
    done
}
# Bells of a market's tasks at a site: `.tw-MARKET-SITE`.
case $verb in
listen)
    bells=$spool/$1
    terms=$2
    epoch=$3
    calm=0
    # A word now and then: without a reader it ends this.
    while [ -d "$bells" ] && echo .; do
        # The bells are another daemon's then.
        if [ -n "$epoch" ]; then
            newest "$spool/$terms"
            [ "$newest" -le "$epoch" ] || exit
        fi
        beat=0
        while [ "$beat" -lt 100 ]; do
            count=0
            set --
            for bell in "$bells"/tw-*; do
                [ -e "$bell" ] && [ "$count" -lt 200 ] || break
                set -- "$@" "$bell"
                count=$((count + 1))
            done
            if [ "$count" -gt 0 ]; then
                # Away with the bells first: what is written from now on rings again.
                rm -f "$@" || exit
                for bell in "$@"; do
                    tell "${bell##*/}"
                    echo "${bell##*/} ." || exit
                done
                calm=0
            fi
            # Where tasks begin and end, others will soon.
            calm=$((calm + 1))
            if [ "$calm" -lt 50 ]; then
                beat=$((beat + 1))
                sleep 0.2
            else
                beat=$((beat + 5))
                sleep 1
            fi
        done
    done
    ;;
place)
    mkdir -p "$spool/$1" && echo "$2" >"$spool/$1/.here" && echo "place $spool/$1"
    ;;
look)
    for task in "$@"; do tell "$task"; done
    ;;
past)
    # What tasks have written whose folders were emptied.
    [ ! -f "$spool/.ended" ] || for task in "$@"; do grep -F -e "$task " "$spool/.ended"; done
    ;;
claim)
    # The mark tells a folder of ours from that of a task that has not written anything yet.
    mkdir -p "$spool" && mkdir "$spool/$1" 2>/dev/null && : >"$spool/$1/claimed"
    tell "$1"
    ;;
keep)
    # Tasks of earlier terms that may still begin, in one list: the first of its parts, or more of it; the
    # last one makes it count.
    list=$spool/$1/$2/draft
    [ "$3" = more ] || : >"$list" || exit
    epoch=$2
    how=$4
    terms=$spool/$1
    shift 4
    [ $# = 0 ] || printf '%s\n' "$@" >>"$list" || exit
    if [ "$how" = last ]; then
        mv -f "$list" "$terms/$epoch/kept" || exit
        for term in "$terms"/*; do
            case ${term##*/} in *[!0-9]*) continue ;; esac
            [ "${term##*/}" -ge "$epoch" ] || rm -rf "$term"
        done
    fi
    ;;
stop)
    [ ! -d "$spool/$1" ] || : >"$spool/$1/stop"
    ;;
go)
    # Beside the folder: a task that has no nodes yet makes its folder later.
    if mkdir -p "$spool" && [ ! -e "$spool/$1.go" ]; then
        printf '%s\n%s\n' "$2" "$3" >"$spool/.$1.go" && mv -f "$spool/.$1.go" "$spool/$1.go"
    fi
    ;;
clear)
    terms=$spool/$1
    own=$terms/$2
    shift 2
    count=$#
    # Of these nothing may begin any more. The draft is in the folder of our term, which the next one takes
    # away: what that has struck off does not come back.
    for kept in "$terms"/*/kept; do
        [ -s "$kept" ] || continue
        printf '%s\n' "$@" | { grep -v -x -F -f - "$kept" || [ $? = 1 ]; } >"$own/struck" || exit
        mv -f "$own/struck" "$kept" || exit
    done
    # What they have written is kept for markets that are restored from a backup.
    if [ -f "$spool/.ended" ] && [ "$(wc -c <"$spool/.ended")" -gt 4000000 ]; then
        tail -n 30000 "$spool/.ended" >"$spool/.ended.new" && mv -f "$spool/.ended.new" "$spool/.ended"
    fi
    for task in "$@"; do
        [ ! -f "$spool/$task/end" ] || written "$task" >>"$spool/.ended"
    done
    for task in "$@"; do
        [ ! -d "$spool/$task" ] || set -- "$@" "$spool/$task"
        [ ! -e "$spool/$task.go" ] || rm -f "$spool/$task.go"
    done
    shift "$count"
    [ $# = 0 ] || find "$@" -mindepth 1 -delete
    # The folders themselves stay for an hour: a submission that comes late finds its task begun.
    # There may be very many, so they are looked through now and then only.
    if [ -d "$spool" ] && [ -z "$(find "$spool/.swept" -mmin -10 2>/dev/null)" ]; then
        : >"$spool/.swept"
        find "$spool" -mindepth 1 -maxdepth 1 -type d -name 'tw-*' -empty -mmin +60 -delete
    fi
    ;;
# A part of a file: from the byte $2 on (`-`: its end), at most $3 bytes, behind a line with where they
# begin and how long the file is.
part)
    at_home "$1"
    if [ -f "$place" ]; then
        size=$(($(wc -c <"$place")))
        from=$2
        [ "$from" != - ] || from=$((size > $3 ? size - $3 : 0))
        [ "$from" -le "$size" ] || from=$size
        echo "$from $size"
        tail -c "+$((from + 1))" -- "$place" | head -c "$3"
    else
        echo 0 0
    fi
    ;;
tail)
    at_home "$1"
    [ ! -f "$place" ] || tail -c "$2" -- "$place"
    ;;
esac
echo done
