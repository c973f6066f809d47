/* libturntile_imatcopy: A := alpha * op(A) in place, under the names that OpenBLAS and MKL have for it. For programs that
 * include neither's header; one that does needs this one not, and must not include both.
 *
 * `order` is 101 or 'R' for row-major, 102 or 'C' for column-major; `trans` 111 or 'N' for A as it is, 112 or 'T'
 * transposed, 113 or 'C' transposed and conjugated, 114 or 'R' conjugated; letters of either case. `lda` and `ldb` are
 * elements from a row (of column-major matrices a column) to the next, before and afterwards.
 *
 * What is wrong with an argument is said on the standard error output, and nothing is done. */
#ifndef TURNTILE_IMATCOPY_H
#define TURNTILE_IMATCOPY_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* OpenBLAS, CBLAS's numbers; complex matrices and their alpha are pairs of numbers. */
void cblas_simatcopy(int order, int trans, int32_t rows, int32_t cols, float alpha, float *a, int32_t lda, int32_t ldb);
void cblas_dimatcopy(int order, int trans, int32_t rows, int32_t cols, double alpha, double *a, int32_t lda, int32_t ldb);
void cblas_cimatcopy(int order, int trans, int32_t rows, int32_t cols, const float *alpha, float *a, int32_t lda, int32_t ldb);
void cblas_zimatcopy(int order, int trans, int32_t rows, int32_t cols, const double *alpha, double *a, int32_t lda, int32_t ldb);
void cblas_simatcopy64_(int order, int trans, int64_t rows, int64_t cols, float alpha, float *a, int64_t lda, int64_t ldb);
void cblas_dimatcopy64_(int order, int trans, int64_t rows, int64_t cols, double alpha, double *a, int64_t lda, int64_t ldb);
void cblas_cimatcopy64_(int order, int trans, int64_t rows, int64_t cols, const float *alpha, float *a, int64_t lda, int64_t ldb);
void cblas_zimatcopy64_(int order, int trans, int64_t rows, int64_t cols, const double *alpha, double *a, int64_t lda, int64_t ldb);

/* OpenBLAS, Fortran's way: all by pointer. */
void simatcopy_(const char *order, const char *trans, const int32_t *rows, const int32_t *cols, const float *alpha, float *a, const int32_t *lda, const int32_t *ldb);
void dimatcopy_(const char *order, const char *trans, const int32_t *rows, const int32_t *cols, const double *alpha, double *a, const int32_t *lda, const int32_t *ldb);
void cimatcopy_(const char *order, const char *trans, const int32_t *rows, const int32_t *cols, const float *alpha, float *a, const int32_t *lda, const int32_t *ldb);
void zimatcopy_(const char *order, const char *trans, const int32_t *rows, const int32_t *cols, const double *alpha, double *a, const int32_t *lda, const int32_t *ldb);
void simatcopy_64_(const char *order, const char *trans, const int64_t *rows, const int64_t *cols, const float *alpha, float *a, const int64_t *lda, const int64_t *ldb);
void dimatcopy_64_(const char *order, const char *trans, const int64_t *rows, const int64_t *cols, const double *alpha, double *a, const int64_t *lda, const int64_t *ldb);
void cimatcopy_64_(const char *order, const char *trans, const int64_t *rows, const int64_t *cols, const float *alpha, float *a, const int64_t *lda, const int64_t *ldb);
void zimatcopy_64_(const char *order, const char *trans, const int64_t *rows, const int64_t *cols, const double *alpha, double *a, const int64_t *lda, const int64_t *ldb);

/* MKL, C's way, which mkl.h calls mkl_simatcopy and so on: alpha by value. */
typedef struct turntile_c32 { float real, imag; } turntile_c32;
typedef struct turntile_c64 { double real, imag; } turntile_c64;
void MKL_Simatcopy(char ordering, char trans, size_t rows, size_t cols, float alpha, float *ab, size_t lda, size_t ldb);
void MKL_Dimatcopy(char ordering, char trans, size_t rows, size_t cols, double alpha, double *ab, size_t lda, size_t ldb);
void MKL_Cimatcopy(char ordering, char trans, size_t rows, size_t cols, turntile_c32 alpha, turntile_c32 *ab, size_t lda, size_t ldb);
void MKL_Zimatcopy(char ordering, char trans, size_t rows, size_t cols, turntile_c64 alpha, turntile_c64 *ab, size_t lda, size_t ldb);

/* MKL, Fortran's way, with integers of 32 bits: mkl_simatcopy_, mkl_simatcopy and MKL_SIMATCOPY are the same. */
#define TURNTILE_IMATCOPY_MKL(name, type) \
    void name(const char *ordering, const char *trans, const int32_t *rows, const int32_t *cols, const type *alpha, \
              type *ab, const int32_t *lda, const int32_t *ldb)
TURNTILE_IMATCOPY_MKL(mkl_simatcopy_, float);
TURNTILE_IMATCOPY_MKL(mkl_dimatcopy_, double);
TURNTILE_IMATCOPY_MKL(mkl_cimatcopy_, turntile_c32);
TURNTILE_IMATCOPY_MKL(mkl_zimatcopy_, turntile_c64);
TURNTILE_IMATCOPY_MKL(mkl_simatcopy, float);
TURNTILE_IMATCOPY_MKL(mkl_dimatcopy, double);
TURNTILE_IMATCOPY_MKL(mkl_cimatcopy, turntile_c32);
TURNTILE_IMATCOPY_MKL(mkl_zimatcopy, turntile_c64);
TURNTILE_IMATCOPY_MKL(MKL_SIMATCOPY, float);
TURNTILE_IMATCOPY_MKL(MKL_DIMATCOPY, double);
TURNTILE_IMATCOPY_MKL(MKL_CIMATCOPY, turntile_c32);
TURNTILE_IMATCOPY_MKL(MKL_ZIMATCOPY, turntile_c64);

#ifdef __cplusplus
}
#endif

#endif
