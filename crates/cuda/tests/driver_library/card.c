/* Driver library of a simulated card whose launches do nothing. It stores the attributes of functions, and rejects calls
   that a driver rejects. Freeing memory before queued work is complete ends the process. Macros set the differences
   from a whole card. The library needs no other library.

   UNITS=n      the context has n of the card's 132 multiprocessors
   AFFINITY=n   the context's execution affinity is n multiprocessors
   STALE        a function's shared memory limit is reported with its initial value, as if read before another thread set it
   FIXED=n      every function has n bytes of static shared memory
   REFUSED=n    launch number n, from 1, is rejected */

enum { INVALID = 1, NO_RESOURCES = 701, TOO_LARGE = 720, UNSUPPORTED = 801, CAPTURED = 900, NO_AFFINITY = 224 };
enum { ALL_UNITS = 132, SHARED = 232448, DEFAULT_SHARED = 49152 };
#ifndef FIXED
#define FIXED 0
#endif

static int context, module, capturing, event;
/* Per stream, the null stream first: 1 if work was queued since the last synchronisation. */
static char queued[256];
#ifdef REFUSED
static int launches;
#endif
static unsigned long next_address = 1ul << 32;
static struct function { char name[64]; int shared; } functions[256];

int cuInit(unsigned flags) { return flags == 0 ? 0 : INVALID; }
int cuDriverGetVersion(int *version) { *version = 12040; return 0; }
int cuGetErrorString(int code, const char **text) { *text = code ? "refused by the card of the tests" : "no error"; return 0; }
int cuDeviceGet(int *device, int ordinal) { *device = ordinal; return ordinal == 0 ? 0 : 101; }
int cuDeviceGetName(char *name, int places, int device) {
    const char *from = "Card of the tests";
    (void)device;
    while (places-- > 0 && (*name++ = *from++)) {
    }
    return 0;
}
int cuDeviceGetAttribute(int *value, int which, int device) {
    (void)device;
    switch (which) {
    case 12: *value = 65536; return 0;      /* registers per block */
    case 16: *value = ALL_UNITS; return 0;
    case 39: *value = 2048; return 0;       /* threads per multiprocessor */
    case 75: *value = 8; return 0;          /* compute capability 8.0: without clusters */
    case 76: *value = 0; return 0;
    case 81: *value = SHARED + 1024; return 0;
    case 95: *value = 1; return 0;          /* cooperative launches */
    case 97: *value = SHARED; return 0;
    default: *value = 1; return 0;
    }
}

int cuDevicePrimaryCtxRetain(void **handle, int device) { (void)device; *handle = &context; return 0; }
int cuDevicePrimaryCtxRelease(int device) { (void)device; return 0; }
int cuCtxGetCurrent(void **handle) { *handle = &context; return 0; }
int cuCtxGetDevice(int *device) { *device = 0; return 0; }

#ifndef UNITS
#define UNITS ALL_UNITS
#endif
#ifdef AFFINITY
enum { OWN_UNITS = AFFINITY };
#else
enum { OWN_UNITS = UNITS };
#endif
struct resource { int type; char padding[92]; unsigned units; };
struct affinity { int type; unsigned units; };
int cuCtxGetDevResource(void *of, struct resource *resource, int type) {
    if (of != &context || type != 1) return INVALID;
    resource->units = UNITS;
    return 0;
}
int cuCtxGetExecAffinity(struct affinity *affinity, int type) {
#ifdef AFFINITY
    if (type != 0) return INVALID;
    affinity->units = AFFINITY;
    return 0;
#else
    (void)affinity, (void)type;
    return NO_AFFINITY;
#endif
}

int cuModuleLoadDataEx(void **handle, const void *image, unsigned count, int *options, void **values) {
    (void)image, (void)count, (void)options, (void)values;
    if (capturing) return CAPTURED;
    *handle = &module;
    return 0;
}
int cuModuleUnload(void *handle) { return handle == &module ? 0 : INVALID; }
int cuModuleGetFunction(struct function **function, void *of, const char *name) {
    if (of != &module) return INVALID;
    if (capturing) return CAPTURED;
    for (struct function *known = functions; known < functions + 256; known++) {
        const char *a = known->name, *b = name;
        if (!*a) {
            for (char *to = known->name; (*to = *b); to++, b++) {
            }
            known->shared = DEFAULT_SHARED;
            b = name;
        }
        while (*a && *a == *b) a++, b++;
        if (*a == *b) {
            *function = known;
            return 0;
        }
    }
    return INVALID;
}

