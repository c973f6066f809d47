/* Tests every call of turntile.h against naive loops, and every error. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <turntile.h>
#include <unistd.h>

static int failures = 0;
static int checks = 0;

#define CHECK(what) (checks++, (what) ? (void)0 : fail(#what, __LINE__))

static void fail(const char *what, int line) {
    failures++;
    fprintf(stderr, "line %d: %s; last error: %s\n", line, what, turntile_last_error());
}

/* Returns bytes that differ between and within elements. */
static unsigned char *numbered(size_t elements, size_t itemsize) {
    unsigned char *data = malloc(elements * itemsize + 1);
    for (size_t k = 0; k < elements; k++)
        for (size_t b = 0; b < itemsize; b++)
            data[k * itemsize + b] = (unsigned char)(k * 31 + (k >> 8) * 7 + b * 101);
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
    unsigned char *to = malloc(elements * itemsize + 1);
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

static const size_t MATRIX[2] = {1, 0};

static turntile_desc described(size_t ndim, const size_t *shape, const size_t *axes, size_t itemsize) {
    turntile_desc desc = TURNTILE_DESC_INIT;
    desc.itemsize = itemsize;
    desc.ndim = ndim;
    desc.shape = shape;
    desc.axes = axes;
    return desc;
}

/* Compares the calls without a plan and the plans, with and without a workspace, in place and not. */
static void all_ways(size_t ndim, const size_t *shape, const size_t *axes, size_t itemsize, size_t threads) {
    size_t elements = 1;
    for (size_t axis = 0; axis < ndim; axis++)
        elements *= shape[axis];
    size_t bytes = elements * itemsize;
    unsigned char *before = numbered(elements, itemsize);
    unsigned char *want = permuted(before, ndim, shape, axes, itemsize);
    unsigned char *data = malloc(bytes + 1);

    memcpy(data, before, bytes);
    CHECK(turntile_permute(data, ndim, shape, axes, itemsize) == TURNTILE_SUCCESS);
    CHECK(memcmp(data, want, bytes) == 0);

    int matrix = ndim == 2 && axes[0] == 1;
    if (matrix) {
        memcpy(data, before, bytes);
        CHECK(turntile_transpose(data, shape[0], shape[1], itemsize) == TURNTILE_SUCCESS);
        CHECK(memcmp(data, want, bytes) == 0);
        memset(data, 0, bytes);
        CHECK(turntile_transpose_copy(before, data, shape[0], shape[1], itemsize) == TURNTILE_SUCCESS);
        CHECK(memcmp(data, want, bytes) == 0);
    }

    for (int own = 0; own < 2; own++) {
        turntile_desc desc = described(ndim, shape, axes, itemsize);
        desc.threads = threads;
        turntile_plan *plan = NULL;
        CHECK(turntile_plan_create(&desc, &plan) == TURNTILE_SUCCESS && plan != NULL);
        size_t need = turntile_plan_workspace(plan);
        void *workspace = own ? NULL : malloc(need + 1);
        memcpy(data, before, bytes);
        CHECK(turntile_execute(plan, data, bytes, workspace, own ? 0 : need, NULL) == TURNTILE_SUCCESS);
        CHECK(memcmp(data, want, bytes) == 0);
        free(workspace);
        turntile_plan_destroy(plan);
    }

    turntile_desc desc = described(ndim, shape, axes, itemsize);
    desc.flags = TURNTILE_OUT_OF_PLACE;
    desc.threads = threads;
    turntile_plan *plan = NULL;
    CHECK(turntile_plan_create(&desc, &plan) == TURNTILE_SUCCESS);
    CHECK(turntile_plan_workspace(plan) == 0);
    memset(data, 0, bytes);
    CHECK(turntile_execute_copy(plan, before, data, bytes, NULL) == TURNTILE_SUCCESS);
    CHECK(memcmp(data, want, bytes) == 0);
    turntile_plan_destroy(plan);
    free(before);
    free(want);
    free(data);
}

static void shapes(size_t most) {
    static const size_t sizes[] = {1, 3, 4, 8, 24};
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        for (size_t rows = 0; rows <= most; rows++)
            for (size_t cols = 0; cols <= most; cols++)
                all_ways(2, (size_t[]){rows, cols}, MATRIX, sizes[s], 1);
        all_ways(2, (size_t[]){123, 77}, MATRIX, sizes[s], 2);
        all_ways(2, (size_t[]){211, 307}, MATRIX, sizes[s], 0);
        all_ways(2, (size_t[]){9001, 3}, MATRIX, sizes[s], 2);
        all_ways(3, (size_t[]){11, 29, 31}, (size_t[]){2, 0, 1}, sizes[s], 2);
        all_ways(4, (size_t[]){3, 17, 5, 23}, (size_t[]){3, 1, 0, 2}, sizes[s], 1);
        all_ways(3, (size_t[]){4, 5, 6}, (size_t[]){0, 1, 2}, sizes[s], 1);
    }
    all_ways(0, NULL, NULL, 8, 1);
    all_ways(1, (size_t[]){1000}, (size_t[]){0}, 8, 1);
}

