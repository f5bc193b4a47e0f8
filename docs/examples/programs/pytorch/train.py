"""Data-parallel training of a small network with PyTorch: how long a step takes.

    torchrun --nproc_per_node=GPUS train.py GLOBAL_BATCH gloo|nccl

Rank 0 writes steps.csv. n is the batch of all ranks together.
"""

import csv
import os
import statistics
import sys
import time

import torch
import torch.distributed as dist

STEPS, WARM_UP, WIDTH = 40, 20, 1024


def main():
    batch, backend = int(sys.argv[1]), sys.argv[2]
    dist.init_process_group(backend)
    rank, ranks = dist.get_rank(), dist.get_world_size()
    place = f"cuda:{os.environ['LOCAL_RANK']}" if backend == "nccl" else "cpu"
    device = torch.device(place)
    if device.type == "cuda":
        torch.cuda.set_device(device)  # which synchronize() and barrier() then mean
    layers = [torch.nn.Linear(WIDTH, WIDTH) for _ in range(8)]
    model = torch.nn.parallel.DistributedDataParallel(torch.nn.Sequential(*layers).to(device))
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    data = torch.randn(batch // ranks, WIDTH, device=device)
    times = []
    for _ in range(STEPS):
        dist.barrier()
        begin = time.perf_counter()
        optimizer.zero_grad()
        model(data).square().mean().backward()
        optimizer.step()
        if device.type == "cuda":
            torch.cuda.synchronize()
        times.append(time.perf_counter() - begin)
    if rank == 0:
        with open("steps.csv", "w", newline="") as stream:
            writer = csv.writer(stream)
            writer.writerow(["step", "seconds"])
            writer.writerows(enumerate(times))
        print(f"a step takes {1e3 * statistics.median(times[WARM_UP:]):.3f} ms")
    dist.destroy_process_group()


main()
