! Variables through HDF5's Fortran library, each written and read from its own line of code, in
! several turns, by procedures of a module: how many call stacks the tracer tells apart.
!
!   fortran_stacks_hdf5 FILE
module variables
  use hdf5
  implicit none
  integer, parameter :: count_of_variables = 30, turns = 4, most_elements = 512
  integer(hid_t) :: sets(count_of_variables), rows(count_of_variables), memory(count_of_variables)
  real(8), target :: values(most_elements)
contains
  pure integer function elements_of(variable)
    integer, intent(in) :: variable
    elements_of = 100 + 10 * variable
  end function

  pure real(8) function value_of(variable, turn, i)
    integer, intent(in) :: variable, turn, i
    value_of = variable + 0.001d0 * i + 100d0 * turn
  end function

  subroutine check(error)
    integer, intent(in) :: error
    if (error /= 0) stop 70
  end subroutine

  ! Chooses where the variable is in the file in that turn, and makes its data.
  subroutine prepare(variable, turn)
    integer, intent(in) :: variable, turn
    integer(hsize_t) :: start(2), counts(2)
    integer :: error, i
    start = [0_hsize_t, int(turn - 1, hsize_t)]
    counts = [int(elements_of(variable), hsize_t), 1_hsize_t]
    call h5sselect_hyperslab_f(rows(variable), H5S_SELECT_SET_F, start, counts, error)
    call check(error)
    do i = 1, elements_of(variable)
      values(i) = value_of(variable, turn, i)
    end do
  end subroutine

  subroutine empty(variable, turn)
    integer, intent(in) :: variable, turn
    call prepare(variable, turn)
    values = -1
  end subroutine

  subroutine compare(variable, turn)
    integer, intent(in) :: variable, turn
    integer :: i
    do i = 1, elements_of(variable)
      if (abs(values(i) - value_of(variable, turn, i)) > 1d-9) stop 71
    end do
  end subroutine

  function extent_of(variable) result(extent)
    integer, intent(in) :: variable
    integer(hsize_t) :: extent(1)
    extent = [int(elements_of(variable), hsize_t)]
  end function

  subroutine write_fields(turn)
    integer, intent(in) :: turn
    integer :: error
    call prepare(1, turn)
    call h5dwrite_f(sets(1), H5T_NATIVE_DOUBLE, values, extent_of(1), error, memory(1), rows(1))
    call check(error)
    call prepare(2, turn)
    call h5dwrite_f(sets(2), H5T_NATIVE_DOUBLE, values, extent_of(2), error, memory(2), rows(2))
    call check(error)
    call prepare(3, turn)
    call h5dwrite_f(sets(3), H5T_NATIVE_DOUBLE, values, extent_of(3), error, memory(3), rows(3))
    call check(error)
    call prepare(4, turn)
    call h5dwrite_f(sets(4), H5T_NATIVE_DOUBLE, values, extent_of(4), error, memory(4), rows(4))
    call check(error)
    call prepare(5, turn)
    call h5dwrite_f(sets(5), H5T_NATIVE_DOUBLE, values, extent_of(5), error, memory(5), rows(5))
    call check(error)
    call prepare(6, turn)
    call h5dwrite_f(sets(6), H5T_NATIVE_DOUBLE, values, extent_of(6), error, memory(6), rows(6))
    call check(error)
    call prepare(7, turn)
    call h5dwrite_f(sets(7), H5T_NATIVE_DOUBLE, values, extent_of(7), error, memory(7), rows(7))
    call check(error)
    call prepare(8, turn)
    call h5dwrite_f(sets(8), H5T_NATIVE_DOUBLE, values, extent_of(8), error, memory(8), rows(8))
    call check(error)
    call prepare(9, turn)
    call h5dwrite_f(sets(9), H5T_NATIVE_DOUBLE, values, extent_of(9), error, memory(9), rows(9))
    call check(error)
    call prepare(10, turn)
    call h5dwrite_f(sets(10), H5T_NATIVE_DOUBLE, values, extent_of(10), error, memory(10), rows(10))
    call check(error)
  end subroutine

  subroutine write_particles(turn)
    integer, intent(in) :: turn
    integer :: error
    call prepare(11, turn)
    call h5dwrite_f(sets(11), H5T_NATIVE_DOUBLE, values, extent_of(11), error, memory(11), rows(11))
    call check(error)
    call prepare(12, turn)
    call h5dwrite_f(sets(12), H5T_NATIVE_DOUBLE, values, extent_of(12), error, memory(12), rows(12))
    call check(error)
    call prepare(13, turn)
    call h5dwrite_f(sets(13), H5T_NATIVE_DOUBLE, values, extent_of(13), error, memory(13), rows(13))
    call check(error)
    call prepare(14, turn)
    call h5dwrite_f(sets(14), H5T_NATIVE_DOUBLE, values, extent_of(14), error, memory(14), rows(14))
    call check(error)
    call prepare(15, turn)
    call h5dwrite_f(sets(15), H5T_NATIVE_DOUBLE, values, extent_of(15), error, memory(15), rows(15))
    call check(error)
    call prepare(16, turn)
    call h5dwrite_f(sets(16), H5T_NATIVE_DOUBLE, values, extent_of(16), error, memory(16), rows(16))
    call check(error)
    call prepare(17, turn)
    call h5dwrite_f(sets(17), H5T_NATIVE_DOUBLE, values, extent_of(17), error, memory(17), rows(17))
    call check(error)
    call prepare(18, turn)
    call h5dwrite_f(sets(18), H5T_NATIVE_DOUBLE, values, extent_of(18), error, memory(18), rows(18))
    call check(error)
    call prepare(19, turn)
    call h5dwrite_f(sets(19), H5T_NATIVE_DOUBLE, values, extent_of(19), error, memory(19), rows(19))
    call check(error)
    call prepare(20, turn)
    call h5dwrite_f(sets(20), H5T_NATIVE_DOUBLE, values, extent_of(20), error, memory(20), rows(20))
    call check(error)
  end subroutine

  subroutine write_diagnostics(turn)
    integer, intent(in) :: turn
    integer :: error
    call prepare(21, turn)
    call h5dwrite_f(sets(21), H5T_NATIVE_DOUBLE, values, extent_of(21), error, memory(21), rows(21))
    call check(error)
    call prepare(22, turn)
    call h5dwrite_f(sets(22), H5T_NATIVE_DOUBLE, values, extent_of(22), error, memory(22), rows(22))
    call check(error)
    call prepare(23, turn)
    call h5dwrite_f(sets(23), H5T_NATIVE_DOUBLE, values, extent_of(23), error, memory(23), rows(23))
    call check(error)
    call prepare(24, turn)
    call h5dwrite_f(sets(24), H5T_NATIVE_DOUBLE, values, extent_of(24), error, memory(24), rows(24))
    call check(error)
    call prepare(25, turn)
    call h5dwrite_f(sets(25), H5T_NATIVE_DOUBLE, values, extent_of(25), error, memory(25), rows(25))
    call check(error)
    call prepare(26, turn)
    call h5dwrite_f(sets(26), H5T_NATIVE_DOUBLE, values, extent_of(26), error, memory(26), rows(26))
    call check(error)
    call prepare(27, turn)
    call h5dwrite_f(sets(27), H5T_NATIVE_DOUBLE, values, extent_of(27), error, memory(27), rows(27))
    call check(error)
    call prepare(28, turn)
    call h5dwrite_f(sets(28), H5T_NATIVE_DOUBLE, values, extent_of(28), error, memory(28), rows(28))
    call check(error)
    call prepare(29, turn)
    call h5dwrite_f(sets(29), H5T_NATIVE_DOUBLE, values, extent_of(29), error, memory(29), rows(29))
    call check(error)
    call prepare(30, turn)
    call h5dwrite_f(sets(30), H5T_NATIVE_DOUBLE, values, extent_of(30), error, memory(30), rows(30))
    call check(error)
  end subroutine

  subroutine read_turn(turn)
    integer, intent(in) :: turn
    integer :: error
    call empty(1, turn)
    call h5dread_f(sets(1), H5T_NATIVE_DOUBLE, values, extent_of(1), error, memory(1), rows(1))
    call compare(1, turn)
    call empty(2, turn)
    call h5dread_f(sets(2), H5T_NATIVE_DOUBLE, values, extent_of(2), error, memory(2), rows(2))
    call compare(2, turn)
    call empty(3, turn)
    call h5dread_f(sets(3), H5T_NATIVE_DOUBLE, values, extent_of(3), error, memory(3), rows(3))
    call compare(3, turn)
    call empty(4, turn)
    call h5dread_f(sets(4), H5T_NATIVE_DOUBLE, values, extent_of(4), error, memory(4), rows(4))
    call compare(4, turn)
    call empty(5, turn)
    call h5dread_f(sets(5), H5T_NATIVE_DOUBLE, values, extent_of(5), error, memory(5), rows(5))
    call compare(5, turn)
    call empty(6, turn)
    call h5dread_f(sets(6), H5T_NATIVE_DOUBLE, values, extent_of(6), error, memory(6), rows(6))
    call compare(6, turn)
    call empty(7, turn)
    call h5dread_f(sets(7), H5T_NATIVE_DOUBLE, values, extent_of(7), error, memory(7), rows(7))
    call compare(7, turn)
    call empty(8, turn)
    call h5dread_f(sets(8), H5T_NATIVE_DOUBLE, values, extent_of(8), error, memory(8), rows(8))
    call compare(8, turn)
    call empty(9, turn)
    call h5dread_f(sets(9), H5T_NATIVE_DOUBLE, values, extent_of(9), error, memory(9), rows(9))
    call compare(9, turn)
    call empty(10, turn)
    call h5dread_f(sets(10), H5T_NATIVE_DOUBLE, values, extent_of(10), error, memory(10), rows(10))
    call compare(10, turn)
    call empty(11, turn)
    call h5dread_f(sets(11), H5T_NATIVE_DOUBLE, values, extent_of(11), error, memory(11), rows(11))
    call compare(11, turn)
    call empty(12, turn)
    call h5dread_f(sets(12), H5T_NATIVE_DOUBLE, values, extent_of(12), error, memory(12), rows(12))
    call compare(12, turn)
    call empty(13, turn)
    call h5dread_f(sets(13), H5T_NATIVE_DOUBLE, values, extent_of(13), error, memory(13), rows(13))
    call compare(13, turn)
    call empty(14, turn)
    call h5dread_f(sets(14), H5T_NATIVE_DOUBLE, values, extent_of(14), error, memory(14), rows(14))
    call compare(14, turn)
    call empty(15, turn)
    call h5dread_f(sets(15), H5T_NATIVE_DOUBLE, values, extent_of(15), error, memory(15), rows(15))
    call compare(15, turn)
    call empty(16, turn)
    call h5dread_f(sets(16), H5T_NATIVE_DOUBLE, values, extent_of(16), error, memory(16), rows(16))
    call compare(16, turn)
    call empty(17, turn)
    call h5dread_f(sets(17), H5T_NATIVE_DOUBLE, values, extent_of(17), error, memory(17), rows(17))
    call compare(17, turn)
    call empty(18, turn)
    call h5dread_f(sets(18), H5T_NATIVE_DOUBLE, values, extent_of(18), error, memory(18), rows(18))
    call compare(18, turn)
    call empty(19, turn)
    call h5dread_f(sets(19), H5T_NATIVE_DOUBLE, values, extent_of(19), error, memory(19), rows(19))
    call compare(19, turn)
    call empty(20, turn)
    call h5dread_f(sets(20), H5T_NATIVE_DOUBLE, values, extent_of(20), error, memory(20), rows(20))
    call compare(20, turn)
    call empty(21, turn)
    call h5dread_f(sets(21), H5T_NATIVE_DOUBLE, values, extent_of(21), error, memory(21), rows(21))
    call compare(21, turn)
    call empty(22, turn)
    call h5dread_f(sets(22), H5T_NATIVE_DOUBLE, values, extent_of(22), error, memory(22), rows(22))
    call compare(22, turn)
    call empty(23, turn)
    call h5dread_f(sets(23), H5T_NATIVE_DOUBLE, values, extent_of(23), error, memory(23), rows(23))
    call compare(23, turn)
    call empty(24, turn)
    call h5dread_f(sets(24), H5T_NATIVE_DOUBLE, values, extent_of(24), error, memory(24), rows(24))
    call compare(24, turn)
    call empty(25, turn)
    call h5dread_f(sets(25), H5T_NATIVE_DOUBLE, values, extent_of(25), error, memory(25), rows(25))
    call compare(25, turn)
    call empty(26, turn)
    call h5dread_f(sets(26), H5T_NATIVE_DOUBLE, values, extent_of(26), error, memory(26), rows(26))
    call compare(26, turn)
    call empty(27, turn)
    call h5dread_f(sets(27), H5T_NATIVE_DOUBLE, values, extent_of(27), error, memory(27), rows(27))
    call compare(27, turn)
    call empty(28, turn)
    call h5dread_f(sets(28), H5T_NATIVE_DOUBLE, values, extent_of(28), error, memory(28), rows(28))
    call compare(28, turn)
    call empty(29, turn)
    call h5dread_f(sets(29), H5T_NATIVE_DOUBLE, values, extent_of(29), error, memory(29), rows(29))
    call compare(29, turn)
    call empty(30, turn)
    call h5dread_f(sets(30), H5T_NATIVE_DOUBLE, values, extent_of(30), error, memory(30), rows(30))
    call compare(30, turn)
  end subroutine
