/* Tests GPU plans against naive loops: on streams, in a graph, in a numbered and in the current primary context; and the
 * errors of calls. Loads the driver at run time as the library does, so it links only libturntile.
 *
 *   cc -O2 -Wall crates/capi/tests/gpu.c -o gpu -IPREFIX/include -LPREFIX/lib -lturntile -ldl && ./gpu [DEVICE] */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <turntile.h>

typedef unsigned long long address;

static int (*init)(unsigned);
static int (*device_get)(int *, int);
static int (*device_name)(char *, int, int);
static int (*primary_retain)(void **, int);
static int (*context_set)(void *);
static int (*context_get)(void **);
static int (*allocate)(address *, size_t);
static int (*release)(address);
static int (*to_device)(address, const void *, size_t);
static int (*context_wait)(void);
static int (*to_host)(void *, address, size_t);
static int (*stream_create)(void **, unsigned);
static int (*stream_wait)(void *);
static int (*capture_begin)(void *, int);
static int (*capture_end)(void *, void **);
static int (*instantiate)(void **, void *, unsigned long long);
static int (*graph_launch)(void *, void *);

static int passed = 0, failed = 0;

static void check(int good, const char *what, int line) {
    good ? passed++ : failed++;
    if (!good)
        fprintf(stderr, "line %d: %s; last error: %s\n", line, what, turntile_last_error());
}
#define CHECK(what) check((what), #what, __LINE__)
#define SAID(call, want, text) check((call) == (want) && strstr(turntile_last_error(), text), #call, __LINE__)

static void driver(void) {
    void *library = dlopen("libcuda.so.1", RTLD_NOW);
    struct { void *function; const char *name; } names[] = {
        {&init, "cuInit"}, {&device_get, "cuDeviceGet"}, {&device_name, "cuDeviceGetName"},
        {&primary_retain, "cuDevicePrimaryCtxRetain"}, {&context_set, "cuCtxSetCurrent"},
        {&context_get, "cuCtxGetCurrent"}, {&allocate, "cuMemAlloc_v2"}, {&release, "cuMemFree_v2"},
        {&to_device, "cuMemcpyHtoD_v2"}, {&context_wait, "cuCtxSynchronize"}, {&to_host, "cuMemcpyDtoH_v2"}, {&stream_create, "cuStreamCreate"},
        {&stream_wait, "cuStreamSynchronize"}, {&capture_begin, "cuStreamBeginCapture_v2"},
        {&capture_end, "cuStreamEndCapture"}, {&instantiate, "cuGraphInstantiateWithFlags"},
        {&graph_launch, "cuGraphLaunch"},
    };
    for (size_t k = 0; library && k < sizeof names / sizeof *names; k++) {
        void *found = dlsym(library, names[k].name);
        if (!found) {
            fprintf(stderr, "the driver has no %s\n", names[k].name);
            exit(2);
        }
        memcpy(names[k].function, &found, sizeof found);
    }
    if (!library || init(0)) {
        fprintf(stderr, "no driver here, or no GPU\n");
        exit(2);
    }
}

static void must(int code, const char *what) {
    if (code) {
        fprintf(stderr, "%s: driver code %d\n", what, code);
        exit(2);
    }
}
#define MUST(call) must((call), #call)

/* Waits for the copy: it may still run when the call returns, and non-blocking streams do not wait for it. */
static void upload(address to, const void *from, size_t bytes) {
    MUST(to_device(to, from, bytes));
    MUST(context_wait());
}

static unsigned char *numbered(size_t bytes) {
    unsigned char *data = malloc(bytes);
    uint32_t state = 1;
    for (size_t k = 0; k < bytes; k++) {
        state = state * 1664525u + 1013904223u;
        data[k] = (unsigned char)(state >> 24);
    }
    return data;
}

