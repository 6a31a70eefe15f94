#!/usr/bin/env bash
# What a real Slurm's accounting has to say about a few jobs, as a sample for the tests of
# `tradewind generate sacct`: a small cluster with slurmdbd and MariaDB in a folder of its own, a job
# of each kind, then `sacct`. All daemons are stopped at the end.
#   scripts/record-sacct.sh FILE                                     this machine's Slurm
#   scripts/slurm-version.sh 24.11 scripts/record-sacct.sh FILE      another version, as root
set -euo pipefail
out=$1
PATH=$PATH:/usr/local/sbin:/usr/sbin:/sbin
folder=$(mktemp -d /tmp/record-sacct.XXXXXX)
chmod 755 "$folder"
user=$(id -un)
pids=()
finish() {
    local pid
    for pid in "${pids[@]}"; do kill "$pid" 2>/dev/null || true; done
    for pid in "${pids[@]}"; do wait "$pid" 2>/dev/null || true; done
    rm -rf "$folder"
}
trap finish EXIT
mkdir "$folder"/{state,spool,run,log}
base=$((20000 + RANDOM % 9000))

mariadb-install-db --no-defaults --datadir="$folder/data" --skip-test-db \
    --auth-root-authentication-method=normal --user="$user" --innodb-use-native-aio=0 \
    --innodb-buffer-pool-size=16M >"$folder/log/install" 2>&1
mariadbd --no-defaults --datadir="$folder/data" --socket="$folder/db.sock" --pid-file="$folder/db.pid" \
    --log-error="$folder/log/db" --skip-networking --skip-grant-tables --innodb-buffer-pool-size=16M \
    --innodb-flush-method=nosync --innodb-use-native-aio=0 --performance-schema=0 \
    --loose-innodb-snapshot-isolation=OFF --user="$user" &
pids+=($!)
for _ in $(seq 600); do [ -S "$folder/db.sock" ] && break; sleep 0.1; done

mkdir "$folder/dbd"
cat >"$folder/dbd/slurmdbd.conf" <<CONF
AuthType=auth/none
DbdHost=localhost
DbdAddr=127.0.0.1
DbdPort=$base
CommunicationParameters=NoInAddrAny
SlurmUser=$user
StorageType=accounting_storage/mysql
StorageHost=localhost
StorageUser=root
StorageLoc=slurm
LogFile=$folder/log/dbd
PidFile=$folder/dbd.pid
CONF
chmod 600 "$folder/dbd/slurmdbd.conf"
printf 'ClusterName=none\nSlurmctldHost=localhost\n' >"$folder/dbd/slurm.conf"
SLURM_CONF=$folder/dbd/slurm.conf MYSQL_UNIX_PORT=$folder/db.sock slurmdbd -D >/dev/null 2>&1 &
pids+=($!)

export SLURM_CONF=$folder/slurm.conf TZ=UTC
cat >"$SLURM_CONF" <<CONF
ClusterName=alpha
SlurmctldHost=localhost(127.0.0.1)
SlurmctldPort=$((base + 1))
SlurmUser=$user
SlurmdUser=$user
AuthType=auth/none
CredType=cred/none
CommunicationParameters=NoInAddrAny,NoCtldInAddrAny
StateSaveLocation=$folder/state
SlurmdSpoolDir=$folder/spool/%n
SlurmctldPidFile=$folder/run/slurmctld.pid
SlurmdPidFile=$folder/run/%n.pid
SlurmctldLogFile=$folder/log/slurmctld
SlurmdLogFile=$folder/log/%n
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
MpiDefault=none
JobAcctGatherType=jobacct_gather/none
JobCompType=jobcomp/none
SwitchType=switch/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SlurmdParameters=config_overrides
ReturnToService=2
MailProg=/bin/true
SlurmctldTimeout=300
SlurmdTimeout=300
MinJobAge=600
KillWait=2
MessageTimeout=10
SchedulerType=sched/backfill
SchedulerParameters=batch_sched_delay=0,bf_interval=1,sched_interval=1,sched_min_interval=0
AccountingStorageType=accounting_storage/slurmdbd
AccountingStorageHost=127.0.0.1
AccountingStoragePort=$base
AccountingStorageEnforce=associations,limits,qos
PartitionName=main Nodes=alpha[1-4] Default=YES MaxTime=INFINITE DefaultTime=10 State=UP
PartitionName=short Nodes=alpha[3-4] MaxTime=30 State=UP
PartitionName=big Nodes=alpha5 MaxTime=INFINITE DefaultTime=UNLIMITED State=UP
CONF
for number in 1 2 3 4 5; do
    cpus=4
    [ "$number" != 5 ] || cpus=8
    echo "NodeName=alpha$number NodeAddr=127.0.0.1 NodeHostname=localhost Port=$((base + 1 + number)) CPUs=$cpus RealMemory=4000 State=UNKNOWN" >>"$SLURM_CONF"
