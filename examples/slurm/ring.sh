#!/bin/bash
#SBATCH --job-name=ring --nodes=6 --time=2
#SBATCH --output=ring-%j-%t.out
#TRADEWIND budget=30
# One job on several clusters: each part runs this on its first node, all of them from the same
# second on. TRADEWIND_PART says which part this is; where the others are, it is told, too.
echo "part $TRADEWIND_PART of $TRADEWIND_PARTS at $TRADEWIND_SITE began at $(date +%T.%3N)"
for ((part = 0; part < TRADEWIND_PARTS; part++)); do
    site=TRADEWIND_PART_${part}_SITE nodes=TRADEWIND_PART_${part}_NODES
    echo "  part $part is at ${!site} on ${!nodes}"
done

# The part's own nodes, as in any job of Slurm.
srun --ntasks-per-node=1 sh -c 'echo "  task $SLURM_NODEID of $SLURM_NNODES here"'
sleep 5
