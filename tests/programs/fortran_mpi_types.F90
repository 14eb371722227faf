! Views and accesses from Fortran, with the account of c_mpi_types.c (which describes it): types of
! each kind with Fortran's order of dimensions, and accesses of each kind. One source for the
! interfaces that MPI has for Fortran.
!
!   mpirun -n N fortran_mpi_types_{mpif,f08} DIRECTORY [without_nonblocking_all] [without_pairs]
#if defined(USE_MPI_F08)
#define HANDLE(name) type(name)
#define STATUS type(MPI_Status)
#else
#define HANDLE(name) integer
#define STATUS integer, dimension(MPI_STATUS_SIZE)
#endif
program fortran_mpi_types
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
  integer, parameter :: request_etypes = 10, most_bytes = 4096, account = 20
  integer, parameter :: ok = MPI_OFFSET_KIND, ak = MPI_ADDRESS_KIND
  character(len=4096) :: directory, word, path
  integer :: rank, ranks, ierror, i, j, bytes_in_type, etype_bytes, place(0:most_bytes - 1)
  integer(ok) :: disp, extent, next
  integer(int64) :: at
  logical :: with_all
  HANDLE(MPI_Datatype) :: etype, filetype, made, types(2)
  HANDLE(MPI_File) :: file
  HANDLE(MPI_Request) :: request
  STATUS :: status
  ! MPI may write to it until a request is complete.
  integer(int8), asynchronous :: buffer(0:most_bytes - 1)

  call MPI_Init(ierror)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierror)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, ierror)
  call get_command_argument(1, directory)
  with_all = .true.
  do i = 2, command_argument_count()
    call get_command_argument(i, word)
    if (word == 'without_nonblocking_all') with_all = .false.
  end do
  write (word, '(a,"/account.",i0)') trim(directory), rank
  open (account, file=word, status='replace', action='write')

  call begin_case(MPI_DOUBLE_PRECISION)
  call MPI_Type_contiguous(5, MPI_DOUBLE_PRECISION, filetype, ierror)
  call bytes_at(0, 40)
  call move_through('contiguous', 24_ok + rank * 40000_ok, 40_ok)

  call begin_case(MPI_INTEGER)
  call MPI_Type_vector(3, 2, 5, MPI_INTEGER, filetype, ierror)
  do i = 0, 2
    call bytes_at(i * 20, 8)
  end do
  call move_through('vector', 7_ok + rank * 40000_ok, 48_ok)

  ! A block of an array that the ranks share by its second dimension.
  call begin_case(MPI_DOUBLE_PRECISION)
  call MPI_Type_create_subarray(3, [4, 2 * ranks, 3], [3, 2, 2], [1, 2 * rank, 1], &
                                MPI_ORDER_FORTRAN, MPI_DOUBLE_PRECISION, filetype, ierror)
  do i = 1, 2
    do j = 0, 1
      call bytes_at(((i * 2 * ranks + 2 * rank + j) * 4 + 1) * 8, 24)
    end do
  end do
  call move_through('subarray', 16_ok, int(4 * 2 * ranks * 3 * 8, ok))

  call begin_case(MPI_BYTE)
  call MPI_Type_create_struct(2, [2, 1], [0_ak, 16_ak], struct_types(), made, ierror)
  call MPI_Type_create_resized(made, 0_ak, 48_ak, filetype, ierror)
  call MPI_Type_free(made, ierror)
  call bytes_at(0, 8)
  call bytes_at(16, 8)
  call move_through('struct', rank * 40000_ok, 48_ok)

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
  call move_through('nested', 5_ok + rank * 40000_ok, 144_ok)

  close (account)
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

  subroutine bytes_at(begin, bytes)
    integer, intent(in) :: begin, bytes
    integer :: b
    do b = 0, bytes - 1
      place(bytes_in_type) = begin + b
      bytes_in_type = bytes_in_type + 1
    end do
  end subroutine bytes_at

  function in_file(view_byte) result(offset)
    integer(int64), intent(in) :: view_byte
    integer(int64) :: offset
    offset = disp + view_byte / bytes_in_type * extent + place(mod(view_byte, int(bytes_in_type, int64)))
  end function in_file

  subroutine check(holds)
    logical, intent(in) :: holds
    integer :: ignored
    if (.not. holds) call MPI_Abort(MPI_COMM_WORLD, 70, ignored)
  end subroutine check

  function value_of(number) result(value)
    integer(int64), intent(in) :: number
    integer(int8) :: value
    value = int(mod(rank * 37 + number * 11, 127_int64) + 1, int8)
  end function value_of

  subroutine note(call_name)
    character(len=*), intent(in) :: call_name
    write (account, '(a,1x,a,1x,"0 ?")') call_name, trim(path)
  end subroutine note

  ! Of a request at byte `at` of the view.
  subroutine note_pieces(call_name, bytes)
    character(len=*), intent(in) :: call_name
    integer, intent(in) :: bytes
    integer(int64) :: begin, length, b
    character(len=1) :: comma
    character(len=20) :: size_text, begin_text
    write (size_text, '(i0)') bytes
    write (account, '(a,1x,a,1x,a,1x)', advance='no') call_name, trim(path), trim(size_text)
    begin = -1
    length = 0
    comma = ' '
    do b = at, at + bytes
      if (length > 0) then
        if (b == at + bytes .or. in_file(b) /= begin + length) then
          write (begin_text, '(i0)') begin
          write (size_text, '(i0)') length
          if (comma == ',') write (account, '(a)', advance='no') ','
          write (account, '(a,"+",a)', advance='no') trim(begin_text), trim(size_text)
          comma = ','
          length = 0
        end if
      end if
      if (length == 0) begin = in_file(b)
      length = length + 1
    end do
    write (account, '(a)') ''
  end subroutine note_pieces

  subroutine move_through(name, with_disp, with_extent)
    character(len=*), intent(in) :: name
    integer(ok), intent(in) :: with_disp, with_extent
    disp = with_disp
    extent = with_extent
    write (path, '(a,"/own.",a)') trim(directory), name
    call MPI_Type_commit(filetype, ierror)
    call MPI_File_open(MPI_COMM_WORLD, trim(path), MPI_MODE_CREATE + MPI_MODE_RDWR, MPI_INFO_NULL, &
                       file, ierror)
    call check(ierror == MPI_SUCCESS)
    call note('MPI_File_open')
    call MPI_File_set_view(file, disp, etype, filetype, 'native', MPI_INFO_NULL, ierror)
    call check(ierror == MPI_SUCCESS)
    call note('MPI_File_set_view')
    call move_all(.true.)
    call MPI_File_sync(file, ierror)
    call note('MPI_File_sync')
    call MPI_Barrier(MPI_COMM_WORLD, ierror)
    call MPI_File_seek(file, 0_ok, MPI_SEEK_SET, ierror)
    call note('MPI_File_seek')
    call move_all(.false.)
    call MPI_File_close(file, ierror)
    call note('MPI_File_close')
    call MPI_Type_free(filetype, ierror)
    call MPI_Barrier(MPI_COMM_WORLD, ierror)
    call look_into_file()
  end subroutine move_through

  subroutine look_into_file()
    integer, parameter :: unit = 30
    integer(int64) :: b
    integer(int8) :: found
    open (unit, file=trim(path), access='stream', form='unformatted', status='old', action='read')
    do b = 0, at - 1
      read (unit, pos=in_file(b) + 1) found
      call check(found == value_of(b))
    end do
    close (unit)
  end subroutine look_into_file

  ! One request; the next one is behind it in the view.
  subroutine moved(call_name, writing, nbytes)
    character(len=*), intent(in) :: call_name
    logical, intent(in) :: writing
    integer, intent(in) :: nbytes
    integer :: b
    call check(ierror == MPI_SUCCESS)
    call note_pieces(call_name, nbytes)
    if (.not. writing) then
      do b = 0, nbytes - 1
        call check(buffer(b) == value_of(at + b))
      end do
    end if
    at = at + nbytes
    next = next + request_etypes
    call MPI_Barrier(MPI_COMM_WORLD, ierror)
    buffer = 0
    if (writing) call fill(nbytes)
  end subroutine moved

  subroutine fill(nbytes)
    integer, intent(in) :: nbytes
    integer :: b
    do b = 0, nbytes - 1
      buffer(b) = value_of(at + b)
    end do
  end subroutine fill

  subroutine move_all(writing)
    logical, intent(in) :: writing
    integer :: n
    n = request_etypes * etype_bytes
    at = 0
    next = 0
    buffer = 0
    if (writing) then
      call fill(n)
      call MPI_File_write(file, buffer, n, MPI_BYTE, MPI_STATUS_IGNORE, ierror)
      call moved('MPI_File_write', writing, n)
      call MPI_File_write_all(file, buffer, n, MPI_BYTE, status, ierror)
      call moved('MPI_File_write_all', writing, n)
      call MPI_File_iwrite(file, buffer, n, MPI_BYTE, request, ierror)
      call MPI_Wait(request, MPI_STATUS_IGNORE, ierror)
      call moved('MPI_File_iwrite', writing, n)
      call MPI_File_write_all_begin(file, buffer, n, MPI_BYTE, ierror)
      call MPI_File_write_all_end(file, buffer, status, ierror)
      call moved('MPI_File_write_all_begin', writing, n)
      if (with_all) then
        call MPI_File_iwrite_all(file, buffer, n, MPI_BYTE, request, ierror)
        call MPI_Wait(request, status, ierror)
        call moved('MPI_File_iwrite_all', writing, n)
      end if
      call MPI_File_write_at(file, next, buffer, n, MPI_BYTE, status, ierror)
      call moved('MPI_File_write_at', writing, n)
      call MPI_File_write_at_all(file, next, buffer, n, MPI_BYTE, MPI_STATUS_IGNORE, ierror)
      call moved('MPI_File_write_at_all', writing, n)
      call MPI_File_iwrite_at(file, next, buffer, n, MPI_BYTE, request, ierror)
      call MPI_Wait(request, status, ierror)
      call moved('MPI_File_iwrite_at', writing, n)
      call MPI_File_write_at_all_begin(file, next, buffer, n, MPI_BYTE, ierror)
      call MPI_File_write_at_all_end(file, buffer, MPI_STATUS_IGNORE, ierror)
      call moved('MPI_File_write_at_all_begin', writing, n)
      return
    end if
    call MPI_File_read(file, buffer, n, MPI_BYTE, MPI_STATUS_IGNORE, ierror)
    call moved('MPI_File_read', writing, n)
    call MPI_File_read_all(file, buffer, n, MPI_BYTE, status, ierror)
    call moved('MPI_File_read_all', writing, n)
    call MPI_File_iread(file, buffer, n, MPI_BYTE, request, ierror)
    call MPI_Wait(request, MPI_STATUS_IGNORE, ierror)
    call moved('MPI_File_iread', writing, n)
    call MPI_File_read_all_begin(file, buffer, n, MPI_BYTE, ierror)
    call MPI_File_read_all_end(file, buffer, status, ierror)
    call moved('MPI_File_read_all_begin', writing, n)
    if (with_all) then
      call MPI_File_iread_all(file, buffer, n, MPI_BYTE, request, ierror)
      call MPI_Wait(request, status, ierror)
      call moved('MPI_File_iread_all', writing, n)
    end if
    call MPI_File_read_at(file, next, buffer, n, MPI_BYTE, status, ierror)
    call moved('MPI_File_read_at', writing, n)
    call MPI_File_read_at_all(file, next, buffer, n, MPI_BYTE, MPI_STATUS_IGNORE, ierror)
    call moved('MPI_File_read_at_all', writing, n)
    call MPI_File_iread_at(file, next, buffer, n, MPI_BYTE, request, ierror)
    call MPI_Wait(request, status, ierror)
    call moved('MPI_File_iread_at', writing, n)
    call MPI_File_read_at_all_begin(file, next, buffer, n, MPI_BYTE, ierror)
    call MPI_File_read_at_all_end(file, buffer, MPI_STATUS_IGNORE, ierror)
    call moved('MPI_File_read_at_all_begin', writing, n)
  end subroutine move_all
end program fortran_mpi_types
