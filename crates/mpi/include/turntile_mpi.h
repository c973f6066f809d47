/* turntile for arrays that are cut over processes of MPI: transposed, or their axes permuted, each process's part in its own
 * buffer. Include <mpi.h> and link with the MPI that the library was built for.
 *
 *     size_t rows[P], cols[P], bytes;                // P processes; a matrix of 300 x 200
 *     turntile_mpi_balanced(rows, 300, comm);        // or any other parts that add up, zeros too
 *     turntile_mpi_balanced(cols, 200, comm);
 *     turntile_mpi_capacity(&bytes, rows, cols, sizeof(double), comm);
 *     double *part = malloc(bytes);                  // begins with rows[me] rows of 200
 *     if (turntile_mpi_transpose(part, bytes, rows, cols, sizeof(double), comm) != TURNTILE_SUCCESS)
 *         fputs(turntile_mpi_last_error(), stderr);
 *     // begins with cols[me] rows of 300
 *
 * turntile_mpi_transpose() and turntile_mpi_permute() are called by all processes of `comm`, with the same arguments but for
 * the buffer; they talk in a duplicate of `comm`. MPI is initialised, with MPI_THREAD_FUNNELED or more: their own threads call no
 * MPI. What is wrong on one process is an error of all, with everything as it was, but for TURNTILE_ERROR_LOST. After
 * TURNTILE_ERROR_INTERNAL, a defect, other processes may wait for this one: end the job. What MPI finds wrong with `comm` itself
 * goes to the error handler of `comm`, which ends the job unless the program has set another.
 *
 * Licensed under MIT or Apache-2.0, as you like. */
#ifndef TURNTILE_MPI_H
#define TURNTILE_MPI_H

#include <mpi.h>
#include <turntile.h>

#ifdef __cplusplus
extern "C" {
#endif

/* As turntile_last_error(), of the calls here. */
const char *turntile_mpi_last_error(void);

/* Cuts an extent into parts of the processes of `comm`, a number for each: parts that differ by no more than one, the larger
 * first (numpy.array_split); or parts of the extent over the processes, rounded up, as long as there is any (FFTW, PyTorch). */
turntile_status turntile_mpi_balanced(size_t *parts, size_t extent, MPI_Comm comm);
turntile_status turntile_mpi_blocks(size_t *parts, size_t extent, MPI_Comm comm);

/* Transposes a row-major matrix that is cut along its rows: process r has row_parts[r] of them before, and col_parts[r] rows of
 * the transpose after. `data` has turntile_mpi_capacity() bytes or more. Beside them a process takes 2% and 1 MiB a thread for
 * what it does alone, and a message of at most 4 MiB. */
turntile_status turntile_mpi_transpose(void *data, size_t data_bytes, const size_t *row_parts, const size_t *col_parts,
                                       size_t elem_bytes, MPI_Comm comm);

/* The same for Fortran, where a communicator is a number. */
turntile_status turntile_mpi_transpose_fortran(void *data, size_t data_bytes, const size_t *row_parts, const size_t *col_parts,
                                               size_t elem_bytes, MPI_Fint comm);

/* Bytes that the calling process's buffer needs: the larger of its parts before and after. Nobody waits for anybody. */
turntile_status turntile_mpi_capacity(size_t *bytes, const size_t *row_parts, const size_t *col_parts, size_t elem_bytes,
                                      MPI_Comm comm);

/* The same for an array of `rank` axes, which are permuted as by turntile_permute(). It is cut along axis cut_before of
 * `extents`, the result along its own axis cut_after. */
turntile_status turntile_mpi_permute(void *data, size_t data_bytes, size_t rank, const size_t *extents, const size_t *axes,
                                     size_t elem_bytes, size_t cut_before, const size_t *parts_before, size_t cut_after,
                                     const size_t *parts_after, MPI_Comm comm);
turntile_status turntile_mpi_permute_capacity(size_t *bytes, size_t rank, const size_t *extents, const size_t *axes,
                                              size_t elem_bytes, size_t cut_before, const size_t *parts_before,
                                              size_t cut_after, const size_t *parts_after, MPI_Comm comm);

#ifdef __cplusplus
}
#endif

#endif
