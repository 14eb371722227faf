! The calls of fortran_mpi_calls that make communicators, windows and files, and use them.
#include "fortran_mpi_calls.inc"

subroutine communicators()
  MPI
  use shared
  implicit none
  HEADER
  HANDLE(MPI_Comm) :: made, part, both
  HANDLE(MPI_Group) :: group, half
  HANDLE(MPI_Request) :: request
  integer :: before, behind, color
  before = mod(rank + ranks - 1, ranks)
  behind = mod(rank + 1, ranks)
#define FREED call MPI_Comm_free(made, ierror)
  SOME; call MPI_Comm_dup(MPI_COMM_WORLD, made, ierror); FREED; end do
  SOME; call MPI_Comm_dup_with_info(MPI_COMM_WORLD, MPI_INFO_NULL, made, ierror); FREED; end do
  SOME; call MPI_Comm_idup(MPI_COMM_WORLD, made, request, ierror); WAITED; FREED; end do
  SOME
    color = 1
    if (rank == 0) color = MPI_UNDEFINED
    call MPI_Comm_split(MPI_COMM_WORLD, color, -rank, made, ierror)
    if (rank > 0) call MPI_Comm_disconnect(made, ierror)
  end do
  SOME; call MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, made, ierror); FREED; end do
  call MPI_Comm_group(MPI_COMM_WORLD, group, ierror)
  call MPI_Group_incl(group, 2, [0, 1], half, ierror)
  SOME
    call MPI_Comm_create(MPI_COMM_WORLD, half, made, ierror)
    if (rank < 2) FREED
  end do
  SOME
    if (rank < 2) then
      call MPI_Comm_create_group(MPI_COMM_WORLD, half, 3, made, ierror)
      FREED
    end if
  end do
  call MPI_Group_free(half, ierror)
  call MPI_Group_free(group, ierror)
  SOME
    call MPI_Cart_create(MPI_COMM_WORLD, 2, [ranks / 2, 2], [.false., .true.], .false., made, ierror)
    call MPI_Cart_sub(made, [.false., .true.], part, ierror)
    call MPI_Comm_free(part, ierror)
    FREED
  end do
  SOME
    ! A line: each rank's neighbours are those beside it.
    call graph()
    FREED
  end do
  SOME; call MPI_Dist_graph_create(MPI_COMM_WORLD, 1, [rank], [1], [behind], [1], MPI_INFO_NULL, .false., made, ierror); FREED; end do
  SOME; call MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, [before], [1], 1, [behind], [1], MPI_INFO_NULL, .false., made, ierror); FREED; end do
  SOME
    call MPI_Comm_split(MPI_COMM_WORLD, mod(rank, 2), rank, part, ierror)
    call MPI_Intercomm_create(part, 0, MPI_COMM_WORLD, 1 - mod(rank, 2), 8, both, ierror)
    call MPI_Barrier(both, ierror)
    call MPI_Intercomm_merge(both, mod(rank, 2) == 1, made, ierror)
    FREED
    call MPI_Comm_free(both, ierror)
    call MPI_Comm_free(part, ierror)
  end do
contains
  subroutine graph()
    integer :: index(16), edges(32), i
    do i = 1, ranks
      index(i) = min(2 * i - 1, 2 * ranks - 2)
    end do
    edges(1) = 1
    do i = 2, ranks - 1
      edges(2 * i - 2) = i - 2
      edges(2 * i - 1) = i
    end do
    edges(2 * ranks - 2) = ranks - 2
    call MPI_Graph_create(MPI_COMM_WORLD, ranks, index, edges, .false., made, ierror)
  end subroutine graph
end subroutine communicators

subroutine windows()
  MPI
  use shared
  use, intrinsic :: iso_c_binding, only: c_ptr
  implicit none
  HEADER
  HANDLE(MPI_Win) :: window
  HANDLE(MPI_Group) :: group, mate
  HANDLE(MPI_Request) :: request
  integer, target :: memory(64)
  integer :: with, old(4)
  integer(MPI_ADDRESS_KIND) :: bytes, at
#if defined(USE_MPI_F08) || defined(USE_MPI_MODULE)
  type(c_ptr) :: base
#else
  integer(MPI_ADDRESS_KIND) :: base