static void batches_limits_and_addresses(void) {
    size_t shape[2] = {150, 70}, bytes = 5 * 150 * 70 * 4;
    turntile_desc desc = described(2, shape, MATRIX, 4);
    desc.batch = 5;
    unsigned char *before = numbered(5 * 150 * 70, 4), *data = malloc(bytes + 8), *want = malloc(bytes);
    for (int b = 0; b < 5; b++) {
        unsigned char *one = permuted(before + b * 42000, 2, shape, MATRIX, 4);
        memcpy(want + b * 42000, one, 42000);
        free(one);
    }
    size_t limits[] = {SIZE_MAX, 1 << 20, 1000, 16, 7, 0};
    for (int k = 0; k < 6; k++) {
        desc.workspace_limit = limits[k];
        turntile_plan *plan = NULL;
        CHECK(turntile_plan_create(&desc, &plan) == TURNTILE_SUCCESS);
        size_t need = turntile_plan_workspace(plan);
        CHECK(need <= desc.workspace_limit);
        /* Data need no alignment. */
        for (size_t odd = 0; odd < 8; odd += 3) {
            memcpy(data + odd, before, bytes);
            CHECK(turntile_execute(plan, data + odd, bytes, NULL, 0, NULL) == TURNTILE_SUCCESS);
            CHECK(memcmp(data + odd, want, bytes) == 0);
        }
        turntile_plan_destroy(plan);
    }
    free(before);
    free(data);
    free(want);
}

/* Leading dimensions before and after; elements between rows are unchanged. */
static void leading_dimensions(void) {
    static const size_t cases[][4] = {{5, 7, 7, 5}, {5, 7, 9, 9}, {5, 7, 8, 6}, {123, 77, 80, 130}, {300, 200, 256, 300},
                                      {211, 307, 307, 500}, {64, 64, 100, 100}, {9001, 3, 4, 9001}};
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++)
        for (int turned = 0; turned < 2; turned++)
            for (int own = 0; own < 2; own++) {
                size_t rows = cases[c][0], cols = cases[c][1], lda = cases[c][2];
                size_t after_rows = turned ? cols : rows, after_cols = turned ? rows : cols;
                size_t ldb = turned ? cases[c][3] : cols + c;
                size_t before_span = (rows - 1) * lda + cols, after_span = (after_rows - 1) * ldb + after_cols;
                size_t span = before_span > after_span ? before_span : after_span, bytes = span * 8;
                uint64_t *data = malloc(bytes + 8);
                char *touched = calloc(span + 1, 1);
                for (size_t k = 0; k <= span; k++)
                    data[k] = k;
                turntile_desc desc = described(2, (size_t[]){rows, cols}, turned ? MATRIX : (size_t[]){0, 1}, 8);
                desc.lda = lda == cols ? 0 : lda;
                desc.ldb = ldb;
                turntile_plan *plan;
                CHECK(turntile_plan_create(&desc, &plan) == TURNTILE_SUCCESS);
                size_t need = turntile_plan_workspace(plan);
                void *workspace = own ? NULL : malloc(need + 1);
                CHECK(turntile_execute(plan, data, bytes - 1, NULL, 0, NULL) == TURNTILE_ERROR_LENGTH);
                CHECK(turntile_execute(plan, data, bytes, workspace, own ? 0 : need, NULL) == TURNTILE_SUCCESS);
                int good = 1;
                for (size_t i = 0; i < rows; i++)
                    for (size_t j = 0; j < cols; j++) {
                        size_t to = turned ? j * ldb + i : i * ldb + j;
                        good &= data[to] == i * lda + j;
                        touched[to] = touched[i * lda + j] = 1;
                    }
                for (size_t k = 0; k <= span; k++)
                    good &= touched[k] || data[k] == k;
                CHECK(good);
                CHECK(turntile_execute_copy(plan, data, data, bytes, NULL) == TURNTILE_ERROR_ARGUMENT);
                turntile_plan_destroy(plan);
                free(data), free(touched), free(workspace);
            }
}

