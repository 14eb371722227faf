! One Fortran unit a rank, under the three interfaces that MPI has for Fortran. They reach the
! library by symbols of their own, so that one source is built three times.
!
!   mpirun -n N fortran_mpi_{mpif,mpi,f08} DIRECTORY
program fortran_mpi
#if defined(USE_MPI_F08)
  use mpi_f08
#elif defined(USE_MPI_MODULE)
  use mpi
#endif
  use, intrinsic :: iso_fortran_env, only: int32
  implicit none
#if !defined(USE_MPI_F08) && !defined(USE_MPI_MODULE)
  include 'mpif.h'
#endif
  character(len=4096) :: directory
  character(len=16) :: number
  integer :: rank, ranks, ierror, unit, total
  integer(int32) :: i

  call MPI_Init(ierror)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierror)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, ierror)
  call get_command_argument(1, directory)
  write (number, '(i0)') rank
  open (newunit=unit, file=trim(directory)//'/unit.'//trim(number), form='unformatted', &
        access='stream', status='replace')
  do i = 1, 20000
    write (unit) rank * 100000 + i
  end do
  close (unit)
  call MPI_Allreduce(rank, total, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, ierror)
  if (total /= ranks * (ranks - 1) / 2) call MPI_Abort(MPI_COMM_WORLD, 70, ierror)
  call MPI_Finalize(ierror)
end program fortran_mpi
