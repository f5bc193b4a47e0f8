"""Which line of a failed run's output says why, in the forms that programs print."""

from __future__ import annotations

import pytest

from gpucast.measure.described.running import reason

RULE = "-------------------------------------------------------"

SAID = [
    ("", None),
    ("making a box\nout of luck\n", "out of luck"),
    ("step 1\n" + RULE, "step 1"),
    # GROMACS
    (f"{RULE}\nProgram:     gmx mdrun, version 2022.5\nSource file: src/domdec.cpp (line 2256)\n\n"
     "Fatal error:\nThere is no domain decomposition for 40 ranks that is\ncompatible\n"
     "\nFor more information and tips for troubleshooting, please check the GROMACS\n"
     f"website at http://www.gromacs.org/Documentation/Errors\n{RULE}\n",
     "Fatal error: There is no domain decomposition for 40 ranks that is compatible"),
    (f"{RULE}\nProgram:     gmx mdrun, version 2022.5\nSource file: src/usage.cpp (line 336)\n\n"
     f"Feature not implemented:\nGROMACS was built without GPU support.\n{RULE}\n",
     "Feature not implemented: GROMACS was built without GPU support."),
    # LAMMPS
    ("LAMMPS (22 Jul 2025)\nERROR: Illegal units command (src/src/update.cpp:301)\n"
     "Last input line: units ljj\nAbort(1) on node 0: application called MPI_Abort(COMM, 1)\n",
     "ERROR: Illegal units command (src/src/update.cpp:301)"),
    # Open MPI
    (f"{RULE}\nThere are not enough slots available in the system to satisfy the 64\nslots that "
     f"were requested by the application:\n\n  lmp\n{RULE}\n",
     "There are not enough slots available in the system to satisfy the 64 slots that were "
     "requested by the application:"),
    # Python, and torchrun around it
    ('Traceback (most recent call last):\n  File "fluid.py", line 12, in <module>\n'
     "ModuleNotFoundError: No module named 'openmm'\n",
     "ModuleNotFoundError: No module named 'openmm'"),
    ("RuntimeError: Invalid device argument\nERROR:torch.distributed.elastic:failed (exitcode: 1)\n"
     "torch.distributed.elastic.multiprocessing.errors.ChildFailedError: \n"
     "============================================================\ntrain.py FAILED\n"
     "============================================================\n",
     "RuntimeError: Invalid device argument"),
    # A shell
    ("bash: line 1: lmpp: command not found\nbye\n", "bash: line 1: lmpp: command not found"),
]  # fmt: skip


@pytest.mark.parametrize(("output", "said"), SAID)
def test_the_line_that_says_why(output: str, said: str | None) -> None:
    assert reason(output) == said
