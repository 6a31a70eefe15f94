#!/usr/bin/env bash
# Two small Slurm clusters on this machine, alpha and beta (or $CLUSTERS), for those who have none:
# their own daemons, loopback only, no munge, no root, nothing installed; Slurm 22.05 to 26.05. Usage:
#   scripts/clusters.sh start [FOLDER]    four nodes each, or $NODES; FOLDER is ./clusters unless given
#   scripts/clusters.sh stop [FOLDER]     ends their jobs and daemons, and removes FOLDER
# SLURM_CONF=FOLDER/alpha/slurm.conf says which cluster Slurm's commands mean.
set -euo pipefail
what=${1:-}
folder=$(realpath -m "${2:-clusters}")
nodes=${NODES:-4}
cpus=${CPUS:-4}
read -ra clusters <<<"${CLUSTERS:-alpha beta}"
PATH=$PATH:/usr/local/sbin:/usr/sbin:/sbin

fail() {
    echo "$1" >&2
    exit 1
}

# configure NAME PORT: the cluster listens on PORT, its nodes on those that follow.
configure() {
    local home=$folder/$1 user
    user=$(id -un)
    mkdir -p "$home"/{state,spool,run,log}
    # Versions from 23.02 on want control groups unless they are told that there are none.
    case $(slurmctld -V) in
    *" 2"[0-2].*) ;;
    *) echo "CgroupPlugin=disabled" >"$home/cgroup.conf" ;;
    esac
    cat >"$home/slurm.conf" <<CONF
ClusterName=$1
SlurmctldHost=localhost(127.0.0.1)
SlurmctldPort=$2
SlurmUser=$user
SlurmdUser=$user
AuthType=auth/none
CredType=cred/none
CommunicationParameters=NoInAddrAny,NoCtldInAddrAny
StateSaveLocation=$home/state
SlurmdSpoolDir=$home/spool/%n
SlurmctldPidFile=$home/run/slurmctld.pid
SlurmdPidFile=$home/run/%n.pid
SlurmctldLogFile=$home/log/slurmctld.log
SlurmdLogFile=$home/log/%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
MpiDefault=none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
JobCompType=jobcomp/none
SwitchType=switch/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SlurmdParameters=config_overrides
ReturnToService=2
MailProg=/bin/true
SlurmctldTimeout=300
SlurmdTimeout=300
MinJobAge=60
MaxJobCount=20000
KillWait=2
Waittime=0
MessageTimeout=5
SchedulerType=sched/backfill
SchedulerParameters=batch_sched_delay=0,bf_interval=1,sched_interval=1,sched_min_interval=0${DEFER:+,$DEFER}
NodeName=$1[1-$nodes] NodeAddr=127.0.0.1 NodeHostname=localhost Port=$(($2 + 1))-$(($2 + nodes)) CPUs=$cpus RealMemory=4000 State=UNKNOWN
PartitionName=main Nodes=$1[1-$nodes] Default=YES MaxTime=INFINITE DefaultTime=10 State=UP
CONF
}

# vacant NAME PORT: a cluster on the ports of another one would be taken for that one by all commands,
# and its end would cancel the other's jobs.
vacant() {
    local port
    for port in $(seq "$2" $(($2 + nodes))); do
        if (: <"/dev/tcp/127.0.0.1/$port") 2>/dev/null; then
            fail "$1: port $port is in use: choose others with PORT="
        fi
    done
}

# launch NAME: its daemons, and waits until all of its nodes are idle.
launch() {
    local name=$1 home=$folder/$1 number
    export SLURM_CONF=$home/slurm.conf
    setsid slurmctld -D </dev/null >"$home/log/out" 2>&1 &
    local controller=$!
    for number in $(seq "$nodes"); do
        setsid slurmd -D -N "$name$number" </dev/null >>"$home/log/out" 2>&1 &
    done
    for _ in $(seq 300); do
        kill -0 "$controller" 2>/dev/null || break
        if [ -s "$home/run/slurmctld.pid" ] && [ "$(sinfo -h -N -o %T 2>/dev/null | grep -cx idle)" -eq "$nodes" ]; then
            echo "$name: $nodes nodes, SLURM_CONF=$SLURM_CONF"
            return
        fi
        sleep 0.1
    done
    tail -n 20 "$home/log/slurmctld.log" "$home/log/out" >&2 || true
    fail "$name does not come up: see $home/log"
}

# runs FILE: whether the process of this number is a daemon of Slurm.
runs() {
    [[ $(cat "/proc/$(cat "$1" 2>/dev/null || echo none)/comm" 2>/dev/null) =~ ^slurm(ctld|d)$ ]]
}

# halt NAME: cancels its jobs, then ends its daemons.
halt() {
    local home=$folder/$1 jobs pid
    export SLURM_CONF=$home/slurm.conf
    [ -f "$SLURM_CONF" ] || return 0
    # Without a controller of its own, the answers would be another's.
    for _ in $(seq 50); do
        runs "$home/run/slurmctld.pid" || break
        jobs=$(squeue -h -o %i 2>/dev/null || true)
        [ -n "$jobs" ] || break
        xargs scancel <<<"$jobs" || true
        sleep 0.1
    done
    # A controller that did not come up has left nodes behind.
    for pid in "$home"/run/*.pid; do
        if runs "$pid"; then kill "$(cat "$pid")" || true; else rm -f "$pid"; fi
    done
    for _ in $(seq 50); do
        compgen -G "$home/run/*.pid" >/dev/null || break
        sleep 0.1
    done
}

case $what in
start)
    command -v slurmctld >/dev/null && command -v sbatch >/dev/null ||
        fail "Slurm is not installed: apt-get install slurm-wlm (Debian, Ubuntu)"
    [ ! -e "$folder" ] || fail "$folder is there already: scripts/clusters.sh stop $folder"
    port=${PORT:-17000}
    for name in "${clusters[@]}"; do
        vacant "$name" "$port"
        configure "$name" "$port"
        port=$((port + 1000))
    done
    for name in "${clusters[@]}"; do launch "$name"; done
    ;;
stop)
    [ -f "$folder/${clusters[0]}/slurm.conf" ] || fail "there are no clusters in $folder"
    for name in "${clusters[@]}"; do halt "$name"; done
    rm -rf "$folder"
    ;;
*)
    sed -n '2,6s/^# \{0,1\}//p' "$0" >&2
    exit 2
    ;;
esac
