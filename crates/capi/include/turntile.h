/* turntile: matrices transposed, and the axes of arrays permuted, in place, on CPUs and NVIDIA GPUs.
 *
 *     float matrix[2 * 3] = {1, 2, 3, 4, 5, 6};
 *     if (turntile_transpose(matrix, 2, 3, sizeof(float)) != TURNTILE_SUCCESS)
 *         fputs(turntile_last_error(), stderr);
 *     // 3 rows of 2 now: 1 4, 2 5, 3 6
 *
 * Arrays are row-major. A column-major matrix of `rows` by `cols` is the same bytes as a row-major one of `cols` by
 * `rows`: swap the two arguments. Elements are bytes that are moved and never looked at, of any size; data have no
 * alignment to keep on the host.
 *
 * Every call that can fail answers a status, and turntile_last_error() says it in words with the numbers in it. What
 * failed has changed nothing. No call exits, prints, or throws.
 *
 * Licensed under MIT or Apache-2.0, as you like. */
#ifndef TURNTILE_H
#define TURNTILE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Version ---------------------------------------------------------------------------------------------------- */

#define TURNTILE_VERSION_MAJOR 0
#define TURNTILE_VERSION_MINOR 4
#define TURNTILE_VERSION_PATCH 0
#define TURNTILE_VERSION_NUMBER(major, minor, patch) (((uint32_t)(major) << 22) | ((uint32_t)(minor) << 12) | (uint32_t)(patch))
/* The version of this header. Patches leave it as it is. */
#define TURNTILE_VERSION \
    TURNTILE_VERSION_NUMBER(TURNTILE_VERSION_MAJOR, TURNTILE_VERSION_MINOR, TURNTILE_VERSION_PATCH)

/* The version of the library that runs, a TURNTILE_VERSION_NUMBER. Programs can use a library newer than the header, of
 * the same major version; another one refuses to plan, with TURNTILE_ERROR_VERSION. */
uint32_t turntile_version(void);

/* ---- Errors ----------------------------------------------------------------------------------------------------- */

typedef enum turntile_status {
    TURNTILE_SUCCESS = 0,
    TURNTILE_ERROR_ARGUMENT = 1,  /* NULL, axes that are no order, a flag or device that there is not, elements of 0 bytes */
    TURNTILE_ERROR_OVERFLOW = 2,  /* more bytes than an address space has */
    TURNTILE_ERROR_LENGTH = 3,    /* memory shorter than what it is to hold */
    TURNTILE_ERROR_WORKSPACE = 4, /* a workspace smaller than turntile_plan_workspace() */
    TURNTILE_ERROR_ALIGNMENT = 5, /* an address that is not a multiple of what it must be */
    TURNTILE_ERROR_OVERLAP = 6,   /* buffers that share bytes */
    TURNTILE_ERROR_MEMORY = 7,    /* no memory for a workspace */
    TURNTILE_ERROR_PLAN = 8,      /* no plan does what the descriptor asks for */
    TURNTILE_ERROR_DEVICE = 9,    /* no GPU, no driver, a library built without GPUs, or the driver refuses */
    TURNTILE_ERROR_VERSION = 10,  /* the library is older than the header, or of another major version */
    TURNTILE_ERROR_INTERNAL = 11, /* a defect of the library, please report it; data of a run may be in any order */
    TURNTILE_ERROR_RANKS = 12,    /* of turntile_mpi.h: processes ask for different things, or cannot be reached */
    TURNTILE_ERROR_LOST = 13      /* the data are incomplete: of turntile_mpi.h, some did not arrive; a GPU refused half of a run */
} turntile_status;

/* What went wrong in the last call of the calling thread that failed, in words; "" if none did. It stays until the
 * thread's next call that fails. */
const char *turntile_last_error(void);

/* "TURNTILE_ERROR_LENGTH" and so on; "unknown" of other numbers. */
const char *turntile_status_name(int status);

/* ---- Without a plan --------------------------------------------------------------------------------------------- */

/* Transposes a row-major matrix of `rows` by `cols` elements of `elem_bytes` bytes in place, on all threads. Sides of 0
 * and 1 are fine. The workspace, at most 2% of the matrix and 1 MiB for each thread, is allocated for the call;
 * matrices up to 16 KiB take none. */
turntile_status turntile_transpose(void *data, size_t rows, size_t cols, size_t elem_bytes);

/* Permutes the axes of a row-major array in place: axis i of the result is axis axes[i] of `extents`, and the result is
 * row-major too. (8, 3, 50, 40) by (0, 2, 3, 1) becomes (8, 50, 40, 3). At most TURNTILE_MOST_AXES axes. */
turntile_status turntile_permute(void *data, size_t rank, const size_t *extents, const size_t *axes, size_t elem_bytes);

/* Transposes the matrix in `from` into `to`, which do not overlap: for when there is memory for two. */
turntile_status turntile_transpose_into(void *to, const void *from, size_t rows, size_t cols, size_t elem_bytes);

