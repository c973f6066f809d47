// Records with fields of any widths to columns and back by aligned slots: the gather pass and the slot pass. The closed
// forms are those of `record_slots.rs` in the crate `turntile-perm`, in bytes. Addresses are multiples of 16.
//
// Gather pass: a block processes a run of consecutive chunks, with three of them in shared memory. Forward, the slots
// of a chunk are built from its records and the first records of the next chunk. Backward, the records of a chunk are
// built from its slots and the last slots of the chunk before. `lead` bytes of every field cross a chunk boundary. A
// preceding launch saves them in the workspace (`kept`) for the first chunk of every run and for the last chunk. It
// also saves all of the last chunk. `make_tail` builds that chunk from the saved bytes.
#include "mover.cuh"

// A field, listed in the order of slots (forward) or of records (backward).
struct FieldColumn {
    Divisor<u32> width;            // contiguous bytes: the field in all records of a tile
    u32 begin, place, lead, last;  // bytes before the field in a chunk's slots, and in a tile; bytes of the field
                                   // in a chunk before its first slot; slots before it in the last chunk
};
static_assert(sizeof(FieldColumn) == 32);

enum : u32 { kHeld = 3, kThreads = 256 };

struct FieldGatherArgs {
    char *data, *kept;
    u32 chunks, last_records;       // chunks without the last; records of the last
    u32 each, more;                 // chunks per run; number of runs with one more
    u32 fields, backward;
    u32 record, chunk, tiles, slot; // bytes per record; records and tiles per chunk; bytes per slot
    u32 table, held, pad, runs;     // in shared memory: bytes of the table, from chunk to chunk, and after a row
    Divisor<u32> row, tile;         // packs of 16 bytes per row; records per tile
    Divisor<u32> tile_bytes;
    FieldColumn field[64];
};
static_assert(sizeof(FieldGatherArgs) == 2168);

static __device__ u32 first_chunk(const FieldGatherArgs &a, u32 run) { return run * a.each + min(run, a.more); }
static __device__ u32 chunk_bytes(const FieldGatherArgs &a) { return a.chunk * a.record; }

extern __shared__ uint4 shared[];
// Returns four bytes at any offset in shared memory. It always reads two aligned words.
static __device__ u32 four_at(u32 at) {
    const u32 *lies = (const u32 *)((const char *)shared + (at & ~3u));
    return __funnelshift_r(lies[0], lies[1], at * 8);
}

struct FieldChunks {
    const FieldGatherArgs &a;
    const FieldColumn *fields; // table at the start of shared memory
    u32 in_row;                // tiles per row in shared memory
    bool pixels;               // AoS records of four fields of one byte

    // Finds the last field whose `number`, a member of its table entry, is at most `value`.
    __device__ u32 field(const u32 &number, u32 value) const { return last_below(&number, sizeof(FieldColumn) / 4, a.fields, value); }

    // Returns the offset of chunk n in shared memory, in bytes.
    __device__ u32 place(u32 n) const { return a.table + n % kHeld * a.held; }
    __device__ char *image(u32 n) const { return (char *)shared + place(n); }
    // Returns the offset of byte b of a chunk from the chunk's start in shared memory.
    __device__ u32 at(u32 b) const { return a.pad ? b + a.row.div(b / 16) * a.pad : b; }

    __device__ void load(u32 n, const char *from) const {
        char *to = image(n);
#pragma unroll 1
        for (u32 b = threadIdx.x * 16; b < chunk_bytes(a); b += kThreads * 16) copy_async<16, kOnce>(to + at(b), from + b);
    }

    // Returns 16 bytes of a field, from byte b of chunk n's slots: the field's bytes in consecutive tiles.
    __device__ uint4 of_records(u32 n, u32 b) const {
        const FieldColumn &f = fields[field(fields->begin, b)];
        const u32 width = f.width.divisor, bytes = a.tile_bytes.divisor, q = b - f.begin + f.lead, begin = f.place;
        u32 t = f.width.div(q), from, stop;
        // Before tile `stop`, the distance from tile to tile is constant.
        const auto enter = [&] {
            const bool own = t < a.tiles;
            const u32 local = own ? t : t - a.tiles, row = a.pad ? a.row.div(local * bytes / 16) : 0;
            from = place(own ? n : n + 1) + begin + local * bytes + row * a.pad;
            stop = min(a.pad ? t - local + (row + 1) * in_row : 0xffffffffu, own ? a.tiles : 0xffffffffu);
        };
        const auto next = [&] {
            if (++t == stop)
                enter();
            else
                from += bytes - width;
        };
        uint4 pack{};
        // Reads one byte of each of 16 pixels. Rows of 128 bytes are padded by 16.
        if (pixels && t + 16 <= a.tiles) {
            const u32 first = place(n) + begin;
            u32 *fours = &pack.x;
#pragma unroll
            for (u32 k = 0; k < 16; k++) {
                const u32 at = (t + k) * 4;
                fours[k / 4] |= u32(((const u8 *)shared)[first + at + (at / 128) * 16]) << k % 4 * 8;
            }
            return pack;
        }
        enter();
        u32 left = width - (q - t * width);
        from += width - left;
#pragma unroll 1
        for (u32 k = 0; k < 4; k++) {
            u32 four = 0;
            if (width >= 4) {
                four = four_at(from);
                const u32 over = 4 - min(left, 4u);
                from += 4 - over, left -= 4 - over;
                if (over > 0) {
                    next();
                    four = __funnelshift_rc(__funnelshift_lc(0, four, over * 8), four_at(from), over * 8);
                    from += over, left = width - over;
                }
            } else {
#pragma unroll
                for (u32 j = 0; j < 4; j++) {
                    if (left == 0) next(), left = width;
                    four = __funnelshift_r(four, ((const u8 *)shared)[from], 8);
                    from++, left--;
                }
            }
            pack.x = pack.y, pack.y = pack.z, pack.z = pack.w, pack.w = four;
        }
        return pack;
    }