int cuFuncGetAttribute(int *value, int which, struct function *function) {
    if (which == 1) *value = FIXED;
#ifdef STALE
    else if (which == 8) *value = DEFAULT_SHARED;
#else
    else if (which == 8) *value = function->shared;
#endif
    else return INVALID;
    return 0;
}
int cuFuncSetAttribute(struct function *function, int which, int value) {
    if (which != 8 || value + FIXED > SHARED) return INVALID;
    function->shared = value;
    return 0;
}
/* Returns the blocks per multiprocessor, as shared memory and threads limit them. */
static unsigned blocks_of(unsigned threads, unsigned shared) {
    unsigned bytes = FIXED + shared, by_shared = bytes ? SHARED / bytes : 32, by_threads = 2048 / threads;
    return by_shared < by_threads ? by_shared : by_threads;
}
int cuOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, struct function *function, int threads, unsigned long shared) {
    if (capturing) return CAPTURED;
    *blocks = (int)blocks_of((unsigned)threads, (unsigned)shared);
    return shared <= (unsigned long)function->shared ? 0 : INVALID;
}

static void queue(void *stream) {
    if (!capturing) queued[stream ? (char *)stream - queued : 0] = 1;
}
static int launched(struct function *function, unsigned shared, void *stream) {
#ifdef REFUSED
    if (__atomic_add_fetch(&launches, 1, __ATOMIC_SEQ_CST) == REFUSED) return NO_RESOURCES;
#endif
    if (shared > (unsigned)function->shared) return INVALID;
    queue(stream);
    return 0;
}
struct launch { unsigned grid[3], block[3], shared; void *stream; const struct attribute { int id, padding; unsigned value[16]; } *attributes; unsigned count; };
int cuLaunchKernelEx(const struct launch *launch, struct function *function, void **parameters, void **extra) {
    (void)parameters, (void)extra;
    for (unsigned at = 0; at < launch->count; at++) {
        int cooperative = launch->attributes[at].id == 2 && launch->attributes[at].value[0];
        if (cooperative && launch->grid[0] > blocks_of(launch->block[0], launch->shared) * OWN_UNITS) return TOO_LARGE;
    }
    return launched(function, launch->shared, launch->stream);
}

int cuMemAlloc(unsigned long *address, unsigned long bytes) {
    if (capturing) return CAPTURED;
    *address = next_address;
    next_address += (bytes + 511) & ~511ul;
    return 0;
}
int cuMemFree(unsigned long address) {
    (void)address;
    for (char *stream = queued; stream < queued + sizeof queued; stream++) {
        if (*stream) __builtin_trap();
    }
    return 0;
}
/* Allocations of the caller have 1 << 36 bytes and start at multiples of that. Those from 1 << 40 on cannot be exported.
   A handle is an address. A mapping has the address of the allocation. */
