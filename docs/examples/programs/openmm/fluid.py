"""A Lennard-Jones fluid in OpenMM: how long a step takes.

    fluid.py PARTICLES PLATFORM GPUS

Prints one JSON object for each block of steps.
"""

import json
import sys
import time

import openmm
from openmm import unit

BLOCKS, STEPS = 6, 20


def system(particles):
    """Argon-like particles on a cubic lattice in a periodic box; their places in nm."""
    edge = round(particles ** (1 / 3) + 0.499)
    spacing, sigma = 0.38, 0.34
    box = edge * spacing
    made = openmm.System()
    made.setDefaultPeriodicBoxVectors((box, 0, 0), (0, box, 0), (0, 0, box))
    force = openmm.NonbondedForce()
    force.setNonbondedMethod(openmm.NonbondedForce.CutoffPeriodic)
    force.setCutoffDistance(min(2.5 * sigma, 0.49 * box))
    places = []
    for i in range(particles):
        made.addParticle(39.9)
        force.addParticle(0, sigma, 1.0)
        places.append([(i // edge**k % edge) * spacing for k in range(3)])
    made.addForce(force)
    return made, places


def main():
    particles, platform, gpus = int(sys.argv[1]), sys.argv[2], int(sys.argv[3])
    made, places = system(particles)
    if platform == "CPU":
        properties = {"Threads": str(gpus)}
    else:  # those that it sees are numbered from 0
        properties = {"DeviceIndex": ",".join(map(str, range(gpus)))}
    integrator = openmm.VerletIntegrator(2 * unit.femtosecond)
    chosen = openmm.Platform.getPlatformByName(platform)
    context = openmm.Context(made, integrator, chosen, properties)
    context.setPositions(places)
    context.setVelocitiesToTemperature(120, 1)
    for _ in range(BLOCKS):
        begin = time.perf_counter()
        integrator.step(STEPS)
        context.getState(energy=True)  # waits for the steps
        print(json.dumps({"step_ms": 1e3 * (time.perf_counter() - begin) / STEPS}), flush=True)
    print(f"done: {particles} particles")


main()
