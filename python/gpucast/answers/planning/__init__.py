"""Capacity planning: the best and the cheapest GPU count of each job, native or remote; how many
jobs fit; what a deadline costs; from which size on more GPUs, or remote ones, are worth it.

``request`` and ``reading`` take a plan in; ``option_table`` lays every job beside every machine and
GPU count, with the times of ``replicates``; ``choices``, ``jobs``, ``schedule`` and ``purchase``
answer; ``isoefficiency`` has the sizes. ``plan`` puts it together.
"""