struct handle { unsigned long address, rest[7]; };
static int mappings;
int cuMemGetAddressRange(unsigned long *start, unsigned long *bytes, unsigned long address) {
    *bytes = 1ul << 36;
    *start = address & -*bytes;
    return 0;
}
int cuIpcGetMemHandle(struct handle *handle, unsigned long address) {
    handle->address = address;
    return address >> 40 ? INVALID : 0;
}
int cuIpcOpenMemHandle(unsigned long *address, struct handle handle, unsigned flags) {
    __atomic_fetch_add(&mappings, 1, __ATOMIC_SEQ_CST);
    *address = handle.address;
    return flags == 1 ? 0 : INVALID;
}
int cuIpcCloseMemHandle(unsigned long address) {
    (void)address;
    if (__atomic_fetch_sub(&mappings, 1, __ATOMIC_SEQ_CST) == 0) __builtin_trap();
    return 0;
}
int cuPointerGetAttribute(unsigned long *value, int which, unsigned long address) {
    if (which != 7) return INVALID;
    *value = address >> 36;
    return 0;
}
static unsigned long cleared[2];
int cuMemsetD8Async(unsigned long address, unsigned char value, unsigned long bytes, void *stream) {
    if (value) return INVALID;
    cleared[0] = bytes;
    cleared[1] = address;
    queue(stream);
    return 0;
}
/* Returns the number of bytes cleared last, and their address. */
void last_cleared(unsigned long *bytes, unsigned long *address) {
    *bytes = cleared[0];
    *address = cleared[1];
}
int cuMemcpyDtoDAsync(unsigned long to, unsigned long from, unsigned long bytes, void *stream) {
    (void)to, (void)from, (void)bytes;
    queue(stream);
    return 0;
}
/* Copies from and to a host are made at the next synchronisation. One buffer stands for all device memory. */
static char place[64];
static struct copy { char *to; const char *from; unsigned long bytes; } copies[8];
static int copies_queued;
static int queue_copy(void *to, const void *from, unsigned long bytes, void *stream) {
    if (bytes > sizeof place || copies_queued == 8) return INVALID;
    copies[copies_queued++] = (struct copy){to, from, bytes};
    queue(stream);
    return 0;
}
int cuMemcpyHtoDAsync(unsigned long to, const void *from, unsigned long bytes, void *stream) {
    (void)to;
    return queue_copy(place, from, bytes, stream);
}
int cuMemcpyDtoHAsync(void *to, unsigned long from, unsigned long bytes, void *stream) {
    (void)from;
    return queue_copy(to, place, bytes, stream);
}
int cuStreamCreate(void **stream, unsigned flags) {
    static unsigned long streams;
    (void)flags;
    const unsigned long number = __atomic_add_fetch(&streams, 1, __ATOMIC_SEQ_CST);
    if (number >= sizeof queued) return NO_RESOURCES;
    *stream = queued + number;
    return 0;
}
int cuStreamDestroy(void *stream) { (void)stream; return 0; }
int cuStreamSynchronize(void *stream) {
    if (capturing) return CAPTURED;
    queued[stream ? (char *)stream - queued : 0] = 0;
    for (struct copy *copy = copies; copy < copies + copies_queued; copy++) {
        for (volatile char *to = copy->to; copy->bytes > 0; copy->bytes--) *to++ = *copy->from++;
    }
    copies_queued = 0;
    return 0;
}
int cuStreamBeginCapture(void *stream, int mode) { (void)stream, (void)mode; capturing = 1; return 0; }
int cuStreamEndCapture(void *stream, void **graph) { (void)stream; *graph = &module; capturing = 0; return 0; }
int cuStreamWaitEvent(void *stream, void *of, unsigned flags) { (void)stream, (void)flags; return of == &event ? 0 : INVALID; }
int cuEventCreate(void **made, unsigned flags) { (void)flags; *made = &event; return 0; }
int cuEventDestroy(void *of) { return of == &event ? 0 : INVALID; }
int cuEventRecord(void *of, void *stream) { (void)stream; return of == &event ? 0 : INVALID; }

static int equal(const char *a, const char *b) {
    while (*a && *a == *b) a++, b++;
    return *a == *b;
}
int cuGetProcAddress_v2(const char *name, void **found, int version, unsigned long flags, int *status) {
    static const struct { const char *name; void *function; } table[] = {
#define ROW(NAME) {#NAME, (void *)NAME}
        ROW(cuInit), ROW(cuGetErrorString), ROW(cuDeviceGet), ROW(cuDeviceGetName), ROW(cuDeviceGetAttribute),
        ROW(cuDevicePrimaryCtxRetain), ROW(cuDevicePrimaryCtxRelease), ROW(cuCtxGetCurrent), ROW(cuCtxGetDevice),
        ROW(cuCtxGetDevResource), ROW(cuCtxGetExecAffinity), ROW(cuModuleLoadDataEx), ROW(cuModuleUnload),
        ROW(cuModuleGetFunction), ROW(cuFuncGetAttribute), ROW(cuFuncSetAttribute),
        ROW(cuOccupancyMaxActiveBlocksPerMultiprocessor), ROW(cuLaunchKernelEx), ROW(cuMemAlloc), ROW(cuMemFree),
        ROW(cuMemsetD8Async), ROW(cuMemcpyDtoDAsync), ROW(cuMemcpyHtoDAsync), ROW(cuMemcpyDtoHAsync),
        ROW(cuStreamCreate), ROW(cuStreamDestroy), ROW(cuStreamSynchronize), ROW(cuStreamBeginCapture),
        ROW(cuStreamEndCapture), ROW(cuStreamWaitEvent), ROW(cuEventCreate), ROW(cuEventDestroy), ROW(cuEventRecord),
        ROW(cuMemGetAddressRange), ROW(cuIpcGetMemHandle), ROW(cuIpcOpenMemHandle), ROW(cuIpcCloseMemHandle),
        ROW(cuPointerGetAttribute),
    };
    *status = 0;
    for (unsigned row = 0; row < sizeof table / sizeof *table; row++) {
        if (version == 12040 && flags == 0 && equal(table[row].name, name)) {
            *found = table[row].function;
            return 0;
        }
    }
    return 500;
}
