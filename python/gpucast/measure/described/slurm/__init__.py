"""Campaigns of described programs through Slurm (docs/how-to/cluster.md).

options   what the user says to sbatch, and what each job asks for
work      what one job is to do, and what it has written so far
inside    what a job does on its node
queue     Slurm's queue, as squeue tells it, and submitit's jobs in it
jobs      the jobs of a campaign: submitted, found again, cancelled
losses    what becomes of visits that a job left undone
batches   which visits are worth a job next, and the budget of all starts together
campaign  all of it, into the file of records
"""
