"""Molten NaCl in OpenMM: the same Tosi-Fumi and Coulomb force, written from the published formula.

Constants: Tosi and Fumi, J. Phys. Chem. Solids 25 (1964) 45, in the paper's form and in SI units.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from openmm import CustomNonbondedForce

ELEMENTARY_CHARGE = 1.602176634e-19  # C, exact
AVOGADRO = 6.02214076e23  # 1/mol, exact
VACUUM_PERMITTIVITY = 8.8541878128e-12  # F/m, CODATA 2018
KJ_PER_MOL = AVOGADRO / 1000  # of one joule
NM = 1e9  # of one metre
COULOMB = ELEMENTARY_CHARGE**2 / (4 * math.pi * VACUUM_PERMITTIVITY)  # J m


@dataclass(frozen=True)
class Salt:
    """Constants of u(r) = A exp((sigma - r)/rho) - C/r^6 - D/r^8 + z_i z_j e^2/(4 pi eps0 r).

    The cation is type 0. Pairs are given as (0, 0), (0, 1), (1, 1).
    """

    rho: float  # m
    sigma: tuple[float, float]  # of each ion, m; a pair's is the sum
    C: tuple[float, float, float]  # J m^6
    D: tuple[float, float, float]  # J m^8
    masses: tuple[float, float]  # u


B = 0.338e-19
"""J; A of a pair is B (1 + z_i/8 + z_j/8), Pauling's factor for ions with 8 outer electrons."""

NACL = Salt(
    rho=0.317e-10,
    sigma=(1.170e-10, 1.585e-10),
    C=(1.68e-79, 11.2e-79, 116e-79),
    D=(0.8e-99, 13.9e-99, 233e-99),
    masses=(22.989768, 35.4527),
)
KCL = Salt(
    rho=0.337e-10,
    sigma=(1.463e-10, 1.585e-10),
    C=(24.3e-79, 48e-79, 124.5e-79),
    D=(24e-99, 73e-99, 250e-99),
    masses=(39.0983, 35.4527),
)

# A, z_i z_j, C and D of a pair are quadratic in the types (0 or 1), which costs no look-up.
PAIR = (
    "A=B*(1.25-0.25*(t1+t2)); z=(1-2*t1)*(1-2*t2);"
    "C=c0+c1*(t1+t2)+c2*t1*t2; D=d0+d1*(t1+t2)+d2*t1*t2"
)
OPEN = f"A*exp((s1+s2-r)/rho) - C/r^6 - D/r^8 + coulomb*z/r; {PAIR}"


def force(openmm: ModuleType, salt: Salt, types: Sequence[int]) -> CustomNonbondedForce:
    """A CustomNonbondedForce without cut-off between particles of these types, kJ/mol and nm."""
    made = custom_force(openmm, OPEN, salt, types)
    made.setNonbondedMethod(openmm.CustomNonbondedForce.NoCutoff)
    return made


def custom_force(
    openmm: ModuleType, energy: str, salt: Salt, types: Sequence[int]
) -> CustomNonbondedForce:
    """The force of an energy written with the names that ``OPEN`` uses."""
    pair = openmm.CustomNonbondedForce(energy)
    coulomb = COULOMB * KJ_PER_MOL * NM
    constants = {"B": B * KJ_PER_MOL, "rho": salt.rho * NM, "coulomb": coulomb}
    for letter, (same, mixed, other), power in (("c", salt.C, 6), ("d", salt.D, 8)):
        scale = KJ_PER_MOL * NM**power
        constants |= {
            f"{letter}0": same * scale,
            f"{letter}1": (mixed - same) * scale,
            f"{letter}2": (same + other - 2 * mixed) * scale,
        }
    for name, value in constants.items():
        pair.addGlobalParameter(name, value)
    pair.addPerParticleParameter("t")
    pair.addPerParticleParameter("s")
    for kind in types:
        pair.addParticle([float(kind), salt.sigma[kind] * NM])
    return pair