#endif
  logical :: flag
  with = ieor(rank, 1)
  bytes = 256
  at = 0
  memory = 0
  SOME; call MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, window, ierror); call MPI_Win_free(window, ierror); end do
  SOME; call MPI_Win_allocate(bytes, 4, MPI_INFO_NULL, MPI_COMM_WORLD, base, window, ierror); call MPI_Win_free(window, ierror); end do
  SOME; call MPI_Win_allocate_shared(bytes, 4, MPI_INFO_NULL, MPI_COMM_WORLD, base, window, ierror); call MPI_Win_free(window, ierror); end do
  call MPI_Win_create(memory, bytes, 4, MPI_INFO_NULL, MPI_COMM_WORLD, window, ierror)
  SOME; call MPI_Win_fence(0, window, ierror); end do
  call MPI_Put(in, 4, MPI_INTEGER, with, at, 4, MPI_INTEGER, window, ierror)
  call MPI_Win_fence(MPI_MODE_NOSUCCEED, window, ierror)
  call MPI_Comm_group(MPI_COMM_WORLD, group, ierror)
  call MPI_Group_incl(group, 1, [with], mate, ierror)
  SOME
    call MPI_Win_post(mate, 0, window, ierror)
    call MPI_Win_start(mate, 0, window, ierror)
    call MPI_Win_complete(window, ierror)
    call MPI_Win_wait(window, ierror)
    call MPI_Win_post(mate, 0, window, ierror)
    call MPI_Win_start(mate, 0, window, ierror)
    call MPI_Win_complete(window, ierror)
    flag = .false.
    do while (.not. flag)
      call MPI_Win_test(window, flag, ierror)
    end do
  end do
  call MPI_Group_free(mate, ierror)
  call MPI_Group_free(group, ierror)
  SOME; call MPI_Win_lock(MPI_LOCK_SHARED, with, 0, window, ierror); call MPI_Win_unlock(with, window, ierror); end do
  call MPI_Win_lock_all(0, window, ierror)
#define TARGET with, at, 4, MPI_INTEGER,
  SOME; call MPI_Put(I4 TARGET window, ierror); end do
  SOME; call MPI_Get(O4 TARGET window, ierror); end do
  SOME; call MPI_Accumulate(I4 TARGET MPI_SUM, window, ierror); end do
  SOME; call MPI_Get_accumulate(I4 old, 4, MPI_INTEGER, TARGET MPI_SUM, window, ierror); end do
  SOME; call MPI_Fetch_and_op(in, old, MPI_INTEGER, with, at, MPI_SUM, window, ierror); end do
  SOME; call MPI_Compare_and_swap(in, out, old, MPI_INTEGER, with, at, window, ierror); end do
  SOME; call MPI_Rput(I4 TARGET window, request, ierror); WAITED; end do
  SOME; call MPI_Rget(O4 TARGET window, request, ierror); WAITED; end do
  SOME; call MPI_Raccumulate(I4 TARGET MPI_SUM, window, request, ierror); WAITED; end do
  SOME; call MPI_Rget_accumulate(I4 old, 4, MPI_INTEGER, TARGET MPI_SUM, window, request, ierror); WAITED; end do
  SOME; call MPI_Win_flush(with, window, ierror); end do
  SOME; call MPI_Win_flush_all(window, ierror); end do
  SOME; call MPI_Win_flush_local(with, window, ierror); end do
  SOME; call MPI_Win_flush_local_all(window, ierror); end do
  call MPI_Win_unlock_all(window, ierror)
  call MPI_Barrier(MPI_COMM_WORLD, ierror)
  call MPI_Win_free(window, ierror)
end subroutine windows

