! Transposes a Fortran matrix in place through the C interface. Fortran's order is the other one: a matrix a(rows, cols)
! is a row-major one of cols by rows.
program transpose_in_place
    use, intrinsic :: iso_c_binding
    implicit none

    interface
        integer(c_int) function turntile_transpose(data, rows, cols, elem_bytes) bind(c)
            import :: c_int, c_ptr, c_size_t
            type(c_ptr), value :: data
            integer(c_size_t), value :: rows, cols, elem_bytes
        end function
    end interface

    integer, parameter :: rows = 300, cols = 200
    real(c_double), target :: a(rows, cols)
    real(c_double), pointer :: b(:, :)
    integer :: i, j

    do j = 1, cols
        do i = 1, rows
            a(i, j) = 1000 * i + j
        end do
    end do
    if (turntile_transpose(c_loc(a), int(cols, c_size_t), int(rows, c_size_t), 8_c_size_t) /= 0) error stop 'turntile'
    call c_f_pointer(c_loc(a), b, [cols, rows])
    print '(a, 2f9.0)', 'b(2, 1), b(1, 300) =', b(2, 1), b(1, 300)
    do j = 1, cols
        do i = 1, rows
            if (b(j, i) /= 1000 * i + j) error stop 'an element is wrong'
        end do
    end do
end program
