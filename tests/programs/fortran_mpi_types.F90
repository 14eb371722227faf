! Views and accesses from Fortran, with the account of c_mpi_types.c (which describes it): types of
! each kind, with Fortran's order of dimensions, and through them accesses of each kind.
!
!   mpirun -n N fortran_mpi_types_{mpif,f08} DIRECTORY [without_nonblocking_all] ...
#if defined(USE_MPI_F08)
#define HANDLE(name) type(name)
#else
#define HANDLE(name) integer
#endif
program fortran_mpi_types
  use mpi_names
  use account
  use accesses
  implicit none
  integer, parameter :: block = 40000  ! of the file, of a rank
  character(len=4096) :: word
  integer :: i, j, grid(2)
  HANDLE(MPI_Datatype) :: etype, filetype, made, types(2)

  call MPI_Init(ierror)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierror)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, ierror)
  call get_command_argument(1, directory)
  with_all = .true.
  do i = 2, command_argument_count()
    call get_command_argument(i, word)
    if (word == 'without_nonblocking_all') with_all = .false.
  end do
  call open_account()

  call begin_case(MPI_DOUBLE_PRECISION)
  call MPI_Type_contiguous(5, MPI_DOUBLE_PRECISION, filetype, ierror)
  call bytes_at(0, 40)
  call move_through('contiguous', 24, 40, .true.)

  call begin_case(MPI_INTEGER)
  call MPI_Type_vector(3, 2, 5, MPI_INTEGER, filetype, ierror)
  do i = 0, 2
    call bytes_at(i * 20, 8)
  end do
  call move_through('vector', 7, 48, .true.)

  call begin_case(MPI_INTEGER)
  call MPI_Type_indexed(4, [2, 0, 1, 3], [1, 4, 5, 9], MPI_INTEGER, filetype, ierror)
  call bytes_at(4, 8)
  call bytes_at(20, 4)
  call bytes_at(36, 12)
  call move_through('indexed', 1, 44, .true.)

  ! Holes of several sizes, before the first byte too.
  call begin_case(MPI_BYTE)
  call MPI_Type_create_hindexed(3, [1, 3, 2], [3_ak, 11_ak, 50_ak], MPI_BYTE, filetype, ierror)
  call bytes_at(3, 1)
  call bytes_at(11, 3)
  call bytes_at(50, 2)
  call move_through('holes', 100, 49, .true.)

  call begin_case(MPI_BYTE)
  call MPI_Type_create_struct(2, [2, 1], [0_ak, 16_ak], struct_types(), made, ierror)
  call MPI_Type_create_resized(made, 0_ak, 48_ak, filetype, ierror)
  call MPI_Type_free(made, ierror)
  call bytes_at(0, 8)
  call bytes_at(16, 8)
  call move_through('struct', 0, 48, .true.)

  call begin_case(MPI_INTEGER)
  call MPI_Type_contiguous(3, MPI_INTEGER, made, ierror)
  call MPI_Type_create_resized(made, 0_ak, 40_ak, filetype, ierror)
  call MPI_Type_free(made, ierror)
  call bytes_at(0, 12)
  call move_through('resized', 9, 40, .true.)

  ! Pairs at places of their own, with holes behind, in a vector.
  call begin_case(MPI_INTEGER)
  call MPI_Type_create_indexed_block(3, 2, [0, 3, 7], MPI_INTEGER, types(1), ierror)
  call MPI_Type_create_resized(types(1), 0_ak, 44_ak, types(2), ierror)
  call MPI_Type_create_hvector(2, 1, 100_ak, types(2), filetype, ierror)
  call MPI_Type_free(types(1), ierror)
  call MPI_Type_free(types(2), ierror)
  do i = 0, 1
    call bytes_at(i * 100, 8)
    call bytes_at(i * 100 + 12, 8)
    call bytes_at(i * 100 + 28, 8)
  end do
  call move_through('nested', 5, 144, .true.)

  ! A part of an array of each rank's own, and of all.
  call begin_case(MPI_INTEGER)
  call MPI_Type_create_subarray(2, [4, 5], [2, 3], [1, 2], MPI_ORDER_FORTRAN, MPI_INTEGER, filetype, ierror)
  do i = 2, 4
    call bytes_at((i * 4 + 1) * 4, 8)
  end do
  call move_through('block', 3, 80, .true.)

  ! Of arrays that the ranks share.
  call begin_case(MPI_DOUBLE_PRECISION)
  call MPI_Type_create_subarray(3, [4, 2 * ranks, 3], [3, 2, 2], [1, 2 * rank, 1], &
                                MPI_ORDER_FORTRAN, MPI_DOUBLE_PRECISION, filetype, ierror)
  do i = 1, 2
    do j = 0, 1
      call bytes_at(((i * 2 * ranks + 2 * rank + j) * 4 + 1) * 8, 24)
    end do
  end do
  call move_through('subarray', 16, 4 * 2 * ranks * 3 * 8, .false.)

  call begin_case(MPI_INTEGER)
  grid = [ranks, 1]
  call MPI_Type_create_darray(ranks, rank, 2, [2 * ranks, 3], [MPI_DISTRIBUTE_CYCLIC, MPI_DISTRIBUTE_NONE], &
                              [MPI_DISTRIBUTE_DFLT_DARG, MPI_DISTRIBUTE_DFLT_DARG], grid, &
                              MPI_ORDER_FORTRAN, MPI_INTEGER, filetype, ierror)
  do i = 0, 2
    call bytes_at((i * 2 * ranks + rank) * 4, 4)
    call bytes_at((i * 2 * ranks + ranks + rank) * 4, 4)
  end do
  call move_through('darray', 8, 2 * ranks * 3 * 4, .false.)

  close (unit)
  call MPI_Finalize(ierror)

contains

  function struct_types() result(both)
    HANDLE(MPI_Datatype) :: both(2)
    both(1) = MPI_INTEGER
    both(2) = MPI_DOUBLE_PRECISION
  end function struct_types

  subroutine begin_case(with)
    HANDLE(MPI_Datatype), intent(in) :: with
    etype = with
    call MPI_Type_size(etype, etype_bytes, ierror)
    bytes_in_type = 0
  end subroutine begin_case

  ! `same` says that all ranks have the same type: then each has a part of the file for its own
  ! accesses, and all of them share a pointer in another file.
  subroutine move_through(name, with_disp, with_extent, same)
    character(len=*), intent(in) :: name
    integer, intent(in) :: with_disp, with_extent
    logical, intent(in) :: same
    disp = with_disp
    extent = with_extent
    if (same) disp = disp + rank * block
    call MPI_Type_commit(filetype, ierror)
    call check(ierror == MPI_SUCCESS)
    call open_with_view('own', name, etype, filetype)
    call write_all_ways()
    call sync_file()
    call read_all_ways()
    call close_file()
    call look_into_file(at)
    if (same) then
      disp = with_disp
      call open_with_view('shared', name, etype, filetype)
      call move_shared()
      call close_file()
    end if
    call MPI_Type_free(filetype, ierror)
  end subroutine move_through
end program fortran_mpi_types
