! The MPI calls that a trace records, each a number of times of its own, under the three interfaces
! that MPI has for Fortran; tests/acceptance/mpi_counts.py has a profiler count them.
!
!   mpirun -n N fortran_mpi_calls_{mpif,mpi,f08} DIRECTORY [romio]      an even N from 4
!
! romio: without MPI_File_iwrite_all and its like, in which Open MPI's ROMIO crashes by itself.
#include "fortran_mpi_calls.inc"

module shared
  implicit none
  integer :: rank, ranks, ierror, turn
  integer :: in(1024) = 1, out(1024) = 0
  integer :: next_turns = 0
contains
  integer function turns()
    turns = 1 + mod(next_turns * 7, 4)
    next_turns = next_turns + 1
  end function turns
end module shared

subroutine messages()
  MPI
  use shared
  implicit none
  HEADER
  STATUS
  STATUSES
  HANDLE(MPI_Request) :: request, pair(2)
  integer :: with, i, count, found(2), which
  integer, save :: buffer(16384)
  logical :: odd, flag
  with = ieor(rank, 1)
  odd = mod(rank, 2) == 1
  SOME
    if (odd) then
      do i = 1, 5
        call MPI_Recv(out, 64, MPI_INTEGER, with, MPI_ANY_TAG, MPI_COMM_WORLD, status, ierror)
      end do
      call MPI_Irecv(out, 64, MPI_INTEGER, MPI_ANY_SOURCE, 9, MPI_COMM_WORLD, request, ierror)
    else
      call MPI_Send(in, 8, MPI_INTEGER, with, 1, MPI_COMM_WORLD, ierror)
      call MPI_Ssend(in, 8, MPI_INTEGER, with, 1, MPI_COMM_WORLD, ierror)
      call MPI_Isend(in, 8, MPI_INTEGER, with, 1, MPI_COMM_WORLD, request, ierror)
      WAITED
      call MPI_Issend(in, 8, MPI_INTEGER, with, 1, MPI_COMM_WORLD, request, ierror)
      WAITED
      call MPI_Send(in, 8, MPI_INTEGER, with, 1, MPI_COMM_WORLD, ierror)
    end if
    call MPI_Barrier(MPI_COMM_WORLD, ierror)
    if (.not. odd) call MPI_Rsend(in, 8, MPI_INTEGER, with, 9, MPI_COMM_WORLD, ierror)
    if (odd) call MPI_Wait(request, status, ierror)
  end do
  call MPI_Buffer_attach(buffer, 65536, ierror)
  SOME
    if (odd) then
      do i = 1, 2
        call MPI_Recv(out, 64, MPI_INTEGER, with, 1, MPI_COMM_WORLD, status, ierror)
      end do
      call MPI_Irecv(out, 64, MPI_INTEGER, with, 9, MPI_COMM_WORLD, request, ierror)
    else
      call MPI_Bsend(in, 8, MPI_INTEGER, with, 1, MPI_COMM_WORLD, ierror)
      call MPI_Ibsend(in, 8, MPI_INTEGER, with, 1, MPI_COMM_WORLD, request, ierror)
      WAITED
    end if
    call MPI_Barrier(MPI_COMM_WORLD, ierror)
    if (.not. odd) call MPI_Irsend(in, 8, MPI_INTEGER, with, 9, MPI_COMM_WORLD, request, ierror)
    WAITED
  end do
  SOME
    call MPI_Sendrecv(in, 8, MPI_INTEGER, with, 2, out, 64, MPI_INTEGER, with, MPI_ANY_TAG, &
                      MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierror)
  end do
  SOME
    call MPI_Sendrecv_replace(out, 8, MPI_INTEGER, with, 2, with, 2, MPI_COMM_WORLD, status, ierror)
  end do
  SOME
    if (odd) then
      call MPI_Probe(MPI_ANY_SOURCE, 3, MPI_COMM_WORLD, status, ierror)
      call MPI_Recv(out, 64, MPI_INTEGER, with, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierror)
      flag = .false.
      do while (.not. flag)
        call MPI_Iprobe(with, 3, MPI_COMM_WORLD, flag, MPI_STATUS_IGNORE, ierror)
      end do
      call MPI_Recv(out, 64, MPI_INTEGER, with, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierror)
      call matched()
    else
      do i = 1, 4
        call MPI_Send(in, 8, MPI_INTEGER, with, 3, MPI_COMM_WORLD, ierror)
      end do
    end if
  end do
  SOME
    call exchange()
    call MPI_Waitall(2, pair, statuses, ierror)
  end do
  SOME
    call exchange()
    call MPI_Waitall(2, pair, MPI_STATUSES_IGNORE, ierror)
  end do
  SOME
    call exchange()
    do i = 1, 2
      call MPI_Waitany(2, pair, which, status, ierror)
    end do
  end do
  SOME
    call exchange()
    i = 0
    do while (i < 2)
      call MPI_Waitsome(2, pair, count, found, statuses, ierror)
      i = i + count
    end do
  end do
  SOME
    call exchange()
    do i = 1, 2
      flag = .false.
      do while (.not. flag)
        call MPI_Test(pair(i), flag, status, ierror)
      end do
    end do
  end do
  SOME
    call exchange()
    flag = .false.
    do while (.not. flag)
      call MPI_Testall(2, pair, flag, MPI_STATUSES_IGNORE, ierror)
    end do
  end do
  SOME
    call exchange()
    i = 0
    do while (i < 2)
      call MPI_Testany(2, pair, which, flag, MPI_STATUS_IGNORE, ierror)
      if (flag) i = i + 1
    end do
  end do
  SOME
    call exchange()
    i = 0
    do while (i < 2)
      call MPI_Testsome(2, pair, count, found, MPI_STATUSES_IGNORE, ierror)
      i = i + count
    end do
  end do
  call MPI_Recv_init(out, 64, MPI_INTEGER, with, 5, MPI_COMM_WORLD, pair(1), ierror)
  call MPI_Send_init(in, 8, MPI_INTEGER, with, 5, MPI_COMM_WORLD, pair(2), ierror)
  SOME
    call MPI_Start(pair(1), ierror)
    call MPI_Start(pair(2), ierror)
    call MPI_Waitall(2, pair, statuses, ierror)
    call MPI_Startall(2, pair, ierror)
    call MPI_Waitall(2, pair, statuses, ierror)
  end do
  call MPI_Request_free(pair(1), ierror)
  call MPI_Request_free(pair(2), ierror)
  SOME
    call MPI_Irecv(out, 64, MPI_INTEGER, with, 77, MPI_COMM_WORLD, request, ierror)
    call MPI_Cancel(request, ierror)
    call MPI_Wait(request, status, ierror)
  end do