end module

program fortran_stacks_hdf5
  use variables
  implicit none
  integer(hid_t) :: file, creation, access
  integer :: error, i, turn
  ! Not known to the compiler, which would make several calls of the one in a loop.
  integer, volatile :: turns_of_run = turns
  integer(hsize_t) :: extent(2)
  character(len=4096) :: path
  character(len=3) :: name
  call get_command_argument(1, path)
  call h5open_f(error)
  ! Else small parts are written when the file is closed.
  call h5pcreate_f(H5P_FILE_ACCESS_F, access, error)
  call h5pset_sieve_buf_size_f(access, 1_size_t, error)
  call check(error)
  call h5fcreate_f(trim(path), H5F_ACC_TRUNC_F, file, error, access_prp=access)
  call check(error)
  call h5pcreate_f(H5P_DATASET_CREATE_F, creation, error)
  ! Else no two runs write the same.
  call h5pset_obj_track_times_f(creation, .false., error)
  call check(error)
  do i = 1, count_of_variables
    extent = [int(elements_of(i), hsize_t), int(turns, hsize_t)]
    write (name, "('v', i2.2)") i
    call h5screate_simple_f(2, extent, rows(i), error)
    call h5screate_simple_f(1, extent(1:1), memory(i), error)
    call h5dcreate_f(file, name, H5T_NATIVE_DOUBLE, rows(i), sets(i), error, creation)
    call check(error)
  end do
  do turn = 1, turns_of_run
    call write_fields(turn)
    call write_particles(turn)
    call write_diagnostics(turn)
  end do
  do turn = 1, turns_of_run
    call read_turn(turn)
  end do
  do i = 1, count_of_variables
    call h5sclose_f(rows(i), error)
    call h5sclose_f(memory(i), error)
    call h5dclose_f(sets(i), error)
  end do
  call h5pclose_f(creation, error)
  call h5pclose_f(access, error)
  call h5fclose_f(file, error)
  call check(error)
  print "(i0, ' variables')", count_of_variables
end program
