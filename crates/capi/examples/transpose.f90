! Transposes a Fortran matrix in place. a(rows, cols) is a row-major matrix of cols by rows.
program transpose_in_place
    use, intrinsic :: iso_c_binding
    use turntile
    implicit none

    integer(c_size_t), parameter :: rows = 300, cols = 200
    real(c_double), target :: a(rows, cols)
    real(c_double), pointer :: b(:, :)
    integer :: i, j

    do j = 1, cols
        do i = 1, rows
            a(i, j) = 1000 * i + j
        end do
    end do
    if (turntile_transpose(a, cols, rows, 8_c_size_t) /= 0) error stop 'turntile_transpose'
    call c_f_pointer(c_loc(a), b, [cols, rows])
    print '(a, 2f9.0)', 'b(2, 1), b(1, 300) =', b(2, 1), b(1, 300)
    do j = 1, rows
        do i = 1, cols
            if (b(i, j) /= 1000 * j + i) error stop 'an element is wrong'
        end do
    end do
end program