contains
  subroutine exchange()
    call MPI_Irecv(out, 64, MPI_INTEGER, with, 4, MPI_COMM_WORLD, pair(1), ierror)
    call MPI_Isend(in, 8, MPI_INTEGER, with, 4, MPI_COMM_WORLD, pair(2), ierror)
  end subroutine exchange
  subroutine matched()
    HANDLE(MPI_Message) :: message
    call MPI_Mprobe(with, 3, MPI_COMM_WORLD, message, status, ierror)
    call MPI_Mrecv(out, 64, MPI_INTEGER, message, MPI_STATUS_IGNORE, ierror)
    flag = .false.
    do while (.not. flag)
      call MPI_Improbe(with, 3, MPI_COMM_WORLD, flag, message, status, ierror)
    end do
    call MPI_Imrecv(out, 64, MPI_INTEGER, message, request, ierror)
    WAITED
  end subroutine matched
end subroutine messages

subroutine collectives()
  MPI
  use shared
  implicit none
  HEADER
  HANDLE(MPI_Request) :: request
  HANDLE(MPI_Datatype) :: types(16)
  HANDLE(MPI_Comm) :: ring
  integer :: counts(16), places(16), bytes(16), i
  integer(MPI_ADDRESS_KIND) :: far(2)
  counts = 4
  places = [(4 * i, i=0, 15)]
  bytes = 4 * places
  far = [0, 64]
  types = MPI_INTEGER
  SOME
    call MPI_Barrier(MPI_COMM_WORLD, ierror)
    call MPI_Ibarrier(MPI_COMM_WORLD, request, ierror)
    WAITED
  end do
