/* Tests every call of turntile_mpi.h with valid and invalid arguments, over any number of processes. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <turntile_mpi.h>

static int rank, ranks;

static void check(int passed, const char *what, int line) {
    if (!passed) {
        fprintf(stderr, "process %d, line %d: %s: %s\n", rank, line, what, turntile_last_error());
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
}
#define CHECK(condition) check((condition), #condition, __LINE__)
#define FAILS(call, status, text) \
    (CHECK((call) == (status)), check(strstr(turntile_last_error(), text) != NULL, text, __LINE__))

int main(int argc, char **argv) {
    int given;
    MPI_Comm all = MPI_COMM_WORLD;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &given);
    MPI_Comm_rank(all, &rank), MPI_Comm_size(all, &ranks);
    size_t P = (size_t)ranks, me = (size_t)rank, need = 0;
    size_t *before = calloc(P, sizeof *before), *after = calloc(P, sizeof *after), *other = calloc(P, sizeof *other);

    /* Partitions. */
    CHECK(turntile_mpi_blocks(before, 2 * P + 1, all) == TURNTILE_SUCCESS);
    CHECK(turntile_mpi_balanced(after, 3 * P + 1, all) == TURNTILE_SUCCESS);
    CHECK(after[0] == 4 && (P == 1 || after[P - 1] == 3) && before[0] == 3);
    FAILS(turntile_mpi_blocks(NULL, 3, all), TURNTILE_ERROR_ARGUMENT, "parts is NULL");

    /* [i, x, k] to [k, i, x], with 2 values of x. Each element of 8 bytes is its own index. */
    size_t M = 2 * P + 1, N = 3 * P + 1, first = 0, begins = 0, shape[] = {M, 2, N}, axes[] = {2, 0, 1};
    for (size_t r = 0; r < me; r++) first += before[r], begins += after[r];
    CHECK(turntile_mpi_permute_capacity(&need, 3, shape, axes, 8, 0, before, 0, after, all) == TURNTILE_SUCCESS);
    size_t parts[] = {before[me] * 2 * N * 8, after[me] * M * 2 * 8};
    CHECK(need == (parts[0] > parts[1] ? parts[0] : parts[1]));
    uint64_t *data = malloc(need + 8);
    for (size_t k = 0; k < before[me] * 2 * N; k++) data[k] = first * 2 * N + k;
    CHECK(turntile_mpi_permute(data, need, 3, shape, axes, 8, 0, before, 0, after, all) == TURNTILE_SUCCESS);
    for (size_t k = 0; k < after[me]; k++)
        for (size_t ix = 0; ix < M * 2; ix++) CHECK(data[k * M * 2 + ix] == ix * N + begins + k);

    /* Invalid on the last process only: all processes return an error, and the data are unchanged. */
    int odd = me == P - 1;
    uint64_t *saved = malloc(need);
    memcpy(saved, data, need);
    size_t bytes;
    CHECK(turntile_mpi_capacity(&bytes, before, after, 16, all) == TURNTILE_SUCCESS && bytes == need);
    if (odd)
        FAILS(turntile_mpi_transpose(NULL, need, before, after, 16, all), TURNTILE_ERROR_ARGUMENT, "data is NULL");
    else
        FAILS(turntile_mpi_transpose(data, need, before, after, 16, all), TURNTILE_ERROR_RANKS, "failed before the exchange");
    if (odd)
        FAILS(turntile_mpi_transpose(data, need, NULL, after, 16, all), TURNTILE_ERROR_ARGUMENT, "row_parts is NULL");
    else
        FAILS(turntile_mpi_transpose(data, need, before, after, 16, all), TURNTILE_ERROR_RANKS, "failed before the exchange");
    if (P > 1) {
        memcpy(other, before, P * sizeof *other);
        if (odd) other[0]++;
        FAILS(turntile_mpi_transpose(data, need, other, after, 16, all), TURNTILE_ERROR_RANKS, "requests another redistribution");
    }
    FAILS(turntile_mpi_transpose(data, need - (size_t)odd, before, after, 16, all), TURNTILE_ERROR_LENGTH, "needs a buffer of");
    FAILS(turntile_mpi_transpose(data, need, before, after, 0, all), TURNTILE_ERROR_ARGUMENT, "");
    FAILS(turntile_mpi_permute(data, need, 3, shape, axes, 8, 3, before, 0, after, all), TURNTILE_ERROR_ARGUMENT, "axis 3");
    FAILS(turntile_mpi_permute(data, need, 3, shape, axes, 8, 1, before, 0, after, all), TURNTILE_ERROR_ARGUMENT, "its extent is 2");
    for (size_t r = 0; r < P; r++) other[r] = SIZE_MAX;
    if (P > 1) FAILS(turntile_mpi_transpose(data, need, other, after, 16, all), TURNTILE_ERROR_OVERFLOW, "row_parts sum to");
    FAILS(turntile_mpi_transpose(data, need, before, after, 16, MPI_COMM_NULL), TURNTILE_ERROR_RANKS, "MPI_COMM_NULL");
    FAILS(turntile_mpi_capacity(NULL, before, after, 16, all), TURNTILE_ERROR_ARGUMENT, "bytes is NULL");
    CHECK(memcmp(saved, data, need) == 0);

    /* In communicators of the even and of the odd ranks. */
    MPI_Comm half;
    MPI_Comm_split(all, rank % 2, rank, &half);
    CHECK(turntile_mpi_balanced(other, 5, half) == TURNTILE_SUCCESS);
    CHECK(turntile_mpi_capacity(&bytes, other, other, 1, half) == TURNTILE_SUCCESS);
    unsigned char *square = calloc(bytes + 1, 1);
    CHECK(turntile_mpi_transpose(square, bytes, other, other, 1, half) == TURNTILE_SUCCESS);
    MPI_Comm_free(&half);
    free(square), free(saved), free(data), free(before), free(after), free(other);
    if (rank == 0) printf("%d processes: all calls of turntile_mpi.h passed\n", ranks);
    return MPI_Finalize();
}
