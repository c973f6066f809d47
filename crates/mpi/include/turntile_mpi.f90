!> Fortran interface of turntile_mpi.h, which documents the call. Compile it with the program.
module turntile_mpi
    implicit none

    interface
        integer(c_int) function turntile_mpi_transpose_f(data, data_bytes, row_parts, col_parts, itemsize, comm) bind(c)
            use, intrinsic :: iso_c_binding, only: c_int, c_size_t
            type(*), intent(inout) :: data(*)
            integer(c_size_t), value :: data_bytes, itemsize
            integer(c_size_t), intent(in) :: row_parts(*), col_parts(*)
            integer(c_int), value :: comm !< of mpi_f08: comm%MPI_VAL
        end function
    end interface
end module
