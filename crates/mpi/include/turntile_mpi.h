/* turntile over MPI processes: transposes arrays, or permutes their axes, in place. Each process
 * stores its part in its own buffer. Link with the MPI library that this library was built for.
 *
 *     size_t rows[P], cols[P], bytes;                // P processes, a 300 x 200 matrix
 *     turntile_mpi_balanced(rows, 300, comm);        // or other sizes with the same sum, 0 allowed
 *     turntile_mpi_balanced(cols, 200, comm);
 *     turntile_mpi_capacity(&bytes, rows, cols, sizeof(double), comm);
 *     double *part = malloc(bytes);                  // starts with rows[me] rows of 200 elements
 *     if (turntile_mpi_transpose(part, bytes, rows, cols, sizeof(double), comm) != TURNTILE_SUCCESS)
 *         fputs(turntile_mpi_last_error(), stderr);
 *     // part now starts with cols[me] rows of 300 elements
 *
 * turntile_mpi_transpose() and turntile_mpi_permute() are collective: all processes of `comm` call
 * them, with the same arguments except the buffer. Messages use a duplicate of `comm`. MPI must be
 * initialised with MPI_THREAD_FUNNELED or more: the library's own threads do not call MPI.
 *
 * If one process fails before the exchange, all processes return an error and no data have moved.
 * After TURNTILE_ERROR_LOST the data are incomplete. After TURNTILE_ERROR_INTERNAL, which is a bug,
 * other processes may wait for this one: end the job. Errors that MPI finds in `comm` itself go to
 * the error handler of `comm`. The default handler ends the job.
 *
 * Licensed under MIT or Apache-2.0, as you like. */
#ifndef TURNTILE_MPI_H
#define TURNTILE_MPI_H

#include <mpi.h>
#include <turntile.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Returns the text of the calling thread's last failure in this library, like turntile_last_error(). */
const char *turntile_mpi_last_error(void);

/* Partition an extent over the processes of `comm` and write one size per process to `parts`.
 * turntile_mpi_balanced(): sizes differ by at most one, longer ones first (numpy.array_split).
 * turntile_mpi_blocks(): every size is the rounded-up quotient until the extent is exhausted (FFTW,
 * PyTorch). */
turntile_status turntile_mpi_balanced(size_t *parts, size_t extent, MPI_Comm comm);
turntile_status turntile_mpi_blocks(size_t *parts, size_t extent, MPI_Comm comm);

/* Transposes a row-major matrix that is partitioned by rows. Process r has row_parts[r] rows before,
 * and col_parts[r] rows of the transpose after. `data` has at least turntile_mpi_capacity() bytes.
 * A process allocates in addition 2% of its part, 1 MiB per thread, and a message buffer of at most
 * 4 MiB. */
turntile_status turntile_mpi_transpose(void *data, size_t data_bytes, const size_t *row_parts, const size_t *col_parts,
                                       size_t elem_bytes, MPI_Comm comm);

/* Transposes a matrix like turntile_mpi_transpose(), with a Fortran communicator, an integer. */
turntile_status turntile_mpi_transpose_fortran(void *data, size_t data_bytes, const size_t *row_parts, const size_t *col_parts,
                                               size_t elem_bytes, MPI_Fint comm);

/* Returns in `bytes` the buffer size that the calling process needs: the larger of its parts before
 * and after. Does not communicate. */
turntile_status turntile_mpi_capacity(size_t *bytes, const size_t *row_parts, const size_t *col_parts, size_t elem_bytes,
                                      MPI_Comm comm);

/* Permutes the `rank` axes of an array, like turntile_permute(). The array is partitioned along axis
 * cut_before of `extents`, and the result along its own axis cut_after. */
turntile_status turntile_mpi_permute(void *data, size_t data_bytes, size_t rank, const size_t *extents, const size_t *axes,
                                     size_t elem_bytes, size_t cut_before, const size_t *parts_before, size_t cut_after,
                                     const size_t *parts_after, MPI_Comm comm);

/* Returns in `bytes` the buffer size that the calling process needs for turntile_mpi_permute(). Does
 * not communicate. */
turntile_status turntile_mpi_permute_capacity(size_t *bytes, size_t rank, const size_t *extents, const size_t *axes,
                                              size_t elem_bytes, size_t cut_before, const size_t *parts_before,
                                              size_t cut_after, const size_t *parts_after, MPI_Comm comm);

#ifdef __cplusplus
}
#endif

#endif