/* ---- Plans ------------------------------------------------------------------------------------------------------ */

/* What is to be planned. Begin with TURNTILE_DESC_INIT, then say what is not to be as it is:
 *
 *     turntile_desc desc = TURNTILE_DESC_INIT;
 *     desc.elem_bytes = sizeof(float), desc.rank = 2, desc.extents = (size_t[]){300, 200}, desc.axes = (size_t[]){1, 0};
 *
 * The arrays are read while the plan is made and not afterwards. Later versions add fields at the end; `size` and
 * `version` say which of them the program knows. */
typedef struct turntile_desc {
    size_t size;           /* sizeof(turntile_desc) */
    uint32_t version;      /* TURNTILE_VERSION */
    uint32_t device;       /* TURNTILE_HOST or TURNTILE_CUDA */
    int32_t device_index;  /* of GPUs: the driver's number, whose primary context is used, or TURNTILE_CUDA_CURRENT */
    uint32_t flags;        /* TURNTILE_OUT_OF_PLACE | TURNTILE_NO_WORKSPACE */
    size_t elem_bytes;     /* bytes of an element, 1 or more */
    size_t rank;           /* axes, at most TURNTILE_MOST_AXES */
    const size_t *extents; /* `rank` extents of the source, slowest first: of a matrix rows, columns */
    const size_t *axes;    /* axis i of the result is axis axes[i] of the source: of a transposition 1, 0 */
    size_t batch;          /* equal arrays, one after the other in memory; 0 means 1 */
    size_t threads;        /* of the host, at most; 0 means one for each core (or RAYON_NUM_THREADS) */
    size_t workspace_limit;  /* bytes of workspace at most; 0 means 2% and 1 MiB a thread, on a GPU 2% or 16 MiB if that is more,
                              and with lda or ldb the elements between rows that are in the way */
    size_t alignment;      /* what device addresses are multiples of, a power of two; 0 means 16 */
    size_t lda;            /* of a matrix in place: elements from a row to the next, before; 0 means cols */
    size_t ldb;            /* the same afterwards; 0 means rows. What lies between rows stays as it is */
} turntile_desc;

#define TURNTILE_DESC_INIT {sizeof(turntile_desc), TURNTILE_VERSION, TURNTILE_HOST, 0, 0, 0, 0, NULL, NULL, 0, 0, 0, 0, 0, 0}

#define TURNTILE_MOST_AXES 64

/* device */
#define TURNTILE_HOST 0
#define TURNTILE_CUDA 1
/* device_index: the GPU of the thread's current context, which must be a primary one (the CUDA runtime's are). */
#define TURNTILE_CUDA_CURRENT (-1)
/* flags */
#define TURNTILE_OUT_OF_PLACE 1 /* into another buffer, by turntile_execute_into() */
#define TURNTILE_NO_WORKSPACE 2 /* a cap of 0 bytes */

/* A plan: inert, and the same for any number of runs, from any thread, at the same time too where each run has a
 * workspace of its own. */
typedef struct turntile_plan turntile_plan;

/* Plans, and on a GPU loads the kernels. `*plan` is the plan, or NULL on failure. */
turntile_status turntile_plan_create(const turntile_desc *desc, turntile_plan **plan);

/* NULL is fine. A plan for a GPU holds the kernels: destroy it after the work that it queued has ended. */
void turntile_plan_destroy(turntile_plan *plan);

/* Bytes of workspace that a run takes; 0 out of place. */
size_t turntile_plan_workspace(const turntile_plan *plan);

/* Writes the plan as people read it (route, stages, estimated time) to `text`, cut to `text_bytes` bytes and ended by a
 * NUL, and answers how many bytes all of it takes with its NUL; 0 when `plan` is NULL. (plan, NULL, 0) only asks. */
size_t turntile_plan_text(const turntile_plan *plan, char *text, size_t text_bytes);

/* Runs the plan in place on the first bytes of `data`, of which there are `data_bytes`. With leading dimensions that is
 * from the first element to the last, before and afterwards.
 *
 * On the host it is done when the call returns. `workspace` is memory at a multiple of 8, apart from the data; NULL and
 * 0 let the call allocate it. `stream` is NULL.
 *
 * On a GPU the call queues work on `stream` (a CUstream or cudaStream_t of the plan's context, NULL for the default
 * one), allocates nothing and waits for nothing; it can be captured in a graph. `data` and `workspace` are device
 * memory, the workspace at a multiple of 16. Until the work has ended nothing else uses either, and the plan lives. */
turntile_status turntile_execute(const turntile_plan *plan, void *data, size_t data_bytes, void *workspace,
                                 size_t workspace_bytes, void *stream);

/* Runs a plan made with TURNTILE_OUT_OF_PLACE: the array in `from` into `to`, each of `data_bytes` bytes or more, apart
 * from one another. The rest as above. */
turntile_status turntile_execute_into(const turntile_plan *plan, void *to, const void *from, size_t data_bytes,
                                      void *stream);

#ifdef __cplusplus
}
#endif

#endif
