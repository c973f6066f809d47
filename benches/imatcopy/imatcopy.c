/* A program that calls imatcopy and knows nothing of who answers: OpenBLAS's names, or with -DMKL those of MKL. It is
 * compiled once and linked with that library; benches/peers/imatcopy runs it as it is and with libturntile_imatcopy.so
 * preloaded.
 *
 *   imatcopy check FILE          small matrices of every type, order and operation, leading dimensions, factors; every
 *                                element is compared with a loop's, and all are written to FILE
 *   imatcopy time ROWS COLS TYPE [RUNS]
 *                                one row-major matrix transposed; every element is compared; prints
 *                                rows,cols,elem_bytes,gb_per_s,copy_gb_per_s,percent_of_copy,verified */
#define _GNU_SOURCE
#include <complex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#ifdef MKL
void MKL_Simatcopy(char, char, size_t, size_t, float, void *, size_t, size_t);
void MKL_Dimatcopy(char, char, size_t, size_t, double, void *, size_t, size_t);
void MKL_Cimatcopy(char, char, size_t, size_t, float complex, void *, size_t, size_t);
void MKL_Zimatcopy(char, char, size_t, size_t, double complex, void *, size_t, size_t);
void mkl_simatcopy_(const char *, const char *, const int *, const int *, const void *, void *, const int *, const int *);
void mkl_dimatcopy_(const char *, const char *, const int *, const int *, const void *, void *, const int *, const int *);
void mkl_cimatcopy_(const char *, const char *, const int *, const int *, const void *, void *, const int *, const int *);
void mkl_zimatcopy_(const char *, const char *, const int *, const int *, const void *, void *, const int *, const int *);
#else
void cblas_simatcopy(int, int, int, int, float, void *, int, int);
void cblas_dimatcopy(int, int, int, int, double, void *, int, int);
void cblas_cimatcopy(int, int, int, int, const void *, void *, int, int);
void cblas_zimatcopy(int, int, int, int, const void *, void *, int, int);
void simatcopy_(const char *, const char *, const int *, const int *, const void *, void *, const int *, const int *);
void dimatcopy_(const char *, const char *, const int *, const int *, const void *, void *, const int *, const int *);
void cimatcopy_(const char *, const char *, const int *, const int *, const void *, void *, const int *, const int *);
void zimatcopy_(const char *, const char *, const int *, const int *, const void *, void *, const int *, const int *);
#endif

static size_t bytes_of(char type) { return type == 's' ? 4 : type == 'z' ? 16 : 8; }

static double complex get(char type, const void *data, size_t k) {
    switch (type) {
    case 's': return ((const float *)data)[k];
    case 'd': return ((const double *)data)[k];
    case 'c': return ((const float complex *)data)[k];
    default: return ((const double complex *)data)[k];
    }
}

static void put(char type, void *data, size_t k, double complex value) {
    switch (type) {
    case 's': ((float *)data)[k] = (float)creal(value); break;
    case 'd': ((double *)data)[k] = creal(value); break;
    case 'c': ((float complex *)data)[k] = (float complex)value; break;
    default: ((double complex *)data)[k] = value;
    }
}