static void said(turntile_status status, turntile_status want, const char *text, int line) {
    checks++;
    if (status != want || !strstr(turntile_last_error(), text)) {
        failures++;
        fprintf(stderr, "line %d: %s, wanted %s with \"%s\": %s\n", line, turntile_status_name(status),
                turntile_status_name(want), text, turntile_last_error());
    }
}
#define SAID(call, want, text) said(call, want, text, __LINE__)

static turntile_status create(turntile_desc desc) {
    turntile_plan *plan = (turntile_plan *)&desc;
    turntile_status status = turntile_plan_create(&desc, &plan);
    CHECK((status == TURNTILE_SUCCESS) == (plan != NULL));
    turntile_plan_destroy(plan);
    return status;
}

static void descriptors(void) {
    size_t shape[2] = {300, 200};
    turntile_desc good = described(2, shape, MATRIX, 4), desc = good;
    CHECK(create(desc) == TURNTILE_SUCCESS);
    turntile_plan *plan;
    SAID(turntile_plan_create(NULL, &plan), TURNTILE_ERROR_ARGUMENT, "desc is NULL");
    SAID(turntile_plan_create(&good, NULL), TURNTILE_ERROR_ARGUMENT, "plan is NULL");
    desc.version = TURNTILE_VERSION + TURNTILE_VERSION_NUMBER(0, 1, 0);
    SAID(create(desc), TURNTILE_ERROR_VERSION, "compiled for turntile 0.5.0, the library is 0.4.0");
    desc.version = TURNTILE_VERSION_NUMBER(0, 3, 0);
    SAID(create(desc), TURNTILE_ERROR_VERSION, "compiled for turntile 0.3.0, the library is 0.4.0");
    desc.version = TURNTILE_VERSION + 1;
    CHECK(create(desc) == TURNTILE_SUCCESS);
    desc = good, desc.device = 7;
    SAID(create(desc), TURNTILE_ERROR_ARGUMENT, "device is 7");
    desc = good, desc.device_index = 1;
    SAID(create(desc), TURNTILE_ERROR_ARGUMENT, "device_index is 1");
    desc = good, desc.device = TURNTILE_CUDA, desc.device_index = -2;
    SAID(create(desc), TURNTILE_ERROR_ARGUMENT, "device_index is -2");
    desc = good, desc.flags = 2;
    SAID(create(desc), TURNTILE_ERROR_ARGUMENT, "flags is 2");
    desc = good, desc.alignment = 24;
    SAID(create(desc), TURNTILE_ERROR_ARGUMENT, "alignment is 24");
    desc = good, desc.itemsize = 0;
    SAID(create(desc), TURNTILE_ERROR_ARGUMENT, "at least one byte");
    desc = good, desc.shape = NULL;
    SAID(create(desc), TURNTILE_ERROR_ARGUMENT, "shape is NULL");
    desc = good, desc.axes = NULL;
    SAID(create(desc), TURNTILE_ERROR_ARGUMENT, "axes is NULL");
    desc = good, desc.axes = (size_t[]){1, 1};
    SAID(create(desc), TURNTILE_ERROR_ARGUMENT, "[1, 1]");
    desc = good, desc.axes = (size_t[]){1, (size_t)-1};
    SAID(create(desc), TURNTILE_ERROR_ARGUMENT, "not a permutation");
    desc = good, desc.ndim = 65;
    SAID(create(desc), TURNTILE_ERROR_ARGUMENT, "65 axes");
    desc = good, desc.ndim = (size_t)-1;
    SAID(create(desc), TURNTILE_ERROR_ARGUMENT, "at most 64");
    desc = good, desc.shape = (size_t[]){(size_t)-1, 2};
    SAID(create(desc), TURNTILE_ERROR_OVERFLOW, "exceed");
    desc = good, desc.batch = (size_t)-1;
    SAID(create(desc), TURNTILE_ERROR_OVERFLOW, "exceed");
    desc = good, desc.lda = 199;
    SAID(create(desc), TURNTILE_ERROR_ARGUMENT, "lda is 199");
    desc = good, desc.ldb = (size_t)-1;
    SAID(create(desc), TURNTILE_ERROR_OVERFLOW, "exceed");
    desc = good, desc.ldb = 300, desc.batch = 2;
    SAID(create(desc), TURNTILE_ERROR_ARGUMENT, "batch");
    desc = good, desc.ldb = 300, desc.ndim = 1, desc.axes = (size_t[]){0};
    SAID(create(desc), TURNTILE_ERROR_ARGUMENT, "ndim 2");
    desc = good, desc.shape = (size_t *)((char *)shape + 1);
    SAID(create(desc), TURNTILE_ERROR_ALIGNMENT, "shape");
}

