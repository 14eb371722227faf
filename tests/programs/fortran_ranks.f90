! Ranks that write records of one file and of a file each, by the I/O of Fortran.
!
!   mpirun -n N fortran_ranks STEPS       where its files go
program fortran_ranks
  use mpi
  implicit none
  integer, parameter :: words = 512
  integer :: rank, ranks, steps, step, error, length
  integer :: record(words)
  character(len=32) :: word

  call mpi_init(error)
  call mpi_comm_rank(mpi_comm_world, rank, error)
  call mpi_comm_size(mpi_comm_world, ranks, error)
  call get_command_argument(1, word)
  read (word, *) steps
  record = rank
  inquire (iolength=length) record
  ! The first rank makes the file.
  if (rank == 0) open (10, file='shared.dat', access='direct', recl=length, status='replace')
  call mpi_barrier(mpi_comm_world, error)
  if (rank /= 0) open (10, file='shared.dat', access='direct', recl=length, status='old')
  write (word, '(a, i5.5)') 'rank.', rank
  open (11, file=trim(word), form='unformatted', access='stream', status='replace')
  do step = 0, steps - 1
    write (10, rec=step*ranks + rank + 1) record
    flush (10)
    write (11) record
    flush (11)
    call mpi_barrier(mpi_comm_world, error)
  end do
  close (10)
  close (11)
  call mpi_finalize(error)
end program fortran_ranks
