! btio-full and madbench of c_kernels.c, which describes them, in Fortran.
!
!   mpirun -n N fortran_kernels KERNEL SIZE STEPS EVENTS      where its files go
program fortran_kernels
  use mpi
  use, intrinsic :: iso_fortran_env, only: int8
  implicit none
  integer, parameter :: offset_kind = MPI_OFFSET_KIND
  character(len=64) :: kernel
  integer :: rank, ranks, length, steps, events, ierror

  call MPI_Init(ierror)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierror)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, ierror)
  if (command_argument_count() /= 4) call MPI_Abort(MPI_COMM_WORLD, 2, ierror)
  call get_command_argument(1, kernel)
  length = number(2)
  steps = number(3)
  events = number(4)
  select case (kernel)
  case ('btio-full')
    call btio_full()
  case ('madbench')
    call madbench()
  case default
    call MPI_Abort(MPI_COMM_WORLD, 2, ierror)
  end select
  call MPI_Finalize(ierror)

contains

  integer function number(argument)
    integer, intent(in) :: argument
    character(len=32) :: word
    call get_command_argument(argument, word)
    read (word, *) number
  end function number

  subroutine check(is_true)
    logical, intent(in) :: is_true
    if (.not. is_true) then
      print *, 'fortran_kernels: rank ', rank, ' failed'
      call MPI_Abort(MPI_COMM_WORLD, 1, ierror)
    end if
  end subroutine check

  subroutine compute()
    integer :: i, other
    do i = 1, events
      call MPI_Sendrecv(rank, 1, MPI_INTEGER, modulo(rank + 1, ranks), 0, other, 1, MPI_INTEGER, &
                        modulo(rank - 1, ranks), 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierror)
    end do
  end subroutine compute

  subroutine btio_full()
    integer :: q, edge, cell, points, step, file, point, view, whole(3), part(3), at(3)
    integer, allocatable :: cells(:), lengths(:)
    integer(kind=MPI_ADDRESS_KIND), allocatable :: places(:)
    double precision, allocatable :: cube(:)
    logical :: is_same, all_same
    q = nint(sqrt(real(ranks)))
    call check(q * q == ranks)
    edge = length / q
    allocate (cells(q), lengths(q), places(q))
    lengths = 1
    places = 0
    whole = edge * q
    part = edge
    call MPI_Type_contiguous(5, MPI_DOUBLE_PRECISION, point, ierror)
    call MPI_Type_commit(point, ierror)
    do cell = 0, q - 1
      at = edge * [modulo(modulo(rank, q) + cell, q), modulo(rank / q + cell, q), cell]
      call MPI_Type_create_subarray(3, whole, part, at, MPI_ORDER_FORTRAN, point, &
                                    cells(cell + 1), ierror)
    end do
    call MPI_Type_create_struct(q, lengths, places, cells, view, ierror)
    call MPI_Type_commit(view, ierror)
    points = edge**3 * q
    allocate (cube(5 * points))
    cube = rank
    call MPI_File_open(MPI_COMM_WORLD, 'btio.full.out', MPI_MODE_CREATE + MPI_MODE_RDWR, &
                       MPI_INFO_NULL, file, ierror)
    call check(ierror == MPI_SUCCESS)
    call MPI_File_set_view(file, 0_offset_kind, point, view, 'native', MPI_INFO_NULL, ierror)
    do step = 0, steps - 1
      call compute()
      call MPI_File_write_at_all(file, int(step, offset_kind) * points, cube, points, point, &
                                 MPI_STATUS_IGNORE, ierror)
      call check(ierror == MPI_SUCCESS)
    end do
    do step = 0, steps - 1
      cube = -1
      call MPI_File_read_at_all(file, int(step, offset_kind) * points, cube, points, point, &
                                MPI_STATUS_IGNORE, ierror)
      call check(ierror == MPI_SUCCESS)
      is_same = all(nint(cube) == rank)
      call MPI_Allreduce(is_same, all_same, 1, MPI_LOGICAL, MPI_LAND, MPI_COMM_WORLD, ierror)
      call check(all_same)
    end do
    call MPI_File_close(file, ierror)
  end subroutine btio_full

  subroutine madbench()
    integer, parameter :: ahead = 2
    integer :: file, i
    integer(int8), allocatable :: matrix(:)
    allocate (matrix(length * 1024))
    matrix = 1_int8
    call MPI_File_open(MPI_COMM_WORLD, 'files.data', MPI_MODE_CREATE + MPI_MODE_RDWR, &
                       MPI_INFO_NULL, file, ierror)
    call check(ierror == MPI_SUCCESS)
    do i = 0, steps - 1
      call move(file, matrix, i, .true.)
    end do
    call MPI_Barrier(MPI_COMM_WORLD, ierror)
    do i = 0, steps + ahead - 1
      if (i >= ahead) call move(file, matrix, i - ahead, .true.)
      if (i < steps) call move(file, matrix, i, .false.)
    end do
    call MPI_Barrier(MPI_COMM_WORLD, ierror)
    do i = 0, steps - 1
      call move(file, matrix, i, .false.)
    end do
    call MPI_Barrier(MPI_COMM_WORLD, ierror)
    call MPI_File_close(file, ierror)
  end subroutine madbench

  subroutine move(file, matrix, i, writes)
    integer, intent(in) :: file, i
    integer(int8), intent(inout) :: matrix(:)
    logical, intent(in) :: writes
    integer(offset_kind) :: place
    place = (int(rank, offset_kind) * steps + i) * size(matrix)
    call MPI_File_seek(file, place, MPI_SEEK_SET, ierror)
    if (writes) then
      call MPI_File_write(file, matrix, size(matrix), MPI_BYTE, MPI_STATUS_IGNORE, ierror)
    else
      call MPI_File_read(file, matrix, size(matrix), MPI_BYTE, MPI_STATUS_IGNORE, ierror)
    end if
    call check(ierror == MPI_SUCCESS)
  end subroutine move
end program fortran_kernels