    // Returns 16 bytes of records, from byte b of chunk n: consecutive fields.
    __device__ uint4 of_slots(u32 n, u32 b) const {
        const u32 own = place(n), before = place(n + kHeld - 1);
        u32 t = a.tile_bytes.div(b), u = b - t * a.tile_bytes.divisor;
        uint4 pack;
        u32 *fours = &pack.x;
        if (pixels) {
            bool all = true;
#pragma unroll
            for (u32 f = 0; f < 4; f++) {
                const u32 lead = fields[f].lead;
                all = all && t >= lead;
                fours[f] = four_at(own + fields[f].begin + max(t, lead) - lead);
            }
            if (all) {
                const u32 low = __byte_perm(pack.x, pack.y, 0x5140), high = __byte_perm(pack.z, pack.w, 0x5140);
                const u32 last = __byte_perm(pack.x, pack.y, 0x7362), end = __byte_perm(pack.z, pack.w, 0x7362);
                return {__byte_perm(low, high, 0x5410), __byte_perm(low, high, 0x7632), __byte_perm(last, end, 0x5410), __byte_perm(last, end, 0x7632)};
            }
        }
        // Position of the field in the table, in packs of 16 bytes.
        u32 f = 2 * field(fields->place, u), from, left;
        u -= fields[f / 2].place;
        const auto enter = [&] {
            const uint4 column = shared[f + 1]; // begin, place, lead, last
            const u32 width = shared[f].x, q = t * width + u, lead = column.z;
            const bool is_own = q >= lead;
            left = min(width - u, is_own ? width : lead - q);
            from = (is_own ? own : before + a.tiles * width) + column.x + q - lead;
            u += left;
        };
        enter();
#pragma unroll 1
        for (u32 k = 0; k < 4; k++) {
            u32 four = 0;
#pragma unroll 1
            for (u32 room = 4;;) {
                const u32 take = min(left, room);
                four = __funnelshift_rc(four, four_at(from), take * 8);
                from += take, left -= take, room -= take;
                if (room == 0) break;
                if (left == 0) {
                    if (u == shared[f].x) {
                        u = 0, f += 2;
                        if (f == 2 * a.fields) f = 0, t++;
                    }
                    enter();
                }
            }
            pack.x = pack.y, pack.y = pack.z, pack.z = pack.w, pack.w = four;
        }
        return pack;
    }

    // Stores chunk n as slots (forward) or records (backward). If AoS records have only single-byte fields, consecutive
    // threads write packs of different fields, so that a warp reads few records.
    __device__ void store(u32 n, char *to) const {
        const bool turns = !a.backward && a.record == a.fields && a.tiles == a.chunk;
#pragma unroll 1
        for (u32 p = threadIdx.x; p * 16 < chunk_bytes(a); p += kThreads) {
            const u32 b = turns ? p % a.fields * a.chunk + p / a.fields * 16 : p * 16;
            *(uint4 *)(to + b) = a.backward ? of_slots(n, b) : of_records(n, b);
        }
    }

    // Returns the address of the saved bytes of field f at the start of a run.
    __device__ char *kept(u32 run, u32 f) const { return a.kept + (u64(run) * a.fields + f) * a.slot; }
    __device__ char *tail() const { return kept(a.runs + 1, 0); }

    // Returns the offset of byte q of a field in a chunk of `records` records.
    __device__ u32 in_tiles(const FieldColumn &f, u32 q, u32 records) const {
        const u32 tile = a.tile.divisor, width = a.tile.div(f.width.divisor), first = a.tile.div(q / width) * tile;
        return first * a.record + a.tile.div(f.place) * min(tile, records - first) + q - first * width;
    }

    // Calls does(field, f, q) for each of the `lead` bytes q of every field f: bytes that cross a chunk boundary.
    template <class Does> __device__ void across(Does does) const {
#pragma unroll 1
        for (u32 f = 0; f < a.fields; f++)
#pragma unroll 1
            for (u32 q = threadIdx.x; q < fields[f].lead; q += kThreads) does(fields[f], f, q);
    }

