! Writes of Fortran procedures, by the C library's pwrite and by the language's own statements.
!
!   fortran_callstack FILE
module places
  use, intrinsic :: iso_c_binding
  implicit none
  integer(c_int) :: file
  integer :: records = 0
  interface
    function c_open(path, flags, mode) bind(C, name="open")
      import
      character(kind=c_char), intent(in) :: path(*)
      integer(c_int), value :: flags, mode
      integer(c_int) :: c_open
    end function
    function c_pwrite(to, data, bytes, place) bind(C, name="pwrite")
      import
      integer(c_int), value :: to
      character(kind=c_char), intent(in) :: data(*)
      integer(c_size_t), value :: bytes
      integer(c_long), value :: place
      integer(c_size_t) :: c_pwrite
    end function
  end interface
contains
  subroutine put(chain) bind(C, name="fortran_put")
    character(kind=c_char), intent(in) :: chain(64)
    integer(c_size_t) :: moved
    moved = c_pwrite(file, chain, 64_c_size_t, int(records, c_long) * 64_c_long)
    if (moved /= 64) stop 3
    records = records + 1
  end subroutine

  subroutine step() bind(C, name="fortran_step")
    call put(padded("0 fortran_put fortran_step"))
    call put(padded("0 fortran_put fortran_step"))
    records = records + 0
  end subroutine

  function padded(words)
    character(len=*), intent(in) :: words
    character(kind=c_char) :: padded(64)
    integer :: i
    padded = c_null_char
    do i = 1, len(words)
      padded(i) = words(i:i)
    end do
  end function
end module

program callstack
  use places
  implicit none
  character(len=1024) :: path
  character(kind=c_char) :: c_path(1025)
  integer :: i
  call get_command_argument(1, path)
  c_path = c_null_char
  do i = 1, len_trim(path)
    c_path(i) = path(i:i)
  end do
  file = c_open(c_path, 1 + 64 + 512, 420)
  do i = 1, 3
    call step()
  end do
  open(unit=20, file=trim(path) // ".fortran", form="unformatted", access="stream")
  do i = 1, 3
    write(20) i
    flush(20)
  end do
  close(20)
end program