/* Returns the permuted array, by a naive loop. */
static unsigned char *permuted(const unsigned char *from, size_t ndim, const size_t *shape, const size_t *axes,
                               size_t itemsize) {
    size_t strides[64], at[64] = {0}, elements = 1;
    for (size_t axis = ndim; axis-- > 0;) {
        strides[axis] = elements;
        elements *= shape[axis];
    }
    unsigned char *to = malloc(elements * itemsize);
    for (size_t k = 0; k < elements; k++) {
        size_t source = 0;
        for (size_t i = 0; i < ndim; i++)
            source += at[i] * strides[axes[i]];
        memcpy(to + k * itemsize, from + source * itemsize, itemsize);
        for (size_t i = ndim; i-- > 0;) {
            if (++at[i] < shape[axes[i]])
                break;
            at[i] = 0;
        }
    }
    return to;
}

static turntile_desc described(size_t ndim, const size_t *shape, const size_t *axes, size_t itemsize, int device) {
    turntile_desc desc = TURNTILE_DESC_INIT;
    desc.device = TURNTILE_CUDA, desc.device_index = device;
    desc.itemsize = itemsize, desc.ndim = ndim, desc.shape = shape, desc.axes = axes;
    return desc;
}

static void one(size_t ndim, const size_t *shape, const size_t *axes, size_t itemsize, int device, void *stream) {
    size_t bytes = itemsize;
    for (size_t axis = 0; axis < ndim; axis++)
        bytes *= shape[axis];
    unsigned char *before = numbered(bytes), *want = permuted(before, ndim, shape, axes, itemsize);
    unsigned char *got = malloc(bytes);
    address data, other, workspace = 0;
    MUST(allocate(&data, bytes));
    MUST(allocate(&other, bytes));

    turntile_desc desc = described(ndim, shape, axes, itemsize, device);
    turntile_plan *plan, *into;
    CHECK(turntile_plan_create(&desc, &plan) == TURNTILE_SUCCESS);
    size_t need = turntile_plan_workspace(plan);
    if (need > 0)
        MUST(allocate(&workspace, need));
    /* Twice: a run does not change the plan. */
    for (int run = 0; run < 2; run++) {
        upload(data, before, bytes);
        CHECK(turntile_execute(plan, (void *)data, bytes, (void *)workspace, need, stream) == TURNTILE_SUCCESS);
        MUST(stream_wait(stream));
        MUST(to_host(got, data, bytes));
        CHECK(memcmp(got, want, bytes) == 0);
    }

    desc.flags = TURNTILE_OUT_OF_PLACE;
    CHECK(turntile_plan_create(&desc, &into) == TURNTILE_SUCCESS);
    CHECK(turntile_plan_workspace(into) == 0);
    upload(other, before, bytes);
    CHECK(turntile_execute_copy(into, (void *)other, (void *)data, bytes, stream) == TURNTILE_SUCCESS);
    MUST(stream_wait(stream));
    MUST(to_host(got, data, bytes));
    CHECK(memcmp(got, want, bytes) == 0);

    if (stream) {
        void *graph, *ready;
        MUST(capture_begin(stream, 2));
        CHECK(turntile_execute(plan, (void *)data, bytes, (void *)workspace, need, stream) == TURNTILE_SUCCESS);
        MUST(capture_end(stream, &graph));
        MUST(instantiate(&ready, graph, 0));
        for (int run = 0; run < 2; run++) {
            upload(data, before, bytes);
            MUST(graph_launch(ready, stream));
            MUST(stream_wait(stream));
            MUST(to_host(got, data, bytes));
            CHECK(memcmp(got, want, bytes) == 0);
        }
    }
    turntile_plan_destroy(plan);
    turntile_plan_destroy(into);
    MUST(release(data));
    MUST(release(other));
    if (workspace)
        MUST(release(workspace));
    free(before), free(want), free(got);
}

static const size_t MATRIX[] = {1, 0};

