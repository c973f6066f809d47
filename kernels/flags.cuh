// PTTWAC's flags: which bit belongs to a super-element, and in which order they are written and read.
//
// A flag says that the content of its place has been *taken* by a worker. The content of place q ends
// in succ(q), so whoever takes q is the only worker that ever writes succ(q). A worker that carries
// content for p claims p: the winner takes p's content and goes on, the loser met a place whose
// content a *starter* has taken; it stores what it carries there all the same, and its chain ends.
//
// Writing p must follow the reading of p. The winner has read p itself. The loser relies on the
// starter's order: it reads p first, then passes a fence, then claims; the loser claims after it
// (that is what losing means), passes a fence, then writes. Both fences and the two atomic
// operations between them make "starter's read happens before loser's write". A starter that loses has
// read what a winner may be writing: it drops it, and both accesses are relaxed, so nothing is undefined.
#pragma once
#include "index.cuh"

// A bit of position `p`'s word, which is word p / 32.
template <class I> static __device__ u32 flag_bit(I p) { return 1u << (u32(p) & 31u); }

// Flags of a whole launch, in device memory.
struct GlobalFlags {
    u32 *words;

    template <class I> __device__ bool taken(I p) const {
        u32 x;
        asm volatile("ld.relaxed.gpu.global.u32 %0, [%1];"
                     : "=r"(x) : "l"(__cvta_generic_to_global(words + (p >> 5))) : "memory");
        return (x & flag_bit(p)) != 0;
    }
    // Whether this claim is the first.
    template <class I> __device__ bool claim(I p) const {
        u32 x;
        asm volatile("atom.relaxed.gpu.global.or.b32 %0, [%1], %2;"
                     : "=r"(x) : "l"(__cvta_generic_to_global(words + (p >> 5))), "r"(flag_bit(p)) : "memory");
        return (x & flag_bit(p)) == 0;
    }
    static __device__ void fence() { asm volatile("fence.acq_rel.gpu;" ::: "memory"); }
};
static_assert(sizeof(GlobalFlags) == 8);

// Flags of one instance, in shared memory.
struct SharedFlags {
    u32 *words;

    __device__ bool taken(u32 p) const { return (*(volatile u32 *)(words + (p >> 5)) & flag_bit(p)) != 0; }
    __device__ bool claim(u32 p) const { return (atomicOr_block(words + (p >> 5), flag_bit(p)) & flag_bit(p)) == 0; }
    static __device__ void fence() { asm volatile("fence.acq_rel.cta;" ::: "memory"); }
};