/* Compares flips and quarter turns of matrices with a naive loop, by a call and by a plan. */
static void flips(size_t rows, size_t cols, size_t itemsize) {
    size_t shape[2] = {rows, cols}, bytes = rows * cols * itemsize;
    unsigned char *before = numbered(rows * cols, itemsize), *want = malloc(bytes + 1), *data = malloc(bytes + 1);
    for (unsigned way = 0; way < 8; way++) {
        size_t turned = way / 4, after[2] = {turned ? cols : rows, turned ? rows : cols};
        uint64_t flip = way % 4;
        for (size_t i = 0; i < after[0]; i++)
            for (size_t j = 0; j < after[1]; j++) {
                size_t a = flip & 1 ? after[0] - 1 - i : i, b = flip & 2 ? after[1] - 1 - j : j;
                size_t from = turned ? b * cols + a : a * cols + b;
                memcpy(want + (i * after[1] + j) * itemsize, before + from * itemsize, itemsize);
            }
        memcpy(data, before, bytes);
        int k = turned ? (flip == 1 ? -3 : 3) : flip == 3 ? 2 : 4;
        if (turned ? flip == 1 || flip == 2 : flip == 0 || flip == 3) {
            CHECK(turntile_rot90(data, 2, shape, k, 0, 1, itemsize) == TURNTILE_SUCCESS);
            CHECK(memcmp(data, want, bytes) == 0);
        }
        if (!turned) {
            memcpy(data, before, bytes);
            CHECK(turntile_flip(data, 2, shape, flip, itemsize) == TURNTILE_SUCCESS);
            CHECK(memcmp(data, want, bytes) == 0);
        }
        turntile_desc desc = described(2, shape, turned ? MATRIX : (size_t[]){0, 1}, itemsize);
        desc.flip = flip;
        turntile_plan *plan;
        CHECK(turntile_plan_create(&desc, &plan) == TURNTILE_SUCCESS);
        memcpy(data, before, bytes);
        CHECK(turntile_execute(plan, data, bytes, NULL, 0, NULL) == TURNTILE_SUCCESS);
        CHECK(memcmp(data, want, bytes) == 0);
        turntile_plan_destroy(plan);
    }
    SAID(turntile_flip(data, 2, shape, 4, itemsize), TURNTILE_ERROR_ARGUMENT, "flip [2]: each axis must be in 0..2, and occur once");
    SAID(turntile_rot90(data, 2, shape, 1, 1, 1, itemsize), TURNTILE_ERROR_ARGUMENT, "[1, 1]");
    free(before), free(want), free(data);
}

