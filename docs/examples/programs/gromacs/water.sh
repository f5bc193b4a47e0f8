#!/bin/sh
# Boxes of water, each as ATOMS.tpr in this folder: sh water.sh [EDGE_NM...]
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
target=$PWD
cd "$work"

# settings INTEGRATOR
settings() {
  cat <<END
integrator = $1
dt = 0.002
nsteps = 100000
cutoff-scheme = Verlet
coulombtype = PME
rcoulomb = 0.9
rvdw = 0.9
constraints = h-bonds
gen-vel = yes
gen-temp = 300
END
}

# SPC, by itself: files of force fields take seconds to read.
topology() {
  cat <<END
[ defaults ]
1 2 no 1.0 1.0
[ atomtypes ]
OW 8 15.9994 -0.82 A 0.316557 0.650194
HW 1  1.0080  0.41 A 0        0
[ moleculetype ]
SOL 2
[ atoms ]
1 OW 1 SOL OW  1 -0.82 15.9994
2 HW 1 SOL HW1 1  0.41  1.0080
3 HW 1 SOL HW2 1  0.41  1.0080
[ settles ]
1 1 0.1 0.1633
[ exclusions ]
1 2 3
2 1 3
3 1 2
[ system ]
water
[ molecules ]
END
}

prepare() {
  gmx -quiet solvate -cs spc216 -box "$1" "$1" "$1" -o water.gro -p topol.top
  # Molecules at the box's faces lie too close to each other.
  settings steep >relax.mdp
  gmx -quiet grompp -f relax.mdp -c water.gro -p topol.top -o relax.tpr
  gmx -quiet mdrun -s relax.tpr -deffnm relax -ntmpi 1 -ntomp 1 -nsteps 50 -c relaxed.gro
  settings md >run.mdp
  gmx -quiet grompp -f run.mdp -c relaxed.gro -p topol.top -o water.tpr
}

for edge in ${*:-2.5 3.5 5.0}; do
  topology >topol.top
  # A command of its own: within a condition, sh would go on after an error.
  (prepare "$edge") >log 2>&1 &
  wait $! || {
    tail -n 20 log >&2
    exit 1
  }
  atoms=$(sed -n 2p water.gro | tr -d ' ')
  mv water.tpr "$target/$atoms.tpr"
  echo "$atoms.tpr"
done
