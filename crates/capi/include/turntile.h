/**
 * @file turntile.h
 * In-place matrix transposition and axis permutation, on CPUs and NVIDIA GPUs.
 *
 *     float matrix[2 * 3] = {1, 2, 3, 4, 5, 6};
 *     if (turntile_transpose(matrix, 2, 3, sizeof(float)) != TURNTILE_SUCCESS)
 *         fputs(turntile_last_error(), stderr);
 *     // now 3 rows of 2: 1 4, 2 5, 3 6
 *
 * Arrays are row-major. For column-major data, swap `rows` and `cols`. Elements are moved as bytes
 * and can have any size. Data on the CPU need no alignment.
 *
 * A call that fails returns a status, and turntile_last_error() returns a text with the numbers. The
 * data are then unchanged, except after TURNTILE_ERROR_LOST and TURNTILE_ERROR_INTERNAL. No call
 * exits, prints or throws.
 *
 * Licensed under MIT or Apache-2.0, at your option.
 */
#ifndef TURNTILE_H
#define TURNTILE_H

#include <stddef.h>
#include <stdint.h>

/** Before every function. With the static library on Windows, define TURNTILE_STATIC. */
#if defined(_WIN32) && !defined(TURNTILE_STATIC)
#define TURNTILE_API __declspec(dllimport)
#elif defined(__GNUC__) && !defined(_WIN32)
#define TURNTILE_API __attribute__((visibility("default")))
#else
#define TURNTILE_API
#endif

/** Before every function that returns a status: the compiler warns if a program ignores it. */
#if (defined(__cplusplus) && __cplusplus >= 201703L) || (defined(__STDC_VERSION__) && __STDC_VERSION__ >= 202311L)
#define TURNTILE_NODISCARD [[nodiscard]]
#elif defined(__GNUC__)
#define TURNTILE_NODISCARD __attribute__((warn_unused_result))
#else
#define TURNTILE_NODISCARD
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Version ------------------------------------------------------------------------------------ */

#define TURNTILE_VERSION_MAJOR 0
#define TURNTILE_VERSION_MINOR 4
#define TURNTILE_VERSION_PATCH 0
#define TURNTILE_VERSION_NUMBER(major, minor, patch) (((uint32_t)(major) << 22) | ((uint32_t)(minor) << 12) | (uint32_t)(patch))
/** Version of this header. */
#define TURNTILE_VERSION \
    TURNTILE_VERSION_NUMBER(TURNTILE_VERSION_MAJOR, TURNTILE_VERSION_MINOR, TURNTILE_VERSION_PATCH)

/** @return the version of the library, as a TURNTILE_VERSION_NUMBER */
TURNTILE_API uint32_t turntile_version(void);

/* ---- Errors ------------------------------------------------------------------------------------- */

typedef enum turntile_status {
    TURNTILE_SUCCESS = 0,
    TURNTILE_ERROR_ARGUMENT = 1,  /**< NULL pointer, `axes` is not a permutation, unknown flag or device, itemsize 0 */
    TURNTILE_ERROR_OVERFLOW = 2,  /**< the array has more bytes than the address space */
    TURNTILE_ERROR_LENGTH = 3,    /**< a buffer is shorter than the array */
    TURNTILE_ERROR_WORKSPACE = 4, /**< the workspace is smaller than turntile_plan_workspace() */
    TURNTILE_ERROR_ALIGNMENT = 5, /**< an address is not a multiple of the required alignment */
    TURNTILE_ERROR_OVERLAP = 6,   /**< buffers overlap */
    TURNTILE_ERROR_MEMORY = 7,    /**< no memory for the workspace */
    TURNTILE_ERROR_PLAN = 8,      /**< no plan satisfies the descriptor */
    TURNTILE_ERROR_DEVICE = 9,    /**< no GPU, no driver, a library built without GPUs, or a driver error */
    TURNTILE_ERROR_VERSION = 10,  /**< the program's header and the library differ in major or minor version */
    TURNTILE_ERROR_INTERNAL = 11, /**< a bug in turntile, please report it; the data can be in any order */
    TURNTILE_ERROR_RANKS = 12,    /**< MPI: processes pass different arguments, one failed, or MPI reports an error */
    TURNTILE_ERROR_LOST = 13      /**< the data are incomplete: an MPI message or the rest of a GPU run is lost */
} turntile_status;