subroutine files(path, nonblocking_collectives)
  MPI
  use shared
  implicit none
  HEADER
  character(len=*), intent(in) :: path
  logical, intent(in) :: nonblocking_collectives
  STATUS
  HANDLE(MPI_File) :: file
  HANDLE(MPI_Info) :: info
  HANDLE(MPI_Request) :: request
  integer(MPI_OFFSET_KIND) :: at, zero, size
  zero = 0
  size = 65536
  at = rank * 4
  call MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_CREATE + MPI_MODE_RDWR, MPI_INFO_NULL, file, ierror)
  SOME; call MPI_File_set_view(file, zero, MPI_INTEGER, MPI_INTEGER, 'native', MPI_INFO_NULL, ierror); end do
  SOME; call MPI_File_set_size(file, size, ierror); end do
  SOME; call MPI_File_preallocate(file, size, ierror); end do
  call MPI_Info_create(info, ierror)
  SOME; call MPI_File_set_info(file, info, ierror); end do
  call MPI_Info_free(info, ierror)
  SOME; call MPI_File_set_atomicity(file, .false., ierror); end do
  SOME; call MPI_File_write_at(file, at, I4 status, ierror); end do
  SOME; call MPI_File_read_at(file, at, O4 status, ierror); end do
  SOME; call MPI_File_write_at_all(file, at, I4 MPI_STATUS_IGNORE, ierror); end do
  SOME; call MPI_File_read_at_all(file, at, O4 status, ierror); end do
  SOME; call MPI_File_seek(file, at, MPI_SEEK_SET, ierror); end do
  SOME; call MPI_File_write(file, I4 status, ierror); end do
  SOME; call MPI_File_write_all(file, I4 status, ierror); end do
  SOME; call MPI_File_read(file, O4 status, ierror); end do
  SOME; call MPI_File_read_all(file, O4 status, ierror); end do
  SOME; call MPI_File_iwrite(file, I4 request, ierror); WAITED; end do
  SOME; call MPI_File_iread(file, O4 request, ierror); WAITED; end do
  SOME; call MPI_File_iwrite_at(file, at, I4 request, ierror); WAITED; end do
  SOME; call MPI_File_iread_at(file, at, O4 request, ierror); WAITED; end do
  if (nonblocking_collectives) then
    SOME; call MPI_File_iwrite_all(file, I4 request, ierror); WAITED; end do
    SOME; call MPI_File_iread_all(file, O4 request, ierror); WAITED; end do
    SOME; call MPI_File_iwrite_at_all(file, at, I4 request, ierror); WAITED; end do
    SOME; call MPI_File_iread_at_all(file, at, O4 request, ierror); WAITED; end do
  end if
  SOME; call MPI_File_write_all_begin(file, I4 ierror); call MPI_File_write_all_end(file, in, status, ierror); end do
  SOME; call MPI_File_read_all_begin(file, O4 ierror); call MPI_File_read_all_end(file, out, status, ierror); end do
  SOME; call MPI_File_write_at_all_begin(file, at, I4 ierror); call MPI_File_write_at_all_end(file, in, status, ierror); end do
  SOME; call MPI_File_read_at_all_begin(file, at, O4 ierror); call MPI_File_read_at_all_end(file, out, status, ierror); end do
  SOME; call MPI_File_write_shared(file, I4 status, ierror); end do
  SOME; call MPI_File_write_ordered(file, I4 status, ierror); end do
  SOME; call MPI_File_iwrite_shared(file, I4 request, ierror); WAITED; end do
  SOME; call MPI_File_write_ordered_begin(file, I4 ierror); call MPI_File_write_ordered_end(file, in, status, ierror); end do
  SOME; call MPI_File_seek_shared(file, zero, MPI_SEEK_SET, ierror); end do
  SOME; call MPI_File_read_shared(file, O4 status, ierror); end do
  SOME; call MPI_File_read_ordered(file, O4 status, ierror); end do
  SOME; call MPI_File_iread_shared(file, O4 request, ierror); WAITED; end do
  SOME; call MPI_File_read_ordered_begin(file, O4 ierror); call MPI_File_read_ordered_end(file, out, status, ierror); end do
  SOME; call MPI_File_sync(file, ierror); end do
  call MPI_File_close(file, ierror)
#ifndef WITH_MPICH
  ! MPICH 4.0's mpif.h and mpi look at the handle of a file that was not opened.
  SOME; call MPI_File_open(MPI_COMM_WORLD, '/nowhere/at/all', MPI_MODE_RDONLY, MPI_INFO_NULL, file, ierror); end do
#endif
  call MPI_Barrier(MPI_COMM_WORLD, ierror)
  if (rank == 0) call MPI_File_delete(path, MPI_INFO_NULL, ierror)
end subroutine files