/* By value, or as Fortran does. */
static void imatcopy(char type, int fortran, char order, char op, int rows, int cols, double complex alpha, void *data,
                     int lda, int ldb) {
    float complex c = (float complex)alpha;
    double d = creal(alpha);
    float s = (float)d;
    if (fortran) {
        void (*functions[])(const char *, const char *, const int *, const int *, const void *, void *, const int *,
                            const int *) =
#ifdef MKL
            {mkl_simatcopy_, mkl_dimatcopy_, mkl_cimatcopy_, mkl_zimatcopy_};
#else
            {simatcopy_, dimatcopy_, cimatcopy_, zimatcopy_};
#endif
        const void *factor = type == 's' ? (void *)&s : type == 'd' ? (void *)&d : type == 'c' ? (void *)&c : &alpha;
        functions[type == 's' ? 0 : type == 'd' ? 1 : type == 'c' ? 2 : 3](&order, &op, &rows, &cols, factor, data, &lda,
                                                                          &ldb);
        return;
    }
#ifdef MKL
    size_t m = (size_t)rows, n = (size_t)cols, from = (size_t)lda, to = (size_t)ldb;
    switch (type) {
    case 's': MKL_Simatcopy(order, op, m, n, s, data, from, to); break;
    case 'd': MKL_Dimatcopy(order, op, m, n, d, data, from, to); break;
    case 'c': MKL_Cimatcopy(order, op, m, n, c, data, from, to); break;
    default: MKL_Zimatcopy(order, op, m, n, alpha, data, from, to);
    }
#else
    int o = order == 'R' ? 101 : 102, t = op == 'N' ? 111 : op == 'T' ? 112 : op == 'C' ? 113 : 114;
    switch (type) {
    case 's': cblas_simatcopy(o, t, rows, cols, s, data, lda, ldb); break;
    case 'd': cblas_dimatcopy(o, t, rows, cols, d, data, lda, ldb); break;
    case 'c': cblas_cimatcopy(o, t, rows, cols, &c, data, lda, ldb); break;
    default: cblas_zimatcopy(o, t, rows, cols, &alpha, data, lda, ldb);
    }
#endif
}

/* Numbers whose products are exact in floats, both parts apart. */
static double complex number(size_t k) { return (double)(k * 37 % 211 + 1) - (double)(k * 53 % 97 + 1) * I; }

static long checked = 0, wrong = 0;

static void check_one(char type, int fortran, char order, char op, int rows, int cols, int more_a, int more_b,
                      double complex alpha, FILE *file) {
    int turned = op == 'T' || op == 'C', conjugated = (op == 'C' || op == 'R') && (type == 'c' || type == 'z');
    /* Sides as rows lie in memory. */
    int m = order == 'R' ? rows : cols, n = order == 'R' ? cols : rows;
    int after_m = turned ? n : m, after_n = turned ? m : n;
    int lda = n + more_a, ldb = after_n + more_b;
    size_t before = (size_t)m * lda, after = (size_t)after_m * ldb, all = (before > after ? before : after) + 8;
    char *data = malloc(all * bytes_of(type)), *mine = calloc(all, 1);
    for (size_t k = 0; k < all; k++)
        put(type, data, k, number(k));
    imatcopy(type, fortran, order, op, rows, cols, alpha, data, lda, ldb);
    for (int i = 0; i < m; i++)
        for (int j = 0; j < n; j++)
            mine[(size_t)i * lda + j] = 1;
    int good = 1;
    for (int i = 0; i < after_m; i++)
        for (int j = 0; j < after_n; j++) {
            double complex from = number(turned ? (size_t)j * lda + i : (size_t)i * lda + j), want;
            if (type == 's' || type == 'd')
                want = creal(from) * creal(alpha);
            else
                want = alpha * (conjugated ? conj(from) : from);
            size_t at = (size_t)i * ldb + j;
            double complex got = get(type, data, at);
            good &= creal(got) == creal(want) && cimag(got) == cimag(want);
            fwrite(data + at * bytes_of(type), bytes_of(type), 1, file);
            mine[at] = 1;
        }
    /* What is neither the matrix before nor the matrix afterwards is as it was. */
    for (size_t k = 0; k < all; k++) {
        double complex was = type == 's' || type == 'd' ? creal(number(k)) : number(k);
        good &= mine[k] || get(type, data, k) == was;
    }
    checked++;
    wrong += !good;
    if (!good && wrong < 20)
        fprintf(stderr, "wrong: %cimatcopy%s %c %c %d x %d, lda %d, ldb %d, alpha %g%+gi\n", type, fortran ? "_" : "",
                order, op, rows, cols, lda, ldb, creal(alpha), cimag(alpha));
    free(data);
    free(mine);
}

