# Looks after tasks' folders: spool.sh SPOOL VERB ARGUMENT...
umask 077
spool=$(at_home "$1")
verb=$2
shift 2
# All that is known of a task, a line each: its name, the file's, what is in it.
tell() {
    [ -d "$spool/$1" ] || { echo "$1 absent"; return; }
    echo "$1 folder"
    for file in here began end; do
        [ -f "$spool/$1/$file" ] && read -r text <"$spool/$1/$file" && echo "$1 $file $text"
    done
}
case $verb in
look)
    for task in "$@"; do tell "$task"; done
    ;;
claim)
    mkdir -p "$spool" && { mkdir "$spool/$1" 2>/dev/null && echo "$1 claimed" || tell "$1"; }
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
    for task in "$@"; do
        [ ! -d "$spool/$task" ] || find "$spool/$task" -mindepth 1 -delete
        rm -f "$spool/$task.go"
    done
    # The folders themselves stay for an hour: a submission that comes late finds its task begun.
    find "$spool" -mindepth 1 -maxdepth 1 -type d -name 'tw-*' -empty -mmin +60 -delete
    ;;
tail)
    file=$(at_home "$1")
    [ ! -f "$file" ] || tail -c "$2" -- "$file"
    ;;
esac
echo done