/* Leading dimensions: compares the result, and bytes that belong neither to it nor to the source. */
static void leading(size_t rows, size_t cols, size_t lda, size_t ldb, size_t itemsize, int device, void *stream) {
    size_t shape[] = {rows, cols}, before_span = (rows - 1) * lda + cols, after_span = (cols - 1) * ldb + rows;
    size_t span = before_span > after_span ? before_span : after_span, bytes = span * itemsize;
    unsigned char *before = numbered(bytes), *want = malloc(bytes), *got = malloc(bytes), *known = malloc(span);
    memcpy(want, before, bytes), memset(known, 1, span);
    for (size_t i = 0; i < rows; i++)
        for (size_t j = 0; j < cols; j++)
            known[i * lda + j] = lda == ldb;
    for (size_t i = 0; i < rows; i++)
        for (size_t j = 0; j < cols; j++) {
            memcpy(want + (j * ldb + i) * itemsize, before + (i * lda + j) * itemsize, itemsize);
            known[j * ldb + i] = 1;
        }
    turntile_desc desc = described(2, shape, MATRIX, itemsize, device);
    desc.lda = lda, desc.ldb = ldb;
    turntile_plan *plan;
    CHECK(turntile_plan_create(&desc, &plan) == TURNTILE_SUCCESS);
    size_t need = turntile_plan_workspace(plan);
    address data, workspace = 0;
    MUST(allocate(&data, bytes));
    if (need > 0)
        MUST(allocate(&workspace, need));
    upload(data, before, bytes);
    SAID(turntile_execute(plan, (void *)data, bytes - 1, (void *)workspace, need, stream), TURNTILE_ERROR_LENGTH, "bytes");
    CHECK(turntile_execute(plan, (void *)data, bytes, (void *)workspace, need, stream) == TURNTILE_SUCCESS);
    MUST(stream_wait(stream));
    MUST(to_host(got, data, bytes));
    size_t wrong = 0;
    for (size_t k = 0; k < span; k++)
        wrong += known[k] && memcmp(got + k * itemsize, want + k * itemsize, itemsize) != 0;
    CHECK(wrong == 0);
    turntile_plan_destroy(plan);
    MUST(release(data));
    if (workspace)
        MUST(release(workspace));
    free(before), free(want), free(got), free(known);
}

