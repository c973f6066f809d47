/* Driver library of a few functions. Macros set their results. It needs no other library. */

#ifndef INIT
#define INIT 0
#endif
#ifndef VERSION
#define VERSION 12040
#endif
#ifndef CAPABILITY
#define CAPABILITY 80
#endif

static int context;

int cuInit(unsigned flags) { return flags == 0 ? INIT : 1; }
int cuDriverGetVersion(int *version) { *version = VERSION; return 0; }
int cuDeviceGet(int *device, int ordinal) { *device = ordinal; return ordinal == 0 ? 0 : 101; }
int cuDevicePrimaryCtxRetain(void **handle, int device) { (void)device; *handle = &context; return 0; }
int cuDevicePrimaryCtxRelease(int device) { (void)device; return 0; }
int cuCtxGetCurrent(void **handle) { *handle = &context; return 0; }

int cuDeviceGetName(char *name, int places, int device) {
    const char *from = "Fake 1";
    (void)device;
    while (places-- > 0 && (*name++ = *from++)) {
    }
    return 0;
}

int cuDeviceGetAttribute(int *value, int which, int device) {
    (void)device;
    /* 75 and 76 are the numbers of the compute capability. */
    *value = which == 75 ? CAPABILITY / 10 : which == 76 ? CAPABILITY % 10 : 1;
    return 0;
}

#ifdef MACHINE
/* Returns MACHINE for machine code, which is in a fat binary, and PTX for PTX. */
int cuModuleLoadDataEx(void **module, const void *image, unsigned count, int *options, void **values) {
    *module = &context;
#ifdef LOG
    const char *from = "line 7: no such instruction\nfatal\n";
    char *to = values[0];
    if (count == 2 && options[0] == 5 && options[1] == 6 && (unsigned long)values[1] > 40) {
        while ((*to++ = *from++)) {
        }
    }
#else
    (void)count, (void)options, (void)values;
#endif
    return *(const unsigned *)image == 0xBA55ED50 ? MACHINE : PTX;
}
int cuModuleUnload(void *module) { return module == &context ? 0 : 1; }
#endif

static int equal(const char *a, const char *b) {
    while (*a && *a == *b) a++, b++;
    return *a == *b;
}
/* Finds the functions that this driver has. */
int cuGetProcAddress_v2(const char *name, void **function, int version, unsigned long flags, int *status) {
    static const struct { const char *name; void *function; } table[] = {
#define ROW(NAME) {#NAME, (void *)NAME}
        ROW(cuInit), ROW(cuDeviceGet), ROW(cuDevicePrimaryCtxRetain), ROW(cuDevicePrimaryCtxRelease),
        ROW(cuCtxGetCurrent), ROW(cuDeviceGetName), ROW(cuDeviceGetAttribute),
#ifdef MACHINE
        ROW(cuModuleLoadDataEx), ROW(cuModuleUnload),
#endif
    };
    *status = 0;
    for (unsigned row = 0; row < sizeof table / sizeof *table; row++) {
        if (version == 12040 && flags == 0 && equal(table[row].name, name)) {
            *function = table[row].function;
            return 0;
        }
    }
    return 500;
}
