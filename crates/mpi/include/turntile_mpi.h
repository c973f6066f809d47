/**
 * @file turntile_mpi.h
 * In-place transposition and axis permutation of arrays over MPI processes. Each process stores its
 * part in its own buffer. Link with the MPI library that this library was built for.
 *
 *     size_t rows[P], cols[P], bytes;                // P processes, a 300 x 200 matrix
 *     turntile_mpi_balanced(rows, 300, comm);        // or other sizes with the same sum, 0 allowed
 *     turntile_mpi_balanced(cols, 200, comm);
 *     turntile_mpi_capacity(&bytes, rows, cols, sizeof(double), comm);
 *     double *part = malloc(bytes);                  // starts with rows[me] rows of 200 elements
 *     if (turntile_mpi_transpose(part, bytes, rows, cols, sizeof(double), comm) != TURNTILE_SUCCESS)
 *         fputs(turntile_last_error(), stderr);
 *     // part now starts with cols[me] rows of 300 elements
 *
 * turntile_mpi_transpose() and turntile_mpi_permute() are collective: all processes of `comm` call
 * them, with the same arguments except `data` and `data_bytes`. Messages use a duplicate of `comm`.
 * MPI must be initialised with MPI_THREAD_FUNNELED or more: the library's own threads do not call MPI.
 * A process allocates 2% of its part, 1 MiB per thread, and a message buffer of at most 4 MiB.
 *
 * If one process fails before the exchange, all processes return an error and no data have moved.
 * After TURNTILE_ERROR_LOST the data are incomplete. After TURNTILE_ERROR_INTERNAL, which is a bug,
 * other processes may wait for this one: end the job. Errors that MPI finds in `comm` itself go to
 * the error handler of `comm`. The default handler ends the job.
 *
 * Parameters of all calls:
 * `data` is the buffer of this process, `data_bytes` its size, at least the capacity.
 * `comm` is an intracommunicator; `parts` arguments have one number per process of it.
 * `itemsize` is the number of bytes per element, at least 1.
 *
 * Licensed under MIT or Apache-2.0, at your option.
 */
#ifndef TURNTILE_MPI_H
#define TURNTILE_MPI_H

#include <mpi.h>
#include <turntile.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Partitions an axis: sizes differ by at most one, longer ones first, as numpy.array_split.
 * @param parts receives one size per process
 * @param extent length of the axis
 */
TURNTILE_NODISCARD TURNTILE_API turntile_status turntile_mpi_balanced(size_t *parts, size_t extent, MPI_Comm comm);

/**
 * Partitions an axis: every size is the rounded-up quotient until the axis is exhausted, as FFTW and
 * PyTorch.
 * @param parts receives one size per process
 * @param extent length of the axis
 */
TURNTILE_NODISCARD TURNTILE_API turntile_status turntile_mpi_blocks(size_t *parts, size_t extent, MPI_Comm comm);

/**
 * Transposes a row-major matrix that is partitioned by rows.
 * @param row_parts rows of each process before
 * @param col_parts rows of the transpose of each process after
 */
TURNTILE_NODISCARD TURNTILE_API turntile_status turntile_mpi_transpose(void *data, size_t data_bytes, const size_t *row_parts,
                                                                       const size_t *col_parts, size_t itemsize,
                                                                       MPI_Comm comm);

/** turntile_mpi_transpose() with a Fortran communicator; turntile_mpi.f90 is its Fortran interface. */
TURNTILE_NODISCARD TURNTILE_API turntile_status turntile_mpi_transpose_f(void *data, size_t data_bytes,
                                                                         const size_t *row_parts, const size_t *col_parts,
                                                                         size_t itemsize, MPI_Fint comm);

/**
 * Returns the buffer size that this process needs for turntile_mpi_transpose(): the larger of its
 * parts before and after. Does not communicate.
 * @param bytes receives the size in bytes
 */
TURNTILE_NODISCARD TURNTILE_API turntile_status turntile_mpi_capacity(size_t *bytes, const size_t *row_parts,
                                                                      const size_t *col_parts, size_t itemsize,
                                                                      MPI_Comm comm);

/**
 * Permutes the axes of a partitioned array, as turntile_permute().
 * @param ndim, shape, axes the whole array, as for turntile_permute()
 * @param cut_before partitioned axis of the source
 * @param parts_before sizes of the parts along it
 * @param cut_after partitioned axis of the result, numbered in the result
 * @param parts_after sizes of the parts along it
 */
TURNTILE_NODISCARD TURNTILE_API turntile_status turntile_mpi_permute(void *data, size_t data_bytes, size_t ndim,
                                                                     const size_t *shape, const size_t *axes, size_t itemsize,
                                                                     size_t cut_before, const size_t *parts_before,
                                                                     size_t cut_after, const size_t *parts_after,
                                                                     MPI_Comm comm);

/**
 * Returns the buffer size that this process needs for turntile_mpi_permute(). Does not communicate.
 * @param bytes receives the size in bytes
 */
TURNTILE_NODISCARD TURNTILE_API turntile_status turntile_mpi_permute_capacity(size_t *bytes, size_t ndim, const size_t *shape,
                                                                              const size_t *axes, size_t itemsize,
                                                                              size_t cut_before, const size_t *parts_before,
                                                                              size_t cut_after, const size_t *parts_after,
                                                                              MPI_Comm comm);

#ifdef __cplusplus
}
#endif

#endif
