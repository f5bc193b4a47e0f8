"""Capacity planning: the best and the cheapest GPU count of each job, native or remote; the number
of jobs that fit; the price of a deadline; the size from which more GPUs, or remote ones, pay off.

``request`` and ``reading`` read a plan; ``option_table`` combines each job with each machine and
GPU count, with the times of ``replicates``; ``jobs``, ``schedule`` and ``purchase`` answer it;
``isoefficiency`` finds sizes. ``plan`` assembles the answer.
"""