/* Returns element `at` of a packed row, 0 beyond its end. */
static unsigned element(const unsigned char *row, size_t at, size_t end, int bits, int bitorder) {
    size_t per_byte = (size_t)(8 / bits), place = at % per_byte;
    size_t shift = (bitorder == TURNTILE_LITTLE ? place : per_byte - 1 - place) * (size_t)bits;
    return at < end ? row[at / per_byte] >> shift & ((1u << bits) - 1) : 0;
}

/* Compares transpositions of packed matrices with their elements, into another buffer and in place. */
static void packed(size_t batch, size_t rows, size_t cols, int bits, int bitorder) {
    size_t per_byte = (size_t)(8 / bits), row = (cols + per_byte - 1) / per_byte, after = (rows + per_byte - 1) / per_byte;
    size_t bytes = batch * rows * row, after_bytes = batch * cols * after, wrong = 0;
    unsigned char *src = numbered(bytes, 1), *dst = malloc(after_bytes + 1), *data = malloc(bytes + 1);
    for (size_t i = 0; i < bytes; i++)
        data[i] = src[i] = (unsigned char)(src[i] * 167 + i / 251);
    CHECK(turntile_transpose_bits(src, dst, batch, rows, cols, bits, bitorder) == TURNTILE_SUCCESS);
    for (size_t n = 0; n < batch; n++)
        for (size_t j = 0; j < cols; j++)
            for (size_t i = 0; i < after * per_byte; i++) {
                unsigned want = i < rows ? element(src + (n * rows + i) * row, j, cols, bits, bitorder) : 0;
                wrong += element(dst + (n * cols + j) * after, i, after * per_byte, bits, bitorder) != want;
            }
    CHECK(wrong == 0);
    if (rows % per_byte == 0 && cols % per_byte == 0) {
        CHECK(turntile_transpose_bits(data, data, batch, rows, cols, bits, bitorder) == TURNTILE_SUCCESS);
        CHECK(memcmp(data, dst, bytes) == 0);
    } else {
        SAID(turntile_transpose_bits(data, data, batch, rows, cols, bits, bitorder), TURNTILE_ERROR_ARGUMENT, "multiples of");
    }
    SAID(turntile_transpose_bits(src, dst, batch, rows, cols, 3, bitorder), TURNTILE_ERROR_ARGUMENT, "bits is 3");
    SAID(turntile_transpose_bits(src, dst, batch, rows, cols, bits, 2), TURNTILE_ERROR_ARGUMENT, "bitorder is 2");
    SAID(turntile_transpose_bits(src, src + 1, batch, rows, cols, bits, bitorder), TURNTILE_ERROR_OVERLAP, "overlap");
    free(src), free(dst), free(data);
}

