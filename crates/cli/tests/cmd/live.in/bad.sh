#!/bin/sh
#SBATCH --nodes=0 --tiem=10
#SBATCH --nodelist=node7
#TRADEWIND budget=ten minimize=beauty
./run
#SBATCH --time=10
