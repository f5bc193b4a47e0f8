"""Campaigns of described programs through Slurm (docs/how-to/cluster.md).

options   sbatch's options: what the user gives, and what each job requests
work      the visits of one job, and the records that it has written so far
inside    what a job does on its node
jobs      the jobs of a campaign: submits, adopts and cancels them, and what happens to visits that
          one left undone
batches   chooses the visits of the next jobs within the budget of all starts together
campaign  runs the campaign and records its results
"""