static void calls(void) {
    size_t shape[2] = {300, 200}, bytes = 240000;
    unsigned char *before = numbered(60000, 4), *data = numbered(60000, 4), *other = malloc(bytes);
    SAID(turntile_transpose(NULL, 2, 3, 4), TURNTILE_ERROR_ARGUMENT, "data is NULL, expected 24 bytes");
    SAID(turntile_transpose(data, 300, 200, 0), TURNTILE_ERROR_ARGUMENT, "at least one byte");
    SAID(turntile_transpose(data, (size_t)-1, 2, 4), TURNTILE_ERROR_OVERFLOW, "exceed");
    SAID(turntile_transpose(data, (size_t)-1, 0, 4), TURNTILE_ERROR_OVERFLOW, "exceed");
    CHECK(turntile_transpose(NULL, 0, 3, 4) == TURNTILE_SUCCESS);
    SAID(turntile_permute(data, 2, shape, (size_t[]){0, 2}, 4), TURNTILE_ERROR_ARGUMENT, "[0, 2]");
    SAID(turntile_permute(data, 2, NULL, MATRIX, 4), TURNTILE_ERROR_ARGUMENT, "shape is NULL");
    SAID(turntile_permute(data, 100, shape, MATRIX, 4), TURNTILE_ERROR_ARGUMENT, "100 axes, at most 64");
    SAID(turntile_transpose_copy(data + 4, data, 300, 199, 4), TURNTILE_ERROR_OVERLAP, "overlap");
    SAID(turntile_transpose_copy(data, NULL, 300, 199, 4), TURNTILE_ERROR_ARGUMENT, "dst is NULL");

    turntile_desc desc = described(2, shape, MATRIX, 4);
    turntile_plan *plan, *into;
    CHECK(turntile_plan_create(&desc, &plan) == TURNTILE_SUCCESS);
    desc.flags = TURNTILE_OUT_OF_PLACE;
    CHECK(turntile_plan_create(&desc, &into) == TURNTILE_SUCCESS);
    size_t need = turntile_plan_workspace(plan);
    CHECK(need > 0);
    char *workspace = malloc(need + 8);
    SAID(turntile_execute(NULL, data, bytes, NULL, 0, NULL), TURNTILE_ERROR_ARGUMENT, "plan is NULL");
    SAID(turntile_execute(plan, NULL, bytes, NULL, 0, NULL), TURNTILE_ERROR_ARGUMENT, "data is NULL");
    SAID(turntile_execute(plan, data, bytes - 1, NULL, 0, NULL), TURNTILE_ERROR_LENGTH, "240000 bytes, got 239999");
    SAID(turntile_execute(plan, data, bytes, workspace, need - 1, NULL), TURNTILE_ERROR_WORKSPACE, "bytes of workspace, got");
    SAID(turntile_execute(plan, data, bytes, NULL, need, NULL), TURNTILE_ERROR_ARGUMENT, "workspace is NULL");
    SAID(turntile_execute(plan, data, bytes, workspace + 4, need, NULL), TURNTILE_ERROR_ALIGNMENT, "not aligned to 8 bytes");
    SAID(turntile_execute(plan, data, bytes, data + 8, need, NULL), TURNTILE_ERROR_OVERLAP, "workspace");
    SAID(turntile_execute(plan, data, bytes, NULL, 0, workspace), TURNTILE_ERROR_ARGUMENT, "stream");
    SAID(turntile_execute(into, data, bytes, NULL, 0, NULL), TURNTILE_ERROR_ARGUMENT, "turntile_execute_copy");
    SAID(turntile_execute_copy(plan, data, other, bytes, NULL), TURNTILE_ERROR_ARGUMENT, "TURNTILE_OUT_OF_PLACE");
    SAID(turntile_execute_copy(into, data, data, bytes, NULL), TURNTILE_ERROR_OVERLAP, "overlap");
    SAID(turntile_execute_copy(into, data, other, 100, NULL), TURNTILE_ERROR_LENGTH, "240000 bytes, got 100");
    SAID(turntile_execute_copy(into, data, other, bytes, workspace), TURNTILE_ERROR_ARGUMENT, "stream");
    CHECK(memcmp(data, before, bytes) == 0);
    CHECK(turntile_plan_workspace(NULL) == 0);
    CHECK(strcmp(turntile_last_error(), "plan is NULL") == 0);
    turntile_plan_destroy(NULL);

    size_t all = turntile_plan_text(plan, NULL, 0);
    char *text = malloc(all);
    CHECK(turntile_plan_text(plan, text, all) == all && strlen(text) == all - 1);
    CHECK(strstr(text, "300x200") != NULL);
    char few[6] = "?????";
    CHECK(turntile_plan_text(plan, few, 5) == all && strncmp(few, text, 4) == 0 && few[4] == 0 && few[5] == 0);
    CHECK(turntile_plan_text(NULL, few, 5) == 0);
    turntile_set_last_error(text);
    CHECK(strcmp(turntile_last_error(), text) == 0);
    turntile_set_last_error(turntile_last_error() + 1);
    CHECK(strcmp(turntile_last_error(), text + 1) == 0);
    turntile_set_last_error(NULL);
    CHECK(strcmp(turntile_last_error(), "") == 0);
    /* A larger workspace is valid. */
    CHECK(turntile_execute(plan, data, bytes, workspace, need + 8, NULL) == TURNTILE_SUCCESS);
    unsigned char *want = permuted(before, 2, shape, MATRIX, 4);
    CHECK(memcmp(data, want, bytes) == 0);
    CHECK(turntile_execute_copy(into, before, other, bytes, NULL) == TURNTILE_SUCCESS);
    CHECK(memcmp(other, want, bytes) == 0);
    turntile_plan_destroy(plan);
    turntile_plan_destroy(into);
    free(before), free(data), free(other), free(want), free(workspace), free(text);
}

