# release.sh ID MARK AT LEFT: lets Slurm's job ID go at AT, milliseconds since 1970, if it still has
# the mark: numbers are used again. It waits LEFT milliseconds at most, whatever the clock here says.
[ "$(squeue --noheader --states=all --jobs="$1" --format=%k)" = "$2" ] || exit 1
left=$(($3 - $(date +%s%3N)))
[ "$left" -le "$4" ] || left=$4
[ "$left" -le 0 ] || sleep "$((left / 1000)).$(printf '%03d' $((left % 1000)))"
exec scontrol release "$1"
