! Accesses of each kind through the view of fortran_mpi_types_account.F90.
#if defined(USE_MPI_F08)
#define HANDLE(name) type(name)
#define STATUS type(MPI_Status)
#else
#define HANDLE(name) integer
#define STATUS integer, dimension(MPI_STATUS_SIZE)
#endif
module accesses
  use mpi_names
  use account
  implicit none
  HANDLE(MPI_File) :: file
  HANDLE(MPI_Request) :: request
  STATUS :: status
  integer(int64) :: at    ! byte of the view where the next request is
  integer(ok) :: next     ! the same in etypes
  integer :: n            ! bytes of a request
  logical :: writing

contains

  subroutine open_with_view(kind, name, etype, filetype)
    character(len=*), intent(in) :: kind, name
    HANDLE(MPI_Datatype), intent(in) :: etype, filetype
    write (path, '(a,"/",a,".",a)') trim(directory), kind, name
    call MPI_File_open(MPI_COMM_WORLD, trim(path), MPI_MODE_CREATE + MPI_MODE_RDWR, MPI_INFO_NULL, file, ierror)
    call note('MPI_File_open')
    call MPI_File_set_view(file, disp, etype, filetype, 'native', MPI_INFO_NULL, ierror)
    call note('MPI_File_set_view')
    n = request_etypes * etype_bytes
    at = 0
    next = 0
  end subroutine open_with_view

  subroutine close_file()
    call MPI_File_close(file, ierror)
    call note('MPI_File_close')
    call MPI_Barrier(MPI_COMM_WORLD, ierror)
  end subroutine close_file

  subroutine sync_file()
    call MPI_File_sync(file, ierror)
    call note('MPI_File_sync')
    call MPI_Barrier(MPI_COMM_WORLD, ierror)
  end subroutine sync_file

  ! ---- explicit offsets and individual pointers ----

  subroutine begin_all(to_write)
    logical, intent(in) :: to_write
    writing = to_write
    at = 0
    next = 0
    buffer = 0
    if (writing) call fill(at, n)
  end subroutine begin_all

  ! One request; the next one is behind it in the view.
  subroutine moved(call_name)
    character(len=*), intent(in) :: call_name
    call note_pieces('MPI_File_' // call_name, at, n, '')
    if (.not. writing) call compare(at, n)
    at = at + n
    next = next + request_etypes
    call MPI_Barrier(MPI_COMM_WORLD, ierror)
    buffer = 0
    if (writing) call fill(at, n)
  end subroutine moved

  subroutine write_all_ways()
    call begin_all(.true.)
    call MPI_File_write(file, buffer, n, MPI_BYTE, MPI_STATUS_IGNORE, ierror)
    call moved('write')
    call MPI_File_write_all(file, buffer, n, MPI_BYTE, status, ierror)
    call moved('write_all')
    call MPI_File_iwrite(file, buffer, n, MPI_BYTE, request, ierror)
    call MPI_Wait(request, MPI_STATUS_IGNORE, ierror)
    call moved('iwrite')
    call MPI_File_write_all_begin(file, buffer, n, MPI_BYTE, ierror)
    call MPI_File_write_all_end(file, buffer, status, ierror)
    call moved('write_all_begin')
    if (with_all) then
      call MPI_File_iwrite_all(file, buffer, n, MPI_BYTE, request, ierror)
      call MPI_Wait(request, status, ierror)
      call moved('iwrite_all')
    end if
    call MPI_File_write_at(file, next, buffer, n, MPI_BYTE, status, ierror)
    call moved('write_at')
    call MPI_File_write_at_all(file, next, buffer, n, MPI_BYTE, MPI_STATUS_IGNORE, ierror)
    call moved('write_at_all')
    call MPI_File_iwrite_at(file, next, buffer, n, MPI_BYTE, request, ierror)
    call MPI_Wait(request, status, ierror)
    call moved('iwrite_at')
    call MPI_File_write_at_all_begin(file, next, buffer, n, MPI_BYTE, ierror)
    call MPI_File_write_at_all_end(file, buffer, MPI_STATUS_IGNORE, ierror)
    call moved('write_at_all_begin')
    if (with_all) then
      call MPI_File_iwrite_at_all(file, next, buffer, n, MPI_BYTE, request, ierror)
      call MPI_Wait(request, status, ierror)
      call moved('iwrite_at_all')
    end if
    ! The individual pointer is where it was before the explicit offsets.
    call MPI_File_seek(file, next - individual(), MPI_SEEK_CUR, ierror)
    call note('MPI_File_seek')
    call MPI_File_write(file, buffer, n, MPI_BYTE, status, ierror)
    call moved('write')
  end subroutine write_all_ways

  subroutine read_all_ways()
    call MPI_File_seek(file, 0_ok, MPI_SEEK_SET, ierror)
    call note('MPI_File_seek')
    call begin_all(.false.)
    call MPI_File_read(file, buffer, n, MPI_BYTE, MPI_STATUS_IGNORE, ierror)
    call moved('read')
    call MPI_File_read_all(file, buffer, n, MPI_BYTE, status, ierror)
    call moved('read_all')
    call MPI_File_iread(file, buffer, n, MPI_BYTE, request, ierror)
    call MPI_Wait(request, MPI_STATUS_IGNORE, ierror)
    call moved('iread')
    call MPI_File_read_all_begin(file, buffer, n, MPI_BYTE, ierror)
    call MPI_File_read_all_end(file, buffer, status, ierror)
    call moved('read_all_begin')
    if (with_all) then
      call MPI_File_iread_all(file, buffer, n, MPI_BYTE, request, ierror)
      call MPI_Wait(request, status, ierror)
      call moved('iread_all')
    end if
    call MPI_File_read_at(file, next, buffer, n, MPI_BYTE, status, ierror)
    call moved('read_at')
    call MPI_File_read_at_all(file, next, buffer, n, MPI_BYTE, MPI_STATUS_IGNORE, ierror)
    call moved('read_at_all')
    call MPI_File_iread_at(file, next, buffer, n, MPI_BYTE, request, ierror)
    call MPI_Wait(request, status, ierror)
    call moved('iread_at')
    call MPI_File_read_at_all_begin(file, next, buffer, n, MPI_BYTE, ierror)
    call MPI_File_read_at_all_end(file, buffer, MPI_STATUS_IGNORE, ierror)
    call moved('read_at_all_begin')
    if (with_all) then
      call MPI_File_iread_at_all(file, next, buffer, n, MPI_BYTE, request, ierror)
      call MPI_Wait(request, status, ierror)
      call moved('iread_at_all')
    end if
    call MPI_File_seek(file, next - individual(), MPI_SEEK_CUR, ierror)
    call note('MPI_File_seek')
    call MPI_File_read(file, buffer, n, MPI_BYTE, status, ierror)
    call moved('read')
  end subroutine read_all_ways

  ! Etypes that were accessed by the individual pointer before the explicit offsets.
  function individual() result(etypes)
    integer(ok) :: etypes
    etypes = 4 * request_etypes
    if (with_all) etypes = 5 * request_etypes
  end function individual

  ! ---- shared pointers: all ranks have the same view ----

  ! Ordered accesses are where the ranks' order puts them.
  subroutine ordered(call_name)
    character(len=*), intent(in) :: call_name
    call note_pieces('MPI_File_' // call_name, at + rank * n, n, '')
    if (.not. writing) call compare(at + rank * n, n)
    at = at + ranks * n
    buffer = 0
    if (writing) call fill(at + rank * n, n)
  end subroutine ordered

  ! Of the others MPI alone knows the order. Those of all ranks lie before what is accessed next.
  subroutine unordered(call_name)
    character(len=*), intent(in) :: call_name
    call check(ierror == MPI_SUCCESS)
    call MPI_File_sync(file, ierror)
    call MPI_Barrier(MPI_COMM_WORLD, ierror)
    call note_pieces('MPI_File_' // call_name, at + turn_of(at, n) * n, n, '~')
    call note('MPI_File_sync')
    at = at + ranks * n
    call MPI_Barrier(MPI_COMM_WORLD, ierror)
  end subroutine unordered

  subroutine move_shared()
    writing = .true.
    call fill(at + rank * n, n)
    call MPI_File_write_ordered(file, buffer, n, MPI_BYTE, status, ierror)
    call ordered('write_ordered')
    call MPI_File_write_ordered_begin(file, buffer, n, MPI_BYTE, ierror)
    call MPI_File_write_ordered_end(file, buffer, MPI_STATUS_IGNORE, ierror)
    call ordered('write_ordered_begin')
    call MPI_Barrier(MPI_COMM_WORLD, ierror)
    buffer = int(20 + rank, int8)
    call MPI_File_write_shared(file, buffer, n, MPI_BYTE, MPI_STATUS_IGNORE, ierror)
    call unordered('write_shared')
    buffer = int(40 + rank, int8)
    call MPI_File_iwrite_shared(file, buffer, n, MPI_BYTE, request, ierror)
    call MPI_Wait(request, status, ierror)
    call unordered('iwrite_shared')
    writing = .false.
    call MPI_File_seek_shared(file, int(ranks * request_etypes, ok), MPI_SEEK_SET, ierror)
    call note('MPI_File_seek_shared')
    at = ranks * n
    call MPI_File_read_ordered(file, buffer, n, MPI_BYTE, status, ierror)
    call ordered('read_ordered')
    call MPI_Barrier(MPI_COMM_WORLD, ierror)
    call MPI_File_read_shared(file, buffer, n, MPI_BYTE, status, ierror)
    call unordered('read_shared')
    call MPI_File_iread_shared(file, buffer, n, MPI_BYTE, request, ierror)
    call MPI_Wait(request, MPI_STATUS_IGNORE, ierror)
    call unordered('iread_shared')
    call MPI_File_seek_shared(file, 0_ok, MPI_SEEK_SET, ierror)
    call note('MPI_File_seek_shared')
    at = 0
    call MPI_File_read_ordered_begin(file, buffer, n, MPI_BYTE, ierror)
    call MPI_File_read_ordered_end(file, buffer, status, ierror)
    call ordered('read_ordered_begin')
  end subroutine move_shared
end module accesses
