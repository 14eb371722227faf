! Fortran's own kinds of files: sequential formatted, sequential unformatted, stream and direct.
!
!   fortran_io DIRECTORY
program fortran_io
  use, intrinsic :: iso_fortran_env, only: error_unit, int32, real64
  implicit none
  character(len=4096) :: directory
  character(len=80) :: line
  integer(int32) :: i, number, status
  real(real64) :: value, back(1000)
  integer :: unit

  call get_command_argument(1, directory)
  if (len_trim(directory) == 0) then
    write (error_unit, '(a)') 'usage: fortran_io DIRECTORY'
    stop 2
  end if

  open (newunit=unit, file=trim(directory)//'/formatted.txt', status='replace', action='readwrite')
  do i = 1, 500
    write (unit, '(a,i6,f12.4)') 'line', i, i / 8.0_real64
  end do
  flush (unit)
  rewind (unit)
  do i = 1, 500
    read (unit, '(a4,i6,f12.4)') line, number, value
    if (number /= i) stop 70
  end do
  close (unit)

  open (newunit=unit, file=trim(directory)//'/formatted.txt', status='old', position='append')
  write (unit, '(a)') 'appended'
  close (unit)

  open (newunit=unit, file=trim(directory)//'/unformatted.dat', form='unformatted', &
        status='replace')
  do i = 1, 20
    write (unit) (i + real(number, real64), number=1, 1000)
  end do
  rewind (unit)
  do i = 1, 20
    read (unit) back
    if (back(1000) /= i + 1000.0_real64) stop 71
  end do
  backspace (unit)
  read (unit) back
  close (unit)

  open (newunit=unit, file=trim(directory)//'/stream.dat', form='unformatted', access='stream', &
        status='replace')
  do i = 1, 100
    write (unit) i
  end do
  read (unit, pos=4 * 49 + 1) number
  if (number /= 50) stop 72
  write (unit, pos=4 * 9 + 1) (-1_int32)
  close (unit)

  open (newunit=unit, file=trim(directory)//'/direct.dat', form='unformatted', access='direct', &
        recl=64, status='replace')
  do i = 50, 1, -1
    write (unit, rec=i) i
  end do
  read (unit, rec=17) number
  if (number /= 17) stop 73
  close (unit)

  open (newunit=unit, file=trim(directory)//'/missing.txt', status='old', iostat=status)
  if (status == 0) stop 74
end program fortran_io