#define WORLD MPI_COMM_WORLD,
#define IV in, counts, places, MPI_INTEGER,
#define OV out, counts, places, MPI_INTEGER,
#define OW out, counts, bytes, types,
  SOME; call MPI_Bcast(O4 1, WORLD ierror); end do
  SOME; call MPI_Ibcast(O4 1, WORLD request, ierror); WAITED; end do
  SOME; call MPI_Reduce(in, O4 MPI_SUM, 0, WORLD ierror); end do
  SOME; call MPI_Ireduce(in, O4 MPI_SUM, 0, WORLD request, ierror); WAITED; end do
  SOME; call MPI_Allreduce(in, O4 MPI_SUM, WORLD ierror); end do
  SOME; call MPI_Iallreduce(in, O4 MPI_SUM, WORLD request, ierror); WAITED; end do
  SOME; call MPI_Gather(I4 O4 0, WORLD ierror); end do
  SOME; call MPI_Igather(I4 O4 0, WORLD request, ierror); WAITED; end do
  SOME; call MPI_Gatherv(I4 OV 0, WORLD ierror); end do
  SOME; call MPI_Igatherv(I4 OV 0, WORLD request, ierror); WAITED; end do
  SOME; call MPI_Scatter(I4 O4 0, WORLD ierror); end do
  SOME; call MPI_Iscatter(I4 O4 0, WORLD request, ierror); WAITED; end do
  SOME; call MPI_Scatterv(IV O4 0, WORLD ierror); end do
  SOME; call MPI_Iscatterv(IV O4 0, WORLD request, ierror); WAITED; end do
  SOME; call MPI_Allgather(I4 O4 WORLD ierror); end do
  SOME; call MPI_Iallgather(I4 O4 WORLD request, ierror); WAITED; end do
  SOME; call MPI_Allgatherv(I4 OV WORLD ierror); end do
  SOME; call MPI_Iallgatherv(I4 OV WORLD request, ierror); WAITED; end do
  SOME; call MPI_Alltoall(I4 O4 WORLD ierror); end do
  SOME; call MPI_Ialltoall(I4 O4 WORLD request, ierror); WAITED; end do
  SOME; call MPI_Alltoallv(IV OV WORLD ierror); end do
  SOME; call MPI_Ialltoallv(IV OV WORLD request, ierror); WAITED; end do
  SOME; call MPI_Alltoallw(in, counts, bytes, types, OW WORLD ierror); end do
  SOME; call MPI_Ialltoallw(in, counts, bytes, types, OW WORLD request, ierror); WAITED; end do
  SOME; call MPI_Reduce_scatter(in, out, counts, MPI_INTEGER, MPI_SUM, WORLD ierror); end do
  SOME; call MPI_Ireduce_scatter(in, out, counts, MPI_INTEGER, MPI_SUM, WORLD request, ierror); WAITED; end do
  SOME; call MPI_Reduce_scatter_block(in, O4 MPI_SUM, WORLD ierror); end do
  SOME; call MPI_Ireduce_scatter_block(in, O4 MPI_SUM, WORLD request, ierror); WAITED; end do
  SOME; call MPI_Scan(in, O4 MPI_SUM, WORLD ierror); end do
  SOME; call MPI_Iscan(in, O4 MPI_SUM, WORLD request, ierror); WAITED; end do
  SOME; call MPI_Exscan(in, O4 MPI_SUM, WORLD ierror); end do
  SOME; call MPI_Iexscan(in, O4 MPI_SUM, WORLD request, ierror); WAITED; end do
  SOME
    call MPI_Allreduce(MPI_IN_PLACE, out, 4, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, ierror)
  end do
  call MPI_Cart_create(MPI_COMM_WORLD, 1, [ranks], [.true.], .false., ring, ierror)
#define RING ring,
  SOME; call MPI_Neighbor_allgather(I4 O4 RING ierror); end do
  SOME; call MPI_Ineighbor_allgather(I4 O4 RING request, ierror); WAITED; end do
  SOME; call MPI_Neighbor_allgatherv(I4 OV RING ierror); end do
  SOME; call MPI_Ineighbor_allgatherv(I4 OV RING request, ierror); WAITED; end do
  SOME; call MPI_Neighbor_alltoall(I4 O4 RING ierror); end do
  SOME; call MPI_Ineighbor_alltoall(I4 O4 RING request, ierror); WAITED; end do
  SOME; call MPI_Neighbor_alltoallv(IV OV RING ierror); end do
  SOME; call MPI_Ineighbor_alltoallv(IV OV RING request, ierror); WAITED; end do
#define XW far, types,
#ifndef WITH_MPICH
  ! MPICH 4.0's mpi_f08 asks a Cartesian communicator for the neighbours of a graph.
  SOME
    call MPI_Neighbor_alltoallw(in, counts, XW out, counts, XW ring, ierror)
    call MPI_Ineighbor_alltoallw(in, counts, XW out, counts, XW ring, request, ierror)
    WAITED
  end do
#endif
  call MPI_Comm_free(ring, ierror)
end subroutine collectives

program fortran_mpi_calls
  MPI
  use shared
  implicit none
  HEADER
  character(len=4096) :: directory
#if defined(USE_MPI_F08)
  integer :: level
#endif
#if defined(USE_MPI_F08)
  call MPI_Init_thread(MPI_THREAD_FUNNELED, level, ierror)
#else
  call MPI_Init(ierror)
#endif
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierror)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, ierror)
  call get_command_argument(1, directory)
  call messages()
  call collectives()
  call communicators()
  call windows()
  call files(trim(directory)//'/file', command_argument_count() == 1)
  call MPI_Finalize(ierror)
end program fortran_mpi_calls