static void wrong_calls(int device, void *stream) {
    size_t shape[] = {16381, 2011}, bytes = 16381ul * 2011 * 4;
    unsigned char *before = numbered(bytes), *got = malloc(bytes);
    address data, workspace;
    MUST(allocate(&data, bytes + 64));
    upload(data, before, bytes);
    turntile_desc desc = described(2, shape, MATRIX, 4, device);
    turntile_plan *plan, *into;
    CHECK(turntile_plan_create(&desc, &plan) == TURNTILE_SUCCESS);
    desc.flags = TURNTILE_OUT_OF_PLACE;
    CHECK(turntile_plan_create(&desc, &into) == TURNTILE_SUCCESS);
    size_t need = turntile_plan_workspace(plan);
    CHECK(need > 0);
    MUST(allocate(&workspace, need + 64));
    void *at = (void *)data, *room = (void *)workspace;
    SAID(turntile_execute(plan, at, bytes - 1, room, need, stream), TURNTILE_ERROR_LENGTH, "bytes");
    SAID(turntile_execute(plan, at, bytes, room, need - 1, stream), TURNTILE_ERROR_WORKSPACE, "workspace");
    SAID(turntile_execute(plan, at, bytes, NULL, 0, stream), TURNTILE_ERROR_WORKSPACE, "workspace");
    SAID(turntile_execute(plan, NULL, bytes, room, need, stream), TURNTILE_ERROR_ARGUMENT, "NULL");
    SAID(turntile_execute(plan, (void *)(data + 4), bytes, room, need, stream), TURNTILE_ERROR_ALIGNMENT, "multiple");
    SAID(turntile_execute(plan, at, bytes, (void *)(workspace + 8), need, stream), TURNTILE_ERROR_ALIGNMENT, "multiple");
    SAID(turntile_execute(plan, at, bytes, at, need, stream), TURNTILE_ERROR_OVERLAP, "overlap");
    SAID(turntile_execute(into, at, bytes, room, need, stream), TURNTILE_ERROR_ARGUMENT, "place");
    SAID(turntile_execute_copy(plan, at, room, bytes, stream), TURNTILE_ERROR_ARGUMENT, "place");
    SAID(turntile_execute_copy(into, (void *)(data + 16), at, bytes, stream), TURNTILE_ERROR_OVERLAP, "overlap");
    MUST(stream_wait(stream));
    MUST(to_host(got, data, bytes));
    CHECK(memcmp(got, before, bytes) == 0);

    /* No workspace. */
    turntile_plan *bare;
    desc.flags = 0, desc.workspace_limit = 0;
    size_t small[] = {301, 203};
    desc.shape = small;
    CHECK(turntile_plan_create(&desc, &bare) == TURNTILE_SUCCESS && turntile_plan_workspace(bare) == 0);
    CHECK(turntile_execute(bare, at, 301 * 203 * 4, NULL, 0, stream) == TURNTILE_SUCCESS);
    MUST(stream_wait(stream));
    MUST(to_host(got, data, 301 * 203 * 4));
    unsigned char *want = permuted(before, 2, small, MATRIX, 4);
    CHECK(memcmp(got, want, 301 * 203 * 4) == 0);

    turntile_plan_destroy(bare), turntile_plan_destroy(plan), turntile_plan_destroy(into);
    MUST(release(data));
    MUST(release(workspace));
    free(before), free(got), free(want);
}

int main(int argc, char **argv) {
    int device = argc > 1 ? atoi(argv[1]) : 0, number;
    void *context, *stream, *current;
    char name[100] = "";
    driver();
    MUST(device_get(&number, device));
    MUST(device_name(name, sizeof name, number));
    MUST(primary_retain(&context, number));
    MUST(context_set(context));
    MUST(stream_create(&stream, 1));
    static const size_t sizes[] = {1, 2, 4, 8, 12, 16};
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        int by = s % 2 ? TURNTILE_CUDA_CURRENT : device;
        void *on = s % 3 == 2 ? NULL : stream;
        one(2, (size_t[]){7200, 1800}, MATRIX, sizes[s], by, on);
        one(2, (size_t[]){1024, 1024}, MATRIX, sizes[s], by, on);
        one(2, (size_t[]){4093, 2039}, MATRIX, sizes[s], by, on);
        one(2, (size_t[]){100003, 3}, MATRIX, sizes[s], by, on);
        one(3, (size_t[]){61, 43, 257}, (size_t[]){2, 0, 1}, sizes[s], by, on);
        one(4, (size_t[]){8, 3, 224, 56}, (size_t[]){0, 2, 3, 1}, sizes[s], by, on);
        leading(2000, 1500, 2048, 2048, sizes[s], by, on);
        leading(300, 200, 201, 333, sizes[s], by, on);
        leading(3000, 2100, 2111, 3500, sizes[s], by, on);
    }
    wrong_calls(device, stream);
    /* The current context is unchanged. */
    MUST(context_get(&current));
    CHECK(current == context);
    /* CPU plans are in the same library. */
    float matrix[] = {1, 2, 3, 4, 5, 6}, turned[] = {1, 4, 2, 5, 3, 6};
    CHECK(turntile_transpose(matrix, 2, 3, 4) == TURNTILE_SUCCESS && memcmp(matrix, turned, sizeof turned) == 0);
    printf("%s, libturntile %u.%u.%u\n%d passed, %d failed\n", name, turntile_version() >> 22,
           turntile_version() >> 12 & 0x3ff, turntile_version() & 0xfff, passed, failed);
    return failed > 0;
}
