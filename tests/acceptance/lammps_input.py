"""What inputs of LAMMPS begin with: a melt of some hundred atoms, as in its example of that name."""

MELT = """\
units lj
atom_style atomic
lattice fcc 0.8442
region box block 0 6 0 6 0 6
create_box 1 box
create_atoms 1 box
mass 1 1.0
velocity all create 3.0 87287
pair_style lj/cut 2.5
pair_coeff 1 1 1.0 1.0 2.5
fix 1 all nve
"""


def writeInput(directory, commands):
    """Into the file in.melt; `commands` follow the begin."""
    with open(f"{directory}/in.melt", "w", encoding="utf-8") as text:
        text.write(MELT + commands)
