/* libturntile_imatcopy: A := alpha * op(A) in place, with the interfaces of OpenBLAS and MKL.
 *
 * This header is for programs that include neither the header of OpenBLAS nor that of MKL. Do not
 * include it together with one of them.
 *
 * `order` is 101 or 'R' for row-major, 102 or 'C' for column-major. `trans` is 111 or 'N' for A,
 * 112 or 'T' for its transpose, 113 or 'C' for its conjugate transpose, 114 or 'R' for its
 * conjugate. Letters may have either case. `lda` and `ldb` are the leading dimensions in elements,
 * before and after: the distance between rows, or between columns of a column-major matrix.
 *
 * An illegal argument is reported on standard error, and the matrix is unchanged. */
#ifndef TURNTILE_IMATCOPY_H
#define TURNTILE_IMATCOPY_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* OpenBLAS, interface of CBLAS. Complex elements and alpha are pairs of numbers. */
void cblas_simatcopy(int order, int trans, int32_t rows, int32_t cols, float alpha, float *a, int32_t lda, int32_t ldb);
void cblas_dimatcopy(int order, int trans, int32_t rows, int32_t cols, double alpha, double *a, int32_t lda, int32_t ldb);
void cblas_cimatcopy(int order, int trans, int32_t rows, int32_t cols, const float *alpha, float *a, int32_t lda, int32_t ldb);
void cblas_zimatcopy(int order, int trans, int32_t rows, int32_t cols, const double *alpha, double *a, int32_t lda, int32_t ldb);
void cblas_simatcopy64_(int order, int trans, int64_t rows, int64_t cols, float alpha, float *a, int64_t lda, int64_t ldb);
void cblas_dimatcopy64_(int order, int trans, int64_t rows, int64_t cols, double alpha, double *a, int64_t lda, int64_t ldb);
void cblas_cimatcopy64_(int order, int trans, int64_t rows, int64_t cols, const float *alpha, float *a, int64_t lda, int64_t ldb);
void cblas_zimatcopy64_(int order, int trans, int64_t rows, int64_t cols, const double *alpha, double *a, int64_t lda, int64_t ldb);

/* OpenBLAS, Fortran interface: all arguments by pointer. */
void simatcopy_(const char *order, const char *trans, const int32_t *rows, const int32_t *cols, const float *alpha, float *a, const int32_t *lda, const int32_t *ldb);
void dimatcopy_(const char *order, const char *trans, const int32_t *rows, const int32_t *cols, const double *alpha, double *a, const int32_t *lda, const int32_t *ldb);
void cimatcopy_(const char *order, const char *trans, const int32_t *rows, const int32_t *cols, const float *alpha, float *a, const int32_t *lda, const int32_t *ldb);
void zimatcopy_(const char *order, const char *trans, const int32_t *rows, const int32_t *cols, const double *alpha, double *a, const int32_t *lda, const int32_t *ldb);
void simatcopy_64_(const char *order, const char *trans, const int64_t *rows, const int64_t *cols, const float *alpha, float *a, const int64_t *lda, const int64_t *ldb);
void dimatcopy_64_(const char *order, const char *trans, const int64_t *rows, const int64_t *cols, const double *alpha, double *a, const int64_t *lda, const int64_t *ldb);
void cimatcopy_64_(const char *order, const char *trans, const int64_t *rows, const int64_t *cols, const float *alpha, float *a, const int64_t *lda, const int64_t *ldb);
void zimatcopy_64_(const char *order, const char *trans, const int64_t *rows, const int64_t *cols, const double *alpha, double *a, const int64_t *lda, const int64_t *ldb);

/* MKL, C interface: alpha by value. mkl.h calls these functions mkl_simatcopy and so on. */
typedef struct turntile_c32 { float real, imag; } turntile_c32;
typedef struct turntile_c64 { double real, imag; } turntile_c64;
void MKL_Simatcopy(char ordering, char trans, size_t rows, size_t cols, float alpha, float *ab, size_t lda, size_t ldb);
void MKL_Dimatcopy(char ordering, char trans, size_t rows, size_t cols, double alpha, double *ab, size_t lda, size_t ldb);
void MKL_Cimatcopy(char ordering, char trans, size_t rows, size_t cols, turntile_c32 alpha, turntile_c32 *ab, size_t lda, size_t ldb);
void MKL_Zimatcopy(char ordering, char trans, size_t rows, size_t cols, turntile_c64 alpha, turntile_c64 *ab, size_t lda, size_t ldb);

/* MKL, Fortran interface, with 32-bit integers. mkl_simatcopy_, mkl_simatcopy and MKL_SIMATCOPY are
 * the same function. */
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
