!> Fortran interface of turntile.h, which documents the calls. Compile it with the program:
!>     gfortran PREFIX/include/turntile.f90 program.f90 -lturntile
!> turntile.h is row-major: pass the sizes of a Fortran array in reverse order. Axes count from 0.
module turntile
    use, intrinsic :: iso_c_binding, only: c_int, c_ptr, c_size_t
    implicit none
    private :: c_int, c_ptr, c_size_t

    interface
        integer(c_int) function turntile_transpose(data, rows, cols, itemsize) bind(c)
            import :: c_int, c_size_t
            type(*), intent(inout) :: data(*)
            integer(c_size_t), value :: rows, cols, itemsize
        end function

        integer(c_int) function turntile_permute(data, ndim, shape, axes, itemsize) bind(c)
            import :: c_int, c_size_t
            type(*), intent(inout) :: data(*)
            integer(c_size_t), value :: ndim, itemsize
            integer(c_size_t), intent(in) :: shape(*), axes(*)
        end function

        integer(c_int) function turntile_transpose_copy(src, dst, rows, cols, itemsize) bind(c)
            import :: c_int, c_size_t
            type(*), intent(in) :: src(*)
            type(*), intent(inout) :: dst(*)
            integer(c_size_t), value :: rows, cols, itemsize
        end function

        type(c_ptr) function turntile_last_error() bind(c)
            import :: c_ptr
        end function
    end interface
end module
