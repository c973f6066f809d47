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

// Position to word and bit (thesis section 4.5.1).
struct FlagLayout {
    u32 shift;    // flags a word = 2^shift: 5 packed, 0 spread by 32
    u32 padded;   // every 33rd word stays unused
    u32 remapped; // neighbours in different words
    u32 pad;
    Divisor<u32> words; // remapped: number of words

    template <class I> __device__ void place(I p, u64 &word, u32 &bit) const {
        if (remapped) {
            const u32 turn = words.div(u32(p));
            word = u32(p) - turn * words.divisor;
            bit = 1u << turn;
            return;
        }
        word = u64(p) >> shift;
        bit = 1u << (u32(p) & 31u);
        if (padded) word += word >> 5;
    }
};
static_assert(sizeof(FlagLayout) == 32 && AT(FlagLayout, shift) == 0 && AT(FlagLayout, padded) == 4 &&
              AT(FlagLayout, remapped) == 8 && AT(FlagLayout, pad) == 12 &&
              AT(FlagLayout, words) == 16);

// Flags of a whole launch, in device memory.
struct GlobalFlags {
    using Scope = DeviceScope;
    u32 *words;
    FlagLayout layout;

    template <class I> __device__ bool taken(I p) const {
        u64 word;
        u32 bit, x;
        layout.place(p, word, bit);
        asm volatile("ld.relaxed.gpu.global.u32 %0, [%1];"
                     : "=r"(x) : "l"(__cvta_generic_to_global(words + word)) : "memory");
        return (x & bit) != 0;
    }
    // Whether this claim is the first.
    template <class I> __device__ bool claim(I p) const {
        u64 word;
        u32 bit, x;
        layout.place(p, word, bit);
        asm volatile("atom.relaxed.gpu.global.or.b32 %0, [%1], %2;"
                     : "=r"(x) : "l"(__cvta_generic_to_global(words + word)), "r"(bit) : "memory");
        return (x & bit) == 0;
    }
    static __device__ void fence() { asm volatile("fence.acq_rel.gpu;" ::: "memory"); }
};
static_assert(sizeof(GlobalFlags) == 40 && AT(GlobalFlags, words) == 0 && AT(GlobalFlags, layout) == 8);

// Flags of one instance, in shared memory.
struct SharedFlags {
    using Scope = BlockScope;
    u32 *words;
    FlagLayout layout;

    template <class I> __device__ bool taken(I p) const {
        u64 word;
        u32 bit;
        layout.place(p, word, bit);
        return (*(volatile u32 *)(words + u32(word)) & bit) != 0;
    }
    template <class I> __device__ bool claim(I p) const {
        u64 word;
        u32 bit;
        layout.place(p, word, bit);
        return (atomicOr_block(words + u32(word), bit) & bit) == 0;
    }
    static __device__ void fence() { asm volatile("fence.acq_rel.cta;" ::: "memory"); }
};
