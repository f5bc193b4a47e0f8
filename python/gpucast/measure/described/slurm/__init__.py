"""Campaigns of described programs through Slurm (docs/how-to/cluster.md).

options   what the user says to sbatch, and what each job asks for
work      what one job is to do
inside    what a job does on its node
parts     what jobs have written so far
queue     Slurm's queue, as squeue tells it, and submitit's jobs in it
jobs      the jobs of a campaign: submitted, found again, cancelled
losses    what becomes of visits that a job left undone
budget    what all starts of a campaign may spend together
wanted    the visits that the next jobs are to make
batches   which visits are worth a job next, where a budget is shared out
campaign  all of it, into the file of records
dry_run   the jobs that would be submitted
"""