/* Two threads run one plan, each with its own data and text. */
static const turntile_plan *shared;
static unsigned char *shared_before, *shared_want;

static void *runs(void *failed) {
    unsigned char *data = malloc(240000);
    for (int run = 0; run < 20; run++) {
        memcpy(data, shared_before, 240000);
        *(int *)failed |= turntile_execute(shared, data, 240000, NULL, 0, NULL) != TURNTILE_SUCCESS;
        *(int *)failed |= memcmp(data, shared_want, 240000) != 0;
    }
    *(int *)failed |= strcmp(turntile_last_error(), "") != 0;
    free(data);
    return NULL;
}

static void threads(void) {
    size_t shape[2] = {300, 200};
    turntile_desc desc = described(2, shape, MATRIX, 4);
    turntile_plan *plan;
    CHECK(turntile_plan_create(&desc, &plan) == TURNTILE_SUCCESS);
    shared = plan;
    shared_before = numbered(60000, 4);
    shared_want = permuted(shared_before, 2, shape, MATRIX, 4);
    pthread_t threads[2];
    int failed[2] = {0, 0};
    CHECK(turntile_execute(NULL, NULL, 0, NULL, 0, NULL) == TURNTILE_ERROR_ARGUMENT);
    for (int k = 0; k < 2; k++)
        CHECK(pthread_create(&threads[k], NULL, runs, &failed[k]) == 0);
    for (int k = 0; k < 2; k++) {
        pthread_join(threads[k], NULL);
        CHECK(failed[k] == 0);
    }
    turntile_plan_destroy(plan);
    free(shared_before), free(shared_want);
}

/* Ends a child by another program: memory checkers would report memory of threads that the child did not inherit. */
static void ends_child(void) {
    const char *program = failures > 0 ? "false" : "true";
    execlp(program, program, (char *)NULL);
    _exit(2);
}

/* A child of a process whose threads have started has its own threads, and so has its child. */
static void forks(void) {
    const size_t rows = 1501, cols = 701, bytes = rows * cols * sizeof(double);
    size_t shape[2] = {rows, cols};
    unsigned char *before = numbered(rows * cols, sizeof(double)), *data = malloc(bytes);
    unsigned char *want = permuted(before, 2, shape, MATRIX, sizeof(double));
    for (int generation = 0; generation < 3; generation++) {
        memcpy(data, before, bytes);
        CHECK(turntile_transpose(data, rows, cols, sizeof(double)) == TURNTILE_SUCCESS);
        CHECK(memcmp(data, want, bytes) == 0);
        fflush(stdout);
        pid_t child = fork();
        if (child != 0) {
            int ended;
            CHECK(child > 0 && waitpid(child, &ended, 0) == child);
            CHECK(WIFEXITED(ended) && WEXITSTATUS(ended) == 0);
            if (generation > 0)
                ends_child();
            free(before), free(data), free(want);
            return;
        }
        alarm(60);
    }
    ends_child();
}

/* A missing GPU is an error, with any build of the library. */
static void gpus(void) {
    size_t shape[2] = {300, 200};
    turntile_desc desc = described(2, shape, MATRIX, 4);
    desc.device = TURNTILE_CUDA;
    desc.device_index = 4095;
    turntile_plan *plan;
    CHECK(turntile_plan_create(&desc, &plan) == TURNTILE_ERROR_DEVICE && plan == NULL);
    printf("GPU 4095: %s\n", turntile_last_error());
}

