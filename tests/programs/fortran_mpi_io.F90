! MPI-IO from Fortran: the modes, offsets and account of c_mpi_io.c (which describes them), under the
! three interfaces that MPI has for Fortran. They reach the library by symbols of their own, so that
! one source is built three times.
!
!   mpirun -n N fortran_mpi_io_{mpif,mpi,f08} DIRECTORY MODE REQUEST_BYTES REPETITIONS
!          [read] [gap=N] [account]
#if defined(USE_MPI_F08)
#define HANDLE(name) type(name)
#define STATUS type(MPI_Status)
#else
#define HANDLE(name) integer
#define STATUS integer, dimension(MPI_STATUS_SIZE)
#endif
program fortran_mpi_io
#if defined(USE_MPI_F08)
  use mpi_f08
#elif defined(USE_MPI_MODULE)
  use mpi
#endif
  use, intrinsic :: iso_fortran_env, only: int8, int64
  implicit none
#if !defined(USE_MPI_F08) && !defined(USE_MPI_MODULE)
  include 'mpif.h'
#endif
  integer, parameter :: line_length = 1024
  character(len=4096) :: directory, word
  character(len=line_length - 128) :: path
  character(len=16) :: mode
  character(len=line_length), allocatable :: lines(:)
  integer :: rank, ranks, ierror, i, turn, repetitions, gap, count, type_bytes, line_count
  integer(int64) :: ticks
  integer(kind=MPI_OFFSET_KIND) :: rs
  logical :: with_read, with_account, has_view
  integer(int8), allocatable :: block(:)
  HANDLE(MPI_File) :: file
  HANDLE(MPI_Datatype) :: datatype, block_type, filetype
  STATUS :: status

  call MPI_Init(ierror)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierror)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, ierror)
  if (command_argument_count() < 4) call MPI_Abort(MPI_COMM_WORLD, 2, ierror)
  call get_command_argument(1, directory)
  call get_command_argument(2, mode)
  call get_command_argument(3, word)
  read (word, *) rs
  call get_command_argument(4, word)
  read (word, *) repetitions
  gap = 0
  with_read = .false.
  with_account = .false.
  do i = 5, command_argument_count()
    call get_command_argument(i, word)
    if (word == 'read') with_read = .true.
    if (word == 'account') with_account = .true.
    if (word(1:4) == 'gap=') read (word(5:), *) gap
  end do
  has_view = mode == 'view' .or. mode == 'view_at'
  call check(len_trim(directory) + len_trim(mode) + 8 < len(path))
  path = trim(directory)//'/'//trim(mode)
  if (mode == 'nn') write (path, '(a,".",i0)') trim(path), rank
  datatype = MPI_BYTE
  if (has_view .and. mod(rs, 8_MPI_OFFSET_KIND) == 0) datatype = MPI_DOUBLE_PRECISION
  call MPI_Type_size(datatype, type_bytes, ierror)
  count = int(rs / type_bytes)
  allocate (block(rs), lines(3 * repetitions + 8))
  line_count = 0
  ticks = 0

  if (mode == 'nn') then
    call MPI_File_open(MPI_COMM_SELF, path, MPI_MODE_CREATE + MPI_MODE_RDWR, MPI_INFO_NULL, file, &
                       ierror)
  else
    call MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_CREATE + MPI_MODE_RDWR, MPI_INFO_NULL, file, &
                       ierror)
  end if
  call event('MPI_File_open', 0_MPI_OFFSET_KIND, 0_MPI_OFFSET_KIND)
  if (has_view) then
    call MPI_Type_contiguous(count, datatype, block_type, ierror)
    call MPI_Type_create_resized(block_type, 0_MPI_ADDRESS_KIND, &
                                 int(rs * ranks, MPI_ADDRESS_KIND), filetype, ierror)
    call MPI_Type_commit(filetype, ierror)
    call MPI_File_set_view(file, rank * rs, datatype, filetype, 'native', MPI_INFO_NULL, ierror)
    call event('MPI_File_set_view', rank * rs, 0_MPI_OFFSET_KIND)
    call MPI_Type_free(block_type, ierror)
    call MPI_Type_free(filetype, ierror)
  end if
  if (mode == 'individual') call seek(0)
  call barrier()
  do i = 0, repetitions - 1
    call write_one(i)
    do turn = 1, gap
      call all_reduce()
    end do
  end do
  call barrier()
  if (with_read) then
    do i = 0, repetitions - 1
      call read_one(i)
      do turn = 1, gap
        call all_reduce()
      end do
    end do
    call barrier()
  end if
  call MPI_File_close(file, ierror)
  call event('MPI_File_close', 0_MPI_OFFSET_KIND, 0_MPI_OFFSET_KIND)
  if (with_account) call print_accounts()
  call MPI_Finalize(ierror)