done
# Versions from 23.02 on want control groups unless they are told that there are none.
sacctmgr --version 2>/dev/null | grep -q ' 22\.' || echo 'CgroupPlugin=disabled' >"$folder/cgroup.conf"
manage() {
    local i
    for i in $(seq 120); do
        sacctmgr -i "$@" >"$folder/log/sacctmgr" 2>&1 && return 0
        grep -q 'Nothing' "$folder/log/sacctmgr" && return 0
        sleep 0.5
    done
    cat "$folder/log/sacctmgr" "$folder/log/dbd" >&2
    return 1
}
manage add cluster alpha
manage add account climate
manage add account physics
manage add user "$user" account=climate,physics
manage add qos urgent
manage modify user "$user" set qos+=urgent

slurmctld -D >/dev/null 2>&1 &
pids+=($!)
for number in 1 2 3 4 5; do
    slurmd -D -N "alpha$number" >/dev/null 2>&1 &
    pids+=($!)
done
for _ in $(seq 300); do
    [ "$(sinfo -h -N -p main,big -o '%N %T' 2>/dev/null | grep -c ' idle$')" = 5 ] && break
    sleep 0.2
done

submit() { sbatch --parsable --output=/dev/null --chdir=/ "$@"; }
submit -A climate -J mesh -N1 -n2 -t 0:30 --mem=500 --wrap 'sleep 4' >/dev/null
submit -A climate -J mesh -N2 --exclusive -t 10 --wrap 'sleep 6' >/dev/null
submit -A physics -J 'with|pipe' -p big -n 8 --wrap 'sleep 5' >/dev/null
submit -A physics -J fails -n1 -t 2 --wrap 'exit 3' >/dev/null
submit -A physics -J array -n1 -t 5 --array=1-4%2 --mem-per-cpu=100 --wrap 'sleep 3' >/dev/null
submit -A climate -J pair -p main -n1 -t 3 : -p big -n2 --wrap 'sleep 3' >/dev/null
long=$(submit -A climate -J long -n1 -t 1 --wrap 'sleep 600')
again=$(submit -A climate -J again --requeue -n1 -t 20 --wrap 'sleep 8')
stop=$(submit -A physics --qos=urgent -J stop -n2 -t 20 --wrap 'sleep 600')
held=$(submit -A physics -J held --hold -n4 -t 20 --wrap 'sleep 1')
tasks=$(submit -A physics -J tasks --hold --array='5-9%2' -n1 -t 20 --wrap 'sleep 1')
waits=$(submit -A climate -J waits --begin=now+1hour -n1 -t 20 --wrap 'sleep 1')
submit -A climate -J steps -p short -n2 -t 5 --wrap 'srun -n1 sleep 1; srun -n2 sleep 1' >/dev/null
sleep 10
scontrol requeue "$again" || true
scancel "$stop" "$held" "$tasks"
for _ in $(seq 600); do
    left=$(squeue -h -o '%i' | grep -vc "^$waits\$" || true)
    [ "$left" = 0 ] && break
    sleep 0.5
done
submit -A physics -J now -n1 -t 30 --wrap 'sleep 600' >/dev/null
sleep 5
# The accounting lags a little behind.
columns=JobID,JobIDRaw,User,Account,Partition,QOS,JobName,Submit,Eligible,Start,End,ElapsedRaw,TimelimitRaw,Timelimit,NNodes,NCPUS,ReqCPUS,ReqMem,ReqTRES,AllocTRES,State,ExitCode,DerivedExitCode,Priority,Reservation,NodeList
today=$(date -u +%Y-%m-%d)
sacct -aDP -X -S "$today" -E now -o "$columns" >"$out"
sacct -aP -S "$today" -E now -o "JobID,User,Submit,Start,End,NNodes,NCPUS,Timelimit,State,Account,Partition" >"$out.steps"
SLURM_TIME_FORMAT=%s sacct -aXP -S "$today" -E now -o "$columns" >"$out.epoch"
sacct --helpformat >"$out.columns"
sacct -V >"$out.version"
scancel "$waits" || true
scancel -u "$user" || true
sleep 3