/**
 * Returns the text of the calling thread's last failed call, in any library of turntile.
 * @return a text with the numbers, "" before the first failure; valid until the thread's next failure
 */
TURNTILE_API const char *turntile_last_error(void);

/**
 * Sets the text that turntile_last_error() returns. For libraries that build on turntile.
 * @param text at most 4095 bytes are copied; NULL is the empty text
 */
TURNTILE_API void turntile_set_last_error(const char *text);

/** @return a sentence without numbers that describes `status`, static; never NULL */
TURNTILE_API const char *turntile_strerror(int status);

/** @return the name of `status`, such as "TURNTILE_ERROR_LENGTH", static; "unknown" for other numbers */
TURNTILE_API const char *turntile_status_name(int status);

/* ---- Calls without a plan ----------------------------------------------------------------------- */

/**
 * Transposes a row-major matrix in place, on all threads. Allocates a workspace of at most 2% of the
 * matrix and 1 MiB per thread for the call, none for matrices of up to 16 KiB.
 * @param data rows * cols * itemsize bytes, in and out
 * @param rows, cols shape before the call; 0 and 1 are valid
 * @param itemsize bytes per element, at least 1
 */
TURNTILE_NODISCARD TURNTILE_API turntile_status turntile_transpose(void *data, size_t rows, size_t cols, size_t itemsize);

/**
 * Permutes the axes of a row-major array in place, with the workspace of turntile_transpose(). The
 * result is row-major with result.shape[i] == shape[axes[i]], as numpy.transpose: shape (8, 3, 50, 40)
 * and axes (0, 2, 3, 1) give (8, 50, 40, 3).
 * @param data product(shape) * itemsize bytes, in and out
 * @param ndim number of axes, at most TURNTILE_MAX_NDIM
 * @param shape ndim lengths before the call; 0 and 1 are valid
 * @param axes permutation of 0..ndim
 * @param itemsize bytes per element, at least 1
 */
TURNTILE_NODISCARD TURNTILE_API turntile_status turntile_permute(void *data, size_t ndim, const size_t *shape,
                                                                 const size_t *axes, size_t itemsize);

/**
 * Reverses axes of a row-major array in place, as numpy.flip. Reads and writes each byte once, without
 * a workspace.
 * @param data product(shape) * itemsize bytes, in and out
 * @param ndim number of axes, at most TURNTILE_MAX_NDIM
 * @param shape ndim lengths; 0 and 1 are valid
 * @param flip bit i reverses axis i
 * @param itemsize bytes per element, at least 1
 */
TURNTILE_NODISCARD TURNTILE_API turntile_status turntile_flip(void *data, size_t ndim, const size_t *shape, uint64_t flip,
                                                              size_t itemsize);

/**
 * Rotates a row-major array in place by quarter turns, as numpy.rot90, with the workspace of
 * turntile_transpose(). An odd number of turns swaps the two lengths of the shape.
 * @param data product(shape) * itemsize bytes, in and out
 * @param ndim number of axes, from 2 to TURNTILE_MAX_NDIM
 * @param shape ndim lengths before the call; 0 and 1 are valid
 * @param k number of turns, from axis `from` towards axis `to`; negative turns go back
 * @param from, to two axes: 0 and 1 rotate a matrix counterclockwise
 * @param itemsize bytes per element, at least 1
 */
TURNTILE_NODISCARD TURNTILE_API turntile_status turntile_rot90(void *data, size_t ndim, const size_t *shape, int k,
                                                               size_t from, size_t to, size_t itemsize);