/* Limits the growth of the process to `more` bytes. */
static void limit_memory(size_t more) {
    unsigned long pages = 0;
    FILE *sizes = fopen("/proc/self/statm", "r");
    if (!sizes || fscanf(sizes, "%lu", &pages) != 1 || fclose(sizes) != 0)
        _exit(97);
    rlim_t bytes = (rlim_t)pages * (rlim_t)sysconf(_SC_PAGESIZE) + more;
    if (setrlimit(RLIMIT_AS, &(struct rlimit){bytes, bytes}) != 0)
        _exit(98);
}

/* A lack of memory is an error and does not end the process: with threads that run already (`warm`), and with almost no memory. */
static void little_memory(void) {
    static const size_t shapes[][3] = {{3001, 2003, 4}, {600000, 7, 4}, {7, 600000, 4}, {2048, 2048, 4}, {5, 7, 1000000}, {30011, 30, 8}};
    for (size_t k = 0; k < sizeof shapes / sizeof *shapes; k++) {
        const int warm = k % 2;
        const size_t rows = shapes[k][0], cols = shapes[k][1], itemsize = shapes[k][2];
        unsigned char *data = numbered(rows * cols, itemsize), *before = numbered(rows * cols, itemsize);
        int done = 0;
        for (size_t more = 0; more <= (size_t)(warm ? 64 << 20 : 1 << 17); more = more < 1 << 16 ? more + (1 << 14) : more + more / 4) {
            fflush(stdout);
            pid_t child = fork();
            if (child == 0) {
                static float first[300 * 200];
                if (warm && turntile_transpose(first, 300, 200, sizeof *first) != TURNTILE_SUCCESS)
                    _exit(99);
                limit_memory(more);
                turntile_status status = turntile_transpose(data, rows, cols, itemsize);
                int same = memcmp(data, before, rows * cols * itemsize) == 0;
                _exit(status == TURNTILE_SUCCESS && !same ? 0 : status == TURNTILE_ERROR_MEMORY && same ? 1 : 99);
            }
            int ended;
            CHECK(child > 0 && waitpid(child, &ended, 0) == child);
            CHECK(WIFEXITED(ended) && WEXITSTATUS(ended) <= 1);
            done += ended == 0;
        }
        CHECK(done > 0 || !warm);
        free(data), free(before);
    }
}

/* Argument "few": fewer shapes, for a memory checker. Argument "memory": only the test of too little memory. */
int main(int argc, char **argv) {
    if (argc > 1 && strcmp(argv[1], "memory") == 0) {
        little_memory();
        printf("%d passed, %d failed\n", checks - failures, failures);
        return failures > 0;
    }
    int few = argc > 1 && strcmp(argv[1], "few") == 0;
    CHECK(strcmp(turntile_last_error(), "") == 0);
    CHECK(turntile_version() == TURNTILE_VERSION);
    CHECK(strcmp(turntile_status_name(TURNTILE_ERROR_OVERLAP), "TURNTILE_ERROR_OVERLAP") == 0);
    CHECK(strcmp(turntile_status_name(99), "unknown") == 0);
    CHECK(strcmp(turntile_strerror(TURNTILE_ERROR_OVERLAP), "buffers overlap") == 0);
    CHECK(strcmp(turntile_strerror(-1), "unknown status") == 0);
    shapes(few ? 3 : 12);
    batches_limits_and_addresses();
    leading_dimensions();
    descriptors();
    flips(7, 5, 4);
    flips(64, 64, 3);
    flips(300, 200, 8);
    for (int bits = 1; bits <= 4; bits *= 2)
        for (int bitorder = TURNTILE_BIG; bitorder <= TURNTILE_LITTLE; bitorder++) {
            packed(1, 24, 40, bits, bitorder);
            packed(3, 7, 13, bits, bitorder);
            packed(2, 400, 640, bits, bitorder);
        }
    calls();
    threads();
    forks();
    gpus();
    printf("%d passed, %d failed\n", checks - failures, failures);
    return failures > 0;
}
