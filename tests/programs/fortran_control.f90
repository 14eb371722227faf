! Stops and starts its own recording: fortran_control DIRECTORY
program fortran_control
  use omnio
  implicit none
  character(len=4096) :: directory
  integer :: i

  call get_command_argument(1, directory)
  write (*, '(l1)', advance='no') omnio_is_recording()
  open (unit=10, file=trim(directory)//'/before', form='formatted')
  write (10, '(a)') 'recorded'
  close (10)
  call omnio_stop()
  write (*, '(l1)', advance='no') omnio_is_recording()
  open (unit=11, file=trim(directory)//'/stopped', form='formatted')
  do i = 1, 10
    write (11, '(a)') 'not recorded'
  end do
  close (11)
  call omnio_start()
  write (*, '(l1)') omnio_is_recording()
  open (unit=12, file=trim(directory)//'/after', form='formatted')
  write (12, '(a)') 'recorded'
  close (12)
end program fortran_control
