"""ReFrame checks of a machine by gpucast's two programs.

    reframe -C settings.py -c gpucast_checks.py -r                     processor cores as devices
    reframe -C settings.py -c gpucast_checks.py -S engine=cuda -r      GPUs

Each run's records are kept in ReFrame's output folder: `gpucast fit` and every other command takes
them as they are.
"""

import json
from statistics import median

import reframe as rfm
import reframe.utility.sanity as sn
from reframe.core.builtins import (
    deferrable,
    parameter,
    performance_function,
    run_before,
    sanity_function,
    variable,
)


class Records(rfm.RunOnlyRegressionTest):
    """A program of gpucast's that writes records."""

    engine = variable(str, value="host")
    records = "records.jsonl"
    kind = "step"
    valid_systems = ["*"]  # noqa: RUF012, ReFrame's way
    valid_prog_environs = ["*"]  # noqa: RUF012
    keep_files = [records]  # noqa: RUF012
    time_limit = "10m"

    @run_before("run")
    def name_output(self):
        """What all of them are told."""
        self.executable_opts += ["--engine", self.engine, "--quiet", "-o", self.records]
        if self.engine == "host":
            self.executable_opts += ["--host-devices", "2"]

    def found(self):
        """The records of the kind, from the stage folder, where checks are evaluated."""
        with open(self.records) as lines:
            every = [json.loads(line) for line in lines]
        return [record for record in every if record["kind"] == self.kind]


@rfm.simple_test
class StepTime(Records):
    """A step of molten-salt molecular dynamics: seconds, and pairs a second."""

    executable = "gpucast-mdapp"
    n = parameter([1000, 4096])
    gpus = parameter([1, 2])

    @run_before("run")
    def set_cell(self):
        """One cell: a size on some devices."""
        cell = ["--n", str(self.n), "--gpus", str(self.gpus), "--kernel", "tuned"]
        self.executable_opts = ["measure", *cell, "--max-time", "2", *self.executable_opts]

    @sanity_function
    def measured(self):
        """The cell that was asked for, and no other."""
        cells = deferrable(lambda: [(record["n"], record["gpus"]) for record in self.found()])()
        return sn.assert_eq(cells, [(self.n, self.gpus)])

    @performance_function("s")
    def step(self):
        """Median of the timed steps."""
        return median(self.found()[0]["seconds"])

    @performance_function("pairs/s")
    def rate(self):
        """Pairs computed a second, each counted in both directions."""
        return self.n**2 / median(self.found()[0]["seconds"])


@rfm.simple_test
class HostToDevice(Records):
    """Copies from the host to the first device: what a call costs, and how fast long ones are."""

    executable = "gpucast-microbench"
    kind = "transfer"
    largest = variable(int, value=16 * 2**20)

    @run_before("run")
    def set_copies(self):
        """Copies alone, up to a size."""
        what = ["--what", "transfers", "--devices", "0", "--memory", "pageable"]
        size = ["--largest", str(self.largest), "--budget", "20", "--fresh", "0"]
        self.executable_opts = ["measure", *what, *size, *self.executable_opts]

    def copies(self):
        """Seconds by bytes."""
        return {
            row["bytes"]: median(row["seconds"])
            for row in self.found()
            if row["from"] == "host" and not row["concurrent"] and row.get("method") != "gated"
        }

    @sanity_function
    def arrived(self):
        """Every copy is right, and the largest is there."""
        right = deferrable(lambda: all(record["valid"] for record in self.found()))()
        return sn.all([right, deferrable(lambda: self.largest in self.copies())()])

    @performance_function("s")
    def latency(self):
        """Time of the shortest copy."""
        return self.copies()[min(self.copies())]

    @performance_function("B/s")
    def bandwidth(self):
        """Bandwidth of the longest copy."""
        return self.largest / self.copies()[self.largest]