contains

  subroutine check(holds)
    logical, intent(in) :: holds
    integer :: ignored
    if (.not. holds) call MPI_Abort(MPI_COMM_WORLD, 70, ignored)
  end subroutine check

  ! A call of MPI-IO has been made, which is the next MPI event; it has succeeded.
  subroutine event(name, offset, bytes)
    character(len=*), intent(in) :: name
    integer(kind=MPI_OFFSET_KIND), intent(in) :: offset, bytes
    call check(ierror == MPI_SUCCESS)
    ticks = ticks + 1
    line_count = line_count + 1
    write (lines(line_count), '(i0,5(1x,a,:))') rank, name, trim(path), trim(number(offset)), &
      trim(number(bytes)), trim(number(int(ticks, MPI_OFFSET_KIND)))
  end subroutine event

  function number(value) result(text)
    integer(kind=MPI_OFFSET_KIND), intent(in) :: value
    character(len=24) :: text
    write (text, '(i0)') value
  end function number

  subroutine barrier()
    call MPI_Barrier(MPI_COMM_WORLD, ierror)
    call check(ierror == MPI_SUCCESS)
    ticks = ticks + 1
  end subroutine barrier

  subroutine all_reduce()
    integer :: total
    call MPI_Allreduce(rank, total, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, ierror)
    call check(ierror == MPI_SUCCESS .and. total == ranks * (ranks - 1) / 2)
    ticks = ticks + 1
  end subroutine all_reduce

  function offset_of(i) result(offset)
    integer, intent(in) :: i
    integer(kind=MPI_OFFSET_KIND) :: offset
    if (mode == 'nn') then
      offset = i * rs
    else if (mode == 'n1' .or. mode == 'individual') then
      offset = (int(rank, MPI_OFFSET_KIND) * repetitions + i) * rs
    else
      offset = (int(i, MPI_OFFSET_KIND) * ranks + rank) * rs
    end if
  end function offset_of

  subroutine seek(i)
    integer, intent(in) :: i
    call MPI_File_seek(file, offset_of(i), MPI_SEEK_SET, ierror)
    call event('MPI_File_seek', offset_of(i), 0_MPI_OFFSET_KIND)
  end subroutine seek

  subroutine write_one(i)
    integer, intent(in) :: i
    integer(kind=MPI_OFFSET_KIND) :: offset
    offset = offset_of(i)
    block = int(97 + mod(rank + i, 26), int8)
    select case (mode)
    case ('nn', 'n1')
      call MPI_File_write_at(file, offset, block, count, datatype, MPI_STATUS_IGNORE, ierror)
      call event('MPI_File_write_at', offset, rs)
    case ('strided')
      call MPI_File_write_at_all(file, offset, block, count, datatype, MPI_STATUS_IGNORE, ierror)
      call event('MPI_File_write_at_all', offset, rs)
    case ('view_at')
      call MPI_File_write_at_all(file, int(i, MPI_OFFSET_KIND) * count, block, count, datatype, &
                                 MPI_STATUS_IGNORE, ierror)
      call event('MPI_File_write_at_all', offset, rs)
    case ('view')
      call MPI_File_write_all(file, block, count, datatype, status, ierror)
      call event('MPI_File_write_all', offset, rs)
    case ('individual')
      call MPI_File_write(file, block, count, datatype, status, ierror)
      call event('MPI_File_write', offset, rs)
    case default
      call check(.false.)
    end select
  end subroutine write_one

  ! Half of the modes ask for the status of their reads.
  subroutine read_one(i)
    integer, intent(in) :: i
    integer(kind=MPI_OFFSET_KIND) :: offset
    integer :: got
    offset = offset_of(i)
    block = 0
    got = count
    select case (mode)
    case ('nn', 'n1')
      call MPI_File_read_at(file, offset, block, count, datatype, MPI_STATUS_IGNORE, ierror)
      call event('MPI_File_read_at', offset, rs)
    case ('strided')
      call MPI_File_read_at_all(file, offset, block, count, datatype, status, ierror)
      call event('MPI_File_read_at_all', offset, rs)
      call MPI_Get_count(status, datatype, got, ierror)
    case ('view_at')
      call MPI_File_read_at_all(file, int(i, MPI_OFFSET_KIND) * count, block, count, datatype, &
                                MPI_STATUS_IGNORE, ierror)
      call event('MPI_File_read_at_all', offset, rs)
    case ('view')
      if (i == 0) then
        call MPI_File_seek(file, 0_MPI_OFFSET_KIND, MPI_SEEK_SET, ierror)
        call event('MPI_File_seek', offset, 0_MPI_OFFSET_KIND)
      end if
      call MPI_File_read_all(file, block, count, datatype, status, ierror)
      call event('MPI_File_read_all', offset, rs)
      call MPI_Get_count(status, datatype, got, ierror)
    case ('individual')
      call seek(i)
      call MPI_File_read(file, block, count, datatype, MPI_STATUS_IGNORE, ierror)
      call event('MPI_File_read', offset, rs)
    end select
    call check(got == count)
    call check(all(block == int(97 + mod(rank + i, 26), int8)))
  end subroutine read_one

  ! All through rank 0: the launcher may mix what ranks print themselves.
  subroutine print_accounts()
    integer :: other, line, counts(ranks)
    call MPI_Gather(line_count, 1, MPI_INTEGER, counts, 1, MPI_INTEGER, 0, MPI_COMM_WORLD, ierror)
    if (rank /= 0) then
      call MPI_Send(lines, line_count * line_length, MPI_CHARACTER, 0, 0, MPI_COMM_WORLD, ierror)
      return
    end if
    do other = 0, ranks - 1
      if (other > 0) call MPI_Recv(lines, counts(other + 1) * line_length, MPI_CHARACTER, other, 0, &
                                   MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierror)
      do line = 1, counts(other + 1)
        print '(a)', trim(lines(line))
      end do
    end do
  end subroutine print_accounts
end program fortran_mpi_io
