! Transposes a matrix over processes in place: a(cols, local rows) becomes b(rows, local cols).
! The library sees both as row-major matrices.
program transpose_over_processes
    use, intrinsic :: iso_c_binding
    use mpi
    use turntile_mpi
    implicit none

    integer, parameter :: rows = 30, cols = 20
    real(c_double), allocatable :: part(:)
    integer(c_size_t), allocatable :: row_parts(:), col_parts(:)
    integer :: rank, ranks, given, error, i, j, first, capacity

    call MPI_Init_thread(MPI_THREAD_FUNNELED, given, error)
    call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
    call MPI_Comm_size(MPI_COMM_WORLD, ranks, error)
    allocate (row_parts(ranks), col_parts(ranks))
    row_parts = [(int(rows * (i + 1) / ranks - rows * i / ranks, c_size_t), i = 0, ranks - 1)]
    col_parts = [(int(cols * (i + 1) / ranks - cols * i / ranks, c_size_t), i = 0, ranks - 1)]
    capacity = max(int(row_parts(rank + 1)) * cols, int(col_parts(rank + 1)) * rows)
    allocate (part(capacity))
    first = rows * rank / ranks * cols
    part = [(real(first + i, c_double), i = 0, capacity - 1)]

    if (turntile_mpi_transpose_f(part, int(8 * capacity, c_size_t), row_parts, col_parts, 8_c_size_t, &
                                 MPI_COMM_WORLD) /= 0) call MPI_Abort(MPI_COMM_WORLD, 1, error)
    do j = 0, int(col_parts(rank + 1)) - 1
        do i = 0, rows - 1
            if (part(j * rows + i + 1) /= i * cols + cols * rank / ranks + j) call MPI_Abort(MPI_COMM_WORLD, 2, error)
        end do
    end do
    if (rank == 0) print '(a, i0, a)', 'Fortran over ', ranks, ' processes'
    call MPI_Finalize(error)
end program
