/* Transposes a matrix over processes in place and checks the result: mpirun -n 4 transpose */
#include <stdio.h>
#include <stdlib.h>
#include <turntile_mpi.h>

enum { ROWS = 300, COLS = 200 };

static void check(turntile_status status) {
    if (status != TURNTILE_SUCCESS) {
        fprintf(stderr, "%s\n", turntile_last_error());
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
}

static size_t sum_before(const size_t *parts, int rank) {
    size_t sum = 0;
    for (int r = 0; r < rank; r++) sum += parts[r];
    return sum;
}

int main(int argc, char **argv) {
    int rank, ranks, given;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &given);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);

    size_t *rows = calloc((size_t)ranks, sizeof *rows), *cols = calloc((size_t)ranks, sizeof *cols), bytes;
    check(turntile_mpi_balanced(rows, ROWS, MPI_COMM_WORLD));
    check(turntile_mpi_blocks(cols, COLS, MPI_COMM_WORLD));
    check(turntile_mpi_capacity(&bytes, rows, cols, sizeof(double), MPI_COMM_WORLD));
    double *part = malloc(bytes);
    for (size_t k = 0; k < rows[rank] * COLS; k++) part[k] = (double)(sum_before(rows, rank) * COLS + k);

    check(turntile_mpi_transpose(part, bytes, rows, cols, sizeof(double), MPI_COMM_WORLD));
    for (size_t j = 0; j < cols[rank]; j++)
        for (size_t i = 0; i < ROWS; i++)
            if (part[j * ROWS + i] != (double)(i * COLS + sum_before(cols, rank) + j)) {
                fprintf(stderr, "process %d: an element is wrong\n", rank);
                MPI_Abort(MPI_COMM_WORLD, 1);
            }
    if (rank == 0) printf("%d x %d over %d processes\n", ROWS, COLS, ranks);
    free(part), free(rows), free(cols);
    return MPI_Finalize();
}
