"""MPI from Python: MPI-IO by views and by offsets, objects sent as pickles, and files by Python
itself.

  mpirun -n N mpi4py_io.py DIRECTORY
"""

import os
import sys

from mpi4py import MPI

BLOCK = 4096
TURNS = 16


def main(directory):
    comm = MPI.COMM_WORLD
    rank, size = comm.Get_rank(), comm.Get_size()
    block = bytes([ord("a") + rank]) * BLOCK

    shared = MPI.File.Open(comm, os.path.join(directory, "shared"),
                           MPI.MODE_CREATE | MPI.MODE_RDWR)
    for turn in range(TURNS):
        shared.Write_at((turn * size + rank) * BLOCK, block)
    shared.Sync()
    comm.Barrier()
    other = bytearray(8)
    shared.Read_at_all((rank + 1) % size * BLOCK, other)
    assert other == bytes([ord("a") + (rank + 1) % size]) * 8
    shared.Close()

    viewed = MPI.File.Open(comm, os.path.join(directory, "viewed"),
                           MPI.MODE_CREATE | MPI.MODE_WRONLY)
    filetype = MPI.BYTE.Create_vector(TURNS, BLOCK, BLOCK * size).Commit()
    viewed.Set_view(rank * BLOCK, MPI.BYTE, filetype)
    viewed.Write_all(block * TURNS)
    filetype.Free()
    viewed.Close()

    everyones = comm.gather({"rank": rank, "square": rank * rank}, root=0)
    with open(os.path.join(directory, f"own.{rank}"), "w", encoding="utf-8") as file:
        for turn in range(1000):
            print(rank, turn, file=file)
    if rank == 0:
        print(everyones)


if __name__ == "__main__":
    main(sys.argv[1])
