! omnio.f90: recording of I/O stopped and started from inside a Fortran program.
!
! Compile this file with your program: module files belong to a compiler, so none is installed.
! Nothing has to be linked, and where the program does not run under `omnio trace` the calls have no
! effect. omnio.h says what they mean, and why it is this C function that carries them.
!
!   use omnio
!   call omnio_stop()
!   ...
!   call omnio_start()
module omnio
  use, intrinsic :: iso_c_binding, only: c_int, c_ptr, c_size_t, c_null_ptr
  implicit none
  private
  public :: omnio_start, omnio_stop, omnio_is_recording

  integer(c_size_t), parameter :: control_key = int(z'6f6d6e6d', c_size_t)
  integer(c_int), parameter :: control_stop = int(z'6f0000', c_int)
  integer(c_int), parameter :: control_start = int(z'6f0001', c_int)
  integer(c_int), parameter :: control_query = int(z'6f0002', c_int)
  integer(c_int), parameter :: answer_recording = -1_c_int

  interface
    function control_call(address, length, command) bind(c, name="posix_madvise") result(answer)
      import :: c_int, c_ptr, c_size_t
      type(c_ptr), value :: address
      integer(c_size_t), value :: length
      integer(c_int), value :: command
      integer(c_int) :: answer
    end function control_call
  end interface

contains

  ! Nothing is recorded from now on.
  subroutine omnio_stop()
    integer(c_int) :: answer
    answer = control_call(c_null_ptr, control_key, control_stop)
  end subroutine omnio_stop

  ! Everything is recorded from now on.
  subroutine omnio_start()
    integer(c_int) :: answer
    answer = control_call(c_null_ptr, control_key, control_start)
  end subroutine omnio_start

  ! Whether this process is recorded; false while that is stopped, or without the tracer.
  logical function omnio_is_recording()
    omnio_is_recording = control_call(c_null_ptr, control_key, control_query) == answer_recording
  end function omnio_is_recording

end module omnio
