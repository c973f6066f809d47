/* Calls every exported function once, with complex numbers as each interface passes them. Also tests illegal arguments. */
#define _DEFAULT_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <turntile_imatcopy.h>
#include <unistd.h>

static int passed = 0, failed = 0;

static void check(int good, const char *name) {
    good ? passed++ : failed++;
    if (!good)
        fprintf(stderr, "failed: %s\n", name);
}

/* A 2 x 3 matrix, transposed and multiplied by 2. */
#define REAL(type, name, call)                                        \
    do {                                                              \
        type a[] = {1, 2, 3, 4, 5, 6}, want[] = {2, 8, 4, 10, 6, 12}; \
        call;                                                         \
        check(memcmp(a, want, sizeof a) == 0, name);                  \
    } while (0)

/* The 1 x 2 matrix (3 + 4i, 5 - 6i), conjugate transposed and multiplied by 1 + 2i: (3 - 4i)(1 + 2i), (5 + 6i)(1 + 2i). */
#define COMPLEX(type, name, call)                        \
    do {                                                 \
        type a[] = {3, 4, 5, -6}, want[] = {11, 2, -7, 16}; \
        call;                                            \
        check(memcmp(a, want, sizeof a) == 0, name);     \
    } while (0)

#define BY_REFERENCE(name, type, pair, int_type)                                            \
    do {                                                                                    \
        int_type two = 2, three = 3, one = 1;                                               \
        const type factor[] = {2, 0}, complex_factor[] = {1, 2};                            \
        (void)two, (void)three, (void)one, (void)factor, (void)complex_factor;              \
        if (pair)                                                                           \
            COMPLEX(type, #name, name("R", "c", &one, &two, (void *)complex_factor, (void *)a, &two, &one)); \
        else                                                                                \
            REAL(type, #name, name("r", "T", &two, &three, (void *)factor, (void *)a, &three, &two)); \
    } while (0)

static void names(void) {
    const float c[] = {1, 2};
    const double z[] = {1, 2};
    REAL(float, "cblas_simatcopy", cblas_simatcopy(101, 112, 2, 3, 2, a, 3, 2));
    REAL(double, "cblas_dimatcopy", cblas_dimatcopy(101, 112, 2, 3, 2, a, 3, 2));
    COMPLEX(float, "cblas_cimatcopy", cblas_cimatcopy(101, 113, 1, 2, c, a, 2, 1));
    COMPLEX(double, "cblas_zimatcopy", cblas_zimatcopy(101, 113, 1, 2, z, a, 2, 1));
    REAL(float, "cblas_simatcopy64_", cblas_simatcopy64_(102, 113, 3, 2, 2, a, 3, 2));
    REAL(double, "cblas_dimatcopy64_", cblas_dimatcopy64_(102, 113, 3, 2, 2, a, 3, 2));
    COMPLEX(float, "cblas_cimatcopy64_", cblas_cimatcopy64_(102, 113, 2, 1, c, a, 2, 1));
    COMPLEX(double, "cblas_zimatcopy64_", cblas_zimatcopy64_(102, 113, 2, 1, z, a, 2, 1));
    BY_REFERENCE(simatcopy_, float, 0, int32_t);
    BY_REFERENCE(dimatcopy_, double, 0, int32_t);
    BY_REFERENCE(cimatcopy_, float, 1, int32_t);
    BY_REFERENCE(zimatcopy_, double, 1, int32_t);
    BY_REFERENCE(simatcopy_64_, float, 0, int64_t);
    BY_REFERENCE(dimatcopy_64_, double, 0, int64_t);
    BY_REFERENCE(cimatcopy_64_, float, 1, int64_t);
    BY_REFERENCE(zimatcopy_64_, double, 1, int64_t);
    turntile_c32 by_value_c = {1, 2};
    turntile_c64 by_value_z = {1, 2};
    REAL(float, "MKL_Simatcopy", MKL_Simatcopy('R', 't', 2, 3, 2, a, 3, 2));
    REAL(double, "MKL_Dimatcopy", MKL_Dimatcopy('r', 'T', 2, 3, 2, a, 3, 2));
    COMPLEX(float, "MKL_Cimatcopy", MKL_Cimatcopy('R', 'C', 1, 2, by_value_c, (turntile_c32 *)a, 2, 1));
    COMPLEX(double, "MKL_Zimatcopy", MKL_Zimatcopy('R', 'C', 1, 2, by_value_z, (turntile_c64 *)a, 2, 1));
    BY_REFERENCE(mkl_simatcopy_, float, 0, int32_t);
    BY_REFERENCE(mkl_dimatcopy_, double, 0, int32_t);
    BY_REFERENCE(mkl_cimatcopy_, float, 1, int32_t);
    BY_REFERENCE(mkl_zimatcopy_, double, 1, int32_t);
    BY_REFERENCE(mkl_simatcopy, float, 0, int32_t);
    BY_REFERENCE(mkl_dimatcopy, double, 0, int32_t);
    BY_REFERENCE(mkl_cimatcopy, float, 1, int32_t);
    BY_REFERENCE(mkl_zimatcopy, double, 1, int32_t);
    BY_REFERENCE(MKL_SIMATCOPY, float, 0, int32_t);
    BY_REFERENCE(MKL_DIMATCOPY, double, 0, int32_t);
    BY_REFERENCE(MKL_CIMATCOPY, float, 1, int32_t);
    BY_REFERENCE(MKL_ZIMATCOPY, double, 1, int32_t);
}

/* Gaps between rows must not be accessed at all: with equal leading dimensions, when rows slide, and when the matrix goes through
   workspace. Rows and gaps are whole pages of 512 doubles, and pages without a row are access-protected. */
static void untouched(void) {
    enum { PAGE = 512, PAGES = 4096 };
    static const struct { const char *name; int op, rows, cols, lda, ldb; } cases[] = {
        {"equal", 112, 512, 512, 2 * PAGE, 2 * PAGE},
        {"slid apart", 111, 700, 512, 2 * PAGE, 4 * PAGE},
        {"slid together", 111, 700, 512, 4 * PAGE, 2 * PAGE},
        {"through workspace", 112, 4, 512, 2 * PAGE, 4 * PAGE},
    };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        size_t rows = cases[k].rows, cols = cases[k].cols, lda = cases[k].lda, ldb = cases[k].ldb, transposed = cases[k].op == 112;
        double *a = mmap(NULL, PAGES * PAGE * sizeof *a, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        check(a != MAP_FAILED, "memory");
        static char is_row[PAGES];
        memset(is_row, 0, sizeof is_row);
        for (size_t i = 0; i < rows; i++)
            for (size_t j = 0; j < cols; j++)
                a[i * lda + j] = (double)(i * cols + j), is_row[(i * lda + j) / PAGE] = is_row[(transposed ? j * ldb + i : i * ldb + j) / PAGE] = 1;
        for (size_t page = 0; page < PAGES; page++)
            if (!is_row[page])
                mprotect(a + page * PAGE, PAGE * sizeof *a, PROT_NONE);
        cblas_dimatcopy(101, cases[k].op, (int)rows, (int)cols, 2, a, (int)lda, (int)ldb);
        int good = 1;
        for (size_t i = 0; i < rows; i++)
            for (size_t j = 0; j < cols; j++)
                good &= a[transposed ? j * ldb + i : i * ldb + j] == 2.0 * (double)(i * cols + j);
        check(good, cases[k].name);
        munmap(a, PAGES * PAGE * sizeof *a);
    }
}

/* Illegal arguments leave the matrix unchanged. The messages on standard error are compared by the calling script. */
static void wrong(void) {
    float a[] = {1, 2, 3, 4, 5, 6}, was[] = {1, 2, 3, 4, 5, 6};
    cblas_simatcopy(100, 112, 2, 3, 2, a, 3, 2);
    cblas_simatcopy(101, 115, 2, 3, 2, a, 3, 2);
    cblas_simatcopy(101, 112, -2, 3, 2, a, 3, 2);
    cblas_simatcopy(101, 112, 2, -3, 2, a, 3, 2);
    cblas_simatcopy(101, 112, 2, 3, 2, a, 2, 2);
    cblas_simatcopy(101, 112, 2, 3, 2, a, 3, 1);
    cblas_simatcopy(101, 112, 2, 3, 2, NULL, 3, 2);
    MKL_Simatcopy('R', 'T', 2, (size_t)-3, 2, a, (size_t)-1, 2);
    MKL_Zimatcopy('X', 'T', 2, 3, (turntile_c64){1, 0}, NULL, 3, 2);
    check(memcmp(a, was, sizeof a) == 0, "the matrix is unchanged");
    cblas_simatcopy(101, 112, 0, 3, 2, NULL, 3, 1);
}

/* Without memory for a workspace the matrix is unchanged, and a message is printed. */
static void without_memory(void) {
    enum { ROWS = 480, COLS = 500, LDA = 504, LDB = 484, LENGTH = LDB * COLS };
    static float a[LENGTH];
    /* Starts the threads before the limit is set. */
    cblas_simatcopy(101, 112, 90, 80, 1, a, 90, 95);
    for (size_t k = 0; k < LENGTH; k++)
        a[k] = (float)k;
    unsigned long pages = 0;
    FILE *sizes = fopen("/proc/self/statm", "r");
    check(sizes && fscanf(sizes, "%lu", &pages) == 1, "the size of the process");
    const rlim_t bytes = (rlim_t)pages * (rlim_t)sysconf(_SC_PAGESIZE);
    check(setrlimit(RLIMIT_AS, &(struct rlimit){bytes, bytes}) == 0, "setrlimit");
    /* Uses up the free memory that malloc still holds. */
    void *volatile block;
    do
        block = malloc(1 << 16);
    while (block);
    cblas_simatcopy(101, 112, ROWS, COLS, 2, a, LDA, LDB);
    size_t same = 0;
    for (size_t k = 0; k < LENGTH; k++)
        same += a[k] == (float)k;
    check(same == LENGTH, "the matrix is unchanged");
}

int main(int argc, char **argv) {
    if (argc > 1 && strcmp(argv[1], "wrong") == 0)
        wrong();
    else if (argc > 1 && strcmp(argv[1], "short") == 0)
        without_memory();
    else
        names(), untouched();
    printf("%d passed, %d failed\n", passed, failed);
    return failed > 0;
}