/**
 * Writes the transpose of a row-major matrix to another buffer: usually faster, if a second buffer
 * fits. Allocates nothing.
 * @param src rows * cols * itemsize bytes, unchanged
 * @param dst the same number of bytes, written; must not overlap `src`
 * @param rows, cols shape of `src`
 * @param itemsize bytes per element, at least 1
 */
TURNTILE_NODISCARD TURNTILE_API turntile_status turntile_transpose_copy(const void *src, void *dst, size_t rows, size_t cols,
                                                                        size_t itemsize);

/** Values of `bitorder`: the first element of a byte is in its high bits (BIG) or low bits (LITTLE). */
#define TURNTILE_BIG 0
#define TURNTILE_LITTLE 1

/**
 * Transposes row-major matrices of elements of less than a byte, each row packed from a byte on as by
 * numpy.packbits. In place (dst == src) both sides must be multiples of 8 / bits, and the workspace is
 * that of turntile_transpose(). Into another buffer any sides are valid; padding bits of `src` are
 * ignored, those of `dst` become 0, and there is no workspace.
 * @param src batch * rows * ceil(cols * bits / 8) bytes
 * @param dst `src`, or batch * cols * ceil(rows * bits / 8) bytes that do not overlap `src`
 * @param batch number of contiguous matrices
 * @param rows, cols shape of each matrix of `src` in elements; 0 and 1 are valid
 * @param bits bits per element: 1, 2 or 4
 * @param bitorder TURNTILE_BIG or TURNTILE_LITTLE
 */
TURNTILE_NODISCARD TURNTILE_API turntile_status turntile_transpose_bits(const void *src, void *dst, size_t batch, size_t rows,
                                                                        size_t cols, int bits, int bitorder);

/* ---- Plans -------------------------------------------------------------------------------------- */

#define TURNTILE_MAX_NDIM 64

/* Values of `device`. */
#define TURNTILE_CPU 0
#define TURNTILE_CUDA 1
/** Value of `device_index`: the GPU of the calling thread's current context, which must be a primary
 * context, as that of the CUDA runtime. */
#define TURNTILE_CUDA_CURRENT (-1)
/** Value of `flags`: the result goes to another buffer, by turntile_execute_copy(). */
#define TURNTILE_OUT_OF_PLACE 1

/**
 * Describes a plan. Start from TURNTILE_DESC_INIT and set `itemsize`, `ndim`, `shape` and `axes`:
 *
 *     turntile_desc desc = TURNTILE_DESC_INIT;
 *     desc.itemsize = sizeof(float), desc.ndim = 2, desc.shape = (size_t[]){300, 200}, desc.axes = (size_t[]){1, 0};
 *
 * turntile_plan_create() reads the arrays and keeps no pointer to them.
 */
typedef struct turntile_desc {
    uint32_t version;       /**< TURNTILE_VERSION */
    uint32_t device;        /**< TURNTILE_CPU or TURNTILE_CUDA */
    int32_t device_index;   /**< the driver's number of the GPU, used through its primary context, or TURNTILE_CUDA_CURRENT; 0 for the CPU */
    uint32_t flags;         /**< 0 or TURNTILE_OUT_OF_PLACE */
    size_t itemsize;        /**< bytes per element, at least 1 */
    size_t ndim;            /**< number of axes, at most TURNTILE_MAX_NDIM */
    const size_t *shape;    /**< ndim lengths of the source, slowest axis first: rows, cols */
    const size_t *axes;     /**< result.shape[i] == shape[axes[i]]; 1, 0 transposes a matrix */
    size_t batch;           /**< number of arrays, contiguous in memory; 0 means 1 */
    size_t threads;         /**< maximum CPU threads; 0 means one per core, or RAYON_NUM_THREADS */
    size_t workspace_limit; /**< maximum workspace in bytes, 0 for none; SIZE_MAX means the default: on the CPU 2% of the data
                                 and 1 MiB per thread, on a GPU 2% or 16 MiB, whichever is larger. With lda or ldb, the
                                 elements between rows that must be saved come on top of the default */
    size_t alignment;       /**< alignment of device addresses in bytes, a power of two; 0 means 16 */
    size_t lda;             /**< matrices in place: elements between the starts of source rows; 0 means cols */
    size_t ldb;             /**< the same for rows of the result; 0 means rows. Elements between rows before and after are
                                 unchanged; if lda and ldb differ, source elements outside the result are unspecified */
    uint64_t flip;          /**< bit i reverses axis i of the result, in place and without lda and ldb; 0 reverses none */
} turntile_desc;

