! What fortran_mpi_types.F90 knows of its views and says it did; c_mpi_types.c describes the account.
module mpi_names  ! one source for the interfaces that MPI has for Fortran
#if defined(USE_MPI_F08)
  use mpi_f08
#elif defined(USE_MPI_MODULE)
  use mpi
#else
  implicit none
  include 'mpif.h'
#endif
end module mpi_names

module account
  use mpi_names
  use, intrinsic :: iso_fortran_env, only: int8, int64
  implicit none
  integer, parameter :: request_etypes = 10, most_bytes = 4096, unit = 20
  integer, parameter :: ok = MPI_OFFSET_KIND, ak = MPI_ADDRESS_KIND
  character(len=4096) :: directory, path
  integer :: rank, ranks, ierror
  logical :: with_all
  ! Of the view: bytes of data in the filetype and where each is, of which the etype has so many.
  integer :: bytes_in_type, etype_bytes, place(0:most_bytes - 1)
  integer(ok) :: disp, extent
  ! MPI may write to it until a request is complete.
  integer(int8), asynchronous :: buffer(0:most_bytes - 1)

contains

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

  ! Never 0, which is what holes have.
  function value_of(number) result(value)
    integer(int64), intent(in) :: number
    integer(int8) :: value
    value = int(mod(rank * 37 + number * 11, 127_int64) + 1, int8)
  end function value_of

  subroutine fill(from, bytes)
    integer(int64), intent(in) :: from
    integer, intent(in) :: bytes
    integer :: b
    do b = 0, bytes - 1
      buffer(b) = value_of(from + b)
    end do
  end subroutine fill

  subroutine compare(from, bytes)
    integer(int64), intent(in) :: from
    integer, intent(in) :: bytes
    integer :: b
    do b = 0, bytes - 1
      call check(buffer(b) == value_of(from + b))
    end do
  end subroutine compare

  subroutine open_account()
    character(len=4096) :: name
    write (name, '(a,"/account.",i0)') trim(directory), rank
    open (unit, file=name, status='replace', action='write')
  end subroutine open_account

  ! Of a call that succeeded and moves nothing.
  subroutine note(call_name)
    character(len=*), intent(in) :: call_name
    call check(ierror == MPI_SUCCESS)
    write (unit, '(a,1x,a,1x,"0 ?")') call_name, trim(path)
  end subroutine note

  ! Of a request at byte `from` of the view; with `mark` "~" a reader of the trace may not know where.
  subroutine note_pieces(call_name, from, bytes, mark)
    character(len=*), intent(in) :: call_name, mark
    integer(int64), intent(in) :: from
    integer, intent(in) :: bytes
    integer(int64) :: begin, length, b
    character(len=20) :: text
    logical :: is_first
    call check(ierror == MPI_SUCCESS)
    write (text, '(i0)') bytes
    write (unit, '(a,1x,a,1x,a,1x,a)', advance='no') call_name, trim(path), trim(text), mark
    length = 0
    begin = -1
    is_first = .true.
    do b = from, from + bytes
      if (length > 0) then
        if (b == from + bytes .or. in_file(b) /= begin + length) then
          if (.not. is_first) write (unit, '(a)', advance='no') ','
          write (text, '(i0)') begin
          write (unit, '(a,"+")', advance='no') trim(text)
          write (text, '(i0)') length
          write (unit, '(a)', advance='no') trim(text)
          is_first = .false.
          length = 0
        end if
      end if
      if (length == 0) begin = in_file(b)
      length = length + 1
    end do
    write (unit, '(a)') ''
  end subroutine note_pieces

  ! What the rank wrote is in the file where it says.
  subroutine look_into_file(bytes)
    integer(int64), intent(in) :: bytes
    integer(int64) :: b
    integer(int8) :: found
    integer :: looking
    open (newunit=looking, file=trim(path), access='stream', form='unformatted', status='old', action='read')
    do b = 0, bytes - 1
      read (looking, pos=in_file(b) + 1) found
      call check(found == value_of(b))
    end do
    close (looking)
  end subroutine look_into_file

  ! Which of the ranks' requests, behind one another from byte `begin` of the view on, has what
  ! stands in the buffer.
  function turn_of(begin, bytes) result(turn)
    integer(int64), intent(in) :: begin
    integer, intent(in) :: bytes
    integer :: turn, looking, b
    integer(int8) :: found
    logical :: same
    open (newunit=looking, file=trim(path), access='stream', form='unformatted', status='old', action='read')
    do turn = 0, ranks - 1
      same = .true.
      do b = 0, bytes - 1
        read (looking, pos=in_file(begin + turn * bytes + b) + 1) found
        same = same .and. found == buffer(b)
      end do
      if (same) exit
    end do
    close (looking)
    call check(turn < ranks)
  end function turn_of
end module account