static int check(const char *name) {
    static const int sides[][2] = {{1, 1}, {1, 7}, {7, 1}, {2, 3}, {5, 5}, {16, 16}, {33, 17}, {64, 48}, {3, 90}, {90, 3}, {70, 41}, {211, 97}};
    static const double complex factors[] = {1, 2, -3 + 2 * I, I, 0.5};
    static const int more[][2] = {{0, 0}, {2, 0}, {0, 3}, {4, 4}, {1, 5}};
    FILE *file = fopen(name, "wb");
    if (!file)
        return 2;
    for (const char *type = "sdcz"; *type; type++)
        for (int fortran = 0; fortran < 2; fortran++)
            for (const char *order = "RC"; *order; order++)
                for (const char *op = "NTCR"; *op; op++)
                    for (size_t s = 0; s < sizeof sides / sizeof *sides; s++)
                        for (size_t f = 0; f < sizeof factors / sizeof *factors; f++)
                            for (size_t l = 0; l < sizeof more / sizeof *more; l++)
                                /* The large one not with everything. */
                                if (sides[s][0] < 200 || (f < 2 && !fortran))
                                    check_one(*type, fortran, *order, *op, sides[s][0], sides[s][1], more[l][0],
                                              more[l][1], factors[f], file);
    printf("%ld passed, %ld failed\n", checked - wrong, wrong);
    return fclose(file) != 0 || wrong != 0;
}

static double now(void) {
    struct timespec at;
    clock_gettime(CLOCK_MONOTONIC, &at);
    return at.tv_sec + 1e-9 * at.tv_nsec;
}

static int ascending(const void *a, const void *b) {
    return (*(const double *)a > *(const double *)b) - (*(const double *)a < *(const double *)b);
}

static void *memory(size_t bytes) {
    void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED)
        exit(3);
    madvise(at, bytes, MADV_HUGEPAGE);
    memset(at, 1, bytes);
    return at;
}

enum { MOST_RUNS = 15 };

static int time_one(int rows, int cols, char type, int most) {
    size_t elements = (size_t)rows * cols, width = bytes_of(type), bytes = elements * width;
    char *data = memory(bytes), *other = memory(bytes);
    /* Numbers up to 2^24 are exact; beyond that neighbours still differ by column or row. */
    for (int i = 0; i < rows; i++)
        for (int j = 0; j < cols; j++)
            put(type, data, (size_t)i * cols + j, (i * 4099l + j) % (1 << 24));
    double times[MOST_RUNS], copies[MOST_RUNS], spent = 0;
    int runs = 0, verified = 1;
    while (runs < most && (runs == 0 || spent < 5)) {
        double start = now();
        imatcopy(type, 0, 'R', 'T', rows, cols, 1, data, cols, rows);
        times[runs] = now() - start;
        if (runs == 0)
            for (int j = 0; j < cols; j++)
                for (int i = 0; i < rows; i++)
                    verified &= get(type, data, (size_t)j * rows + i) == (i * 4099l + j) % (1 << 24);
        start = now();
        memcpy(other, data, bytes);
        copies[runs] = now() - start;
        spent += times[runs++];
    }
    qsort(times, runs, sizeof *times, ascending);
    qsort(copies, runs, sizeof *copies, ascending);
    double time = times[runs / 2], copy = copies[runs / 2];
    printf("%d,%d,%zu,%.3f,%.3f,%.1f,%s\n", rows, cols, width, 2e-9 * bytes / time, 2e-9 * bytes / copy,
           100 * copy / time, verified ? "true" : "false");
    return !verified;
}

int main(int argc, char **argv) {
    if (argc == 3 && strcmp(argv[1], "check") == 0)
        return check(argv[2]);
    if ((argc == 5 || argc == 6) && strcmp(argv[1], "time") == 0) {
        int most = argc == 6 ? atoi(argv[5]) : 7;
        return time_one(atoi(argv[2]), atoi(argv[3]), *argv[4], most > MOST_RUNS ? MOST_RUNS : most);
    }
    fprintf(stderr, "imatcopy check FILE | imatcopy time ROWS COLS TYPE [RUNS]\n");
    return 2;
}