#define TURNTILE_DESC_INIT {TURNTILE_VERSION, TURNTILE_CPU, 0, 0, 0, 0, NULL, NULL, 0, 0, SIZE_MAX, 0, 0, 0, 0}

/** A plan. Immutable: threads can run one plan at the same time, each run with its own workspace. */
typedef struct turntile_plan turntile_plan;

/**
 * Creates a plan, and loads its kernels if it is for a GPU.
 * @param desc what to plan
 * @param plan receives the plan, or NULL on failure; free it with turntile_plan_destroy()
 */
TURNTILE_NODISCARD TURNTILE_API turntile_status turntile_plan_create(const turntile_desc *desc, turntile_plan **plan);

/**
 * Destroys a plan.
 * @param plan a plan or NULL; if it is for a GPU, all work that it queued must have ended
 */
TURNTILE_API void turntile_plan_destroy(turntile_plan *plan);

/** @return bytes of workspace that a run of `plan` needs; 0 out of place, and 0 if `plan` is NULL */
TURNTILE_API size_t turntile_plan_workspace(const turntile_plan *plan);

/**
 * Writes a description of a plan (route, stages, estimated time), like snprintf.
 * @param plan a plan
 * @param text buffer, receives at most text_bytes - 1 bytes and a NUL; NULL if text_bytes is 0
 * @param text_bytes size of `text` in bytes
 * @return the size of the whole text in bytes with its NUL; 0 if `plan` is NULL
 */
TURNTILE_API size_t turntile_plan_text(const turntile_plan *plan, char *text, size_t text_bytes);

/**
 * Runs a plan in place. On the CPU the run has ended when the call returns. On a GPU the call queues
 * the work on `stream`, allocates nothing and does not wait, so a CUDA graph can capture it; until the
 * work has ended, nothing else may use the buffers, and the plan must exist.
 * @param plan a plan without TURNTILE_OUT_OF_PLACE
 * @param data the array, in and out: memory of the plan's device
 * @param data_bytes size of `data`, at least that of the array; with lda or ldb, from its first element
 *        to its last, before and after
 * @param workspace at least turntile_plan_workspace() bytes of the plan's device, aligned to 8 on the
 *        CPU and to 16 on a GPU, not in `data`; on the CPU NULL lets the call allocate it
 * @param workspace_bytes size of `workspace`
 * @param stream a CUstream or cudaStream_t of the plan's context, NULL for the default stream; NULL on
 *        the CPU
 */
TURNTILE_NODISCARD TURNTILE_API turntile_status turntile_execute(const turntile_plan *plan, void *data, size_t data_bytes,
                                                                 void *workspace, size_t workspace_bytes, void *stream);

/**
 * Runs a plan that was made with TURNTILE_OUT_OF_PLACE, with the rules of turntile_execute().
 * @param plan a plan
 * @param src the source, unchanged
 * @param dst the result, written; must not overlap `src`
 * @param bytes size of `src` and of `dst`, at least that of the array
 * @param stream as for turntile_execute()
 */
TURNTILE_NODISCARD TURNTILE_API turntile_status turntile_execute_copy(const turntile_plan *plan, const void *src, void *dst,
                                                                      size_t bytes, void *stream);

#ifdef __cplusplus
}
#endif

#endif