    // Saves the `lead` bytes at the start of a run, or, for run number `runs`, of the last chunk.
    __device__ void keep(u32 run) const {
        const u32 c = first_chunk(a, run), records = c == a.chunks ? a.last_records : a.chunk;
        const u64 bytes = chunk_bytes(a);
        across([&](const FieldColumn &f, u32 number, u32 q) {
            u64 from;
            if (!a.backward)
                from = c * bytes + in_tiles(f, q, records);
            else if (c == 0) // The end of the preceding field.
                from = u64(a.chunks) * bytes + u64(f.last) * a.slot - f.lead + q;
            else
                from = (c - 1) * bytes + f.begin + a.tiles * f.width.divisor - f.lead + q;
            kept(run, number)[q] = a.data[from];
        });
    }

    // Writes the last chunk from the saved bytes, in a grid-stride loop.
    __device__ void make_tail() const {
        const u32 records = a.last_records, tile = a.tile.divisor;
        char *to = a.data + u64(a.chunks) * chunk_bytes(a);
#pragma unroll 1
        for (u32 b = blockIdx.x * kThreads + threadIdx.x; b < records * a.record; b += gridDim.x * kThreads) {
            const char *from;
            if (a.backward) {
                const u32 first = a.tile_bytes.div(b) * tile, count = min(tile, records - first), rest = b - first * a.record;
                const u32 number = field(fields->place, rest / count * tile);
                const FieldColumn &f = fields[number];
                const u32 q = first * a.tile.div(f.width.divisor) + rest - a.tile.div(f.place) * count;
                from = q < f.lead ? kept(a.runs, number) + q : tail() + f.last * a.slot + q - f.lead;
            } else {
                const u32 slot = b / a.slot, number = field(fields->last, slot);
                const FieldColumn &f = fields[number];
                const u32 q = f.lead + b - f.last * a.slot, own = records * a.tile.div(f.width.divisor);
                from = q < own ? tail() + in_tiles(f, q, records) : kept(0, number + 1) + (q - own);
            }
            to[b] = *from;
        }
    }

    __device__ void walk() const {
        const u32 first = first_chunk(a, blockIdx.x), chunks = first_chunk(a, blockIdx.x + 1) - first, bytes = chunk_bytes(a);
        if (chunks == 0) return;
        char *top = a.data + u64(first) * bytes;
        // Chunk n of the run has number n + 1 in shared memory.
        const auto next = [&](u32 n) {
            if (n < chunks)
                load(n + 1, top + u64(n) * bytes);
            else if (!a.backward && n == chunks)
                across([&](const FieldColumn &f, u32 number, u32 q) {
                    const u32 t = f.width.div(q);
                    image(n + 1)[at(t * a.tile_bytes.divisor) + f.place + q - t * f.width.divisor] = kept(blockIdx.x + 1, number)[q];
                });
            copy_async_commit();
        };
        const u32 ahead = a.backward ? 1 : 2;
        if (a.backward)
            across([&](const FieldColumn &f, u32 number, u32 q) {
                image(0)[f.begin + a.tiles * f.width.divisor - f.lead + q] = kept(blockIdx.x, number)[q];
            });
#pragma unroll 1
        for (i32 n = -i32(ahead); n < i32(chunks); n++) {
            next(u32(n) + ahead);
            if (n < 0) continue;
            copy_async_wait_but_last();
            __syncthreads();
            store(u32(n) + 1, top + u64(n) * bytes);
            __syncthreads();
        }
    }
};

static __device__ FieldChunks with_table(const FieldGatherArgs &a) {
#pragma unroll 1
    for (u32 e = threadIdx.x; e < a.fields * 8; e += kThreads) ((u32 *)shared)[e] = ((const u32 *)a.field)[e];
    __syncthreads();
    return {a, (const FieldColumn *)shared, a.row.divisor * 16 / a.tile_bytes.divisor, a.record == 4 && a.fields == 4 && a.tiles == a.chunk};
}

// Saves bytes that a block of `field_gather` would overwrite before another reads them: one block per run and one more.
extern "C" __global__ void __launch_bounds__(kThreads) field_keep(const __grid_constant__ FieldGatherArgs a) {
    const FieldChunks chunks = with_table(a);
    chunks.keep(blockIdx.x);
    const u32 bytes = a.last_records * a.record;
    const char *last = a.data + u64(a.chunks) * chunk_bytes(a);
#pragma unroll 1
    for (u32 b = blockIdx.x * kThreads + threadIdx.x; b < bytes; b += gridDim.x * kThreads) chunks.tail()[b] = last[b];
}
extern "C" __global__ void __launch_bounds__(kThreads, 4) field_gather(const __grid_constant__ FieldGatherArgs a) {
    const FieldChunks chunks = with_table(a);
    chunks.make_tail();
    chunks.walk();
}

// Slot pass, by PTTWAC with flags in global memory. Slots are whole vectors of 16 bytes.
extern "C" __global__ void __launch_bounds__(256, 8) move_fields_1(const __grid_constant__ MoveArgs<FieldMap> a) {
    move_all(a, a.flags, InRegisters<1>(16, a.vectors, a.lanes));
}
