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
read -r tw_up tw_rest 2>/dev/null </proc/uptime && echo "$tw_up" >"$at/up"
unset tw_up tw_rest
date +%s%3N >"$at/began"
[ -z "$bell" ] || printf '' 2>/dev/null >"$bell"
unset at bell
# A job that was submitted under the names of Slurm's commands knows itself by the market's number;
# `srun` of these commands needs the manager's.
if [ -n "$TRADEWIND_SHIMS" ] && [ -n "$SLURM_JOB_ID" ]; then
    export TRADEWIND_SITE_JOB_ID="$SLURM_JOB_ID"
    # Some tools drop it before they call `srun`.
    [ -z "$SLURM_CONF" ] || export TRADEWIND_SITE_SLURM_CONF="$SLURM_CONF"
    export SLURM_JOB_ID="$TRADEWIND_JOB_ID" SLURM_JOBID="$TRADEWIND_JOB_ID"
fi
exec "$@"
