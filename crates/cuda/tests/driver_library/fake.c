/* A driver's library of a few functions, whose answers are set when it is compiled. It needs no other library. */

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
int cuDevicePrimaryCtxRelease_v2(int device) { (void)device; return 0; }
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

/* Arguments in registers and on the stack. */
int cuLaunchKernel(void *function, unsigned a, unsigned b, unsigned c, unsigned d, unsigned e, unsigned f,
                   unsigned shared, void *stream, void **parameters, void **extra) {
    int right = function == (void *)0x1111222233334444 && a == 1 && b == 2 && c == 3 && d == 4 && e == 5 && f == 6 &&
                shared == 0x89abcdef && stream == (void *)0x5555666677778888 &&
                parameters == (void **)0x9999aaaabbbbcccc && extra == (void **)0xddddeeeeffff0000;
    return right && ((unsigned long)__builtin_frame_address(0) & 15) == 0 ? 0 : 1;
}

/* One in a register for floating-point numbers. */
int cuTexRefSetMipmapLevelBias(void *reference, float bias) {
    return reference == (void *)0x1234 && bias == 1.5f ? 0 : 1;
}

#ifdef MACHINE
/* What is answered to machine code, in a fat binary, and to PTX. */
int cuModuleLoadData(void **module, const void *image) {
    *module = &context;
    return *(const unsigned *)image == 0xBA55ED50 ? MACHINE : PTX;
}
int cuModuleUnload(void *module) { return module == &context ? 0 : 1; }
#endif
