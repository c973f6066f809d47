// Records of any fields to columns and back by aligned slots, both passes: the same closed forms as `field_slots.rs` of the
// crate `turntile-perm`, in bytes, of memory at a multiple of 16.
//
// The gather pass: a block walks down a run of chunks with three of them on chip, as they lie in memory. Forward, the slots of
// a chunk are made of its records and of the first ones of the next; backward, the records of a chunk of its slots and of the
// last ones of the chunk before. Of every field, `lead` bytes lie across: those of the first chunk of every run, and of the last
// chunk, are copied to `kept` by a launch before. The last chunk, whose fields have slots of no one number,
// is copied too, and made of that.
#include "mover.cuh"

// A field, listed in the order of slots (forward) or of records (backward).
struct FieldColumn {
    Divisor<u32> width;            // bytes that lie together: a field's of the records of a tile
    u32 begin, place, lead, last;  // bytes before it in a chunk's slots, and in a tile; of a chunk before its first slot; and
                                   // slots before it in the last chunk
};
static_assert(sizeof(FieldColumn) == 32);

enum : u32 { kHeld = 3, kThreads = 256 };

struct FieldGatherArgs {
    char *data, *kept;
    u32 chunks, last_records;       // chunks but the last; records of the last
    u32 each, more;                 // chunks of a run; runs that have one more
    u32 fields, backward;
    u32 record, chunk, tiles, slot; // bytes of a record; records of a chunk, and its tiles; bytes of a slot
    u32 table, held, pad, runs;     // bytes of the table on chip, between chunks there, and behind rows of these
    Divisor<u32> row, tile;         // packs of a row; records of a tile
    Divisor<u32> tile_bytes;
    FieldColumn field[64];
};
static_assert(sizeof(FieldGatherArgs) == 2168);

static __device__ u32 first_chunk(const FieldGatherArgs &a, u32 run) { return run * a.each + min(run, a.more); }
static __device__ u32 chunk_bytes(const FieldGatherArgs &a) { return a.chunk * a.record; }

extern __shared__ uint4 shared[];
// Four bytes from the chip, wherever they lie: those that a shift brings in from behind are another's.
static __device__ u32 four_at(u32 at) {
    const u32 *lies = (const u32 *)((const char *)shared + (at & ~3u));
    return __funnelshift_r(lies[0], lies[1], at * 8);
}

struct FieldChunks {
    const FieldGatherArgs &a;
    const FieldColumn *fields; // on chip, at its start
    u32 in_row;                // tiles of a row there
    bool pixels;               // records of four single bytes

    // The last field whose number is at or below this one.
    __device__ u32 field(const u32 &number, u32 value) const { return last_below(&number, sizeof(FieldColumn) / 4, a.fields, value); }

    // Places on chip are bytes from its start.
    __device__ u32 place(u32 n) const { return a.table + n % kHeld * a.held; }
    __device__ char *image(u32 n) const { return (char *)shared + place(n); }
    // Where byte b of a chunk lies on chip.
    __device__ u32 at(u32 b) const { return a.pad ? b + a.row.div(b / 16) * a.pad : b; }

    __device__ void load(u32 n, const char *from) const {
        char *to = image(n);
#pragma unroll 1
        for (u32 b = threadIdx.x * 16; b < chunk_bytes(a); b += kThreads * 16) copy_async<16, kOnce>(to + at(b), from + b);
    }

    // Sixteen bytes of a field, from byte b of chunk n: what of it lies together in one tile after the other.
    __device__ uint4 of_records(u32 n, u32 b) const {
        const FieldColumn &f = fields[field(fields->begin, b)];
        const u32 width = f.width.divisor, bytes = a.tile_bytes.divisor, q = b - f.begin + f.lead, begin = f.place;
        u32 t = f.width.div(q), from, stop;
        // Up to the tile `stop` each lies as far behind the one before.
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
        // Of pixels sixteen in rows of 128 bytes.
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

    // Sixteen bytes of records, from byte b of chunk n: one field after the other.
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
        // Where the field is in the table, in packs.
        u32 f = 2 * field(fields->place, u), from, left;
        u -= fields[f / 2].place;
        const auto enter = [&] {
            const uint4 column = shared[f + 1]; // what is behind the width
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

    // A chunk as it becomes. Packs of records of single bytes in the order of the fields, so that the lanes of a warp read few records.
    __device__ void store(u32 n, char *to) const {
        const bool turns = !a.backward && a.record == a.fields && a.tiles == a.chunk;
#pragma unroll 1
        for (u32 p = threadIdx.x; p * 16 < chunk_bytes(a); p += kThreads) {
            const u32 b = turns ? p % a.fields * a.chunk + p / a.fields * 16 : p * 16;
            *(uint4 *)(to + b) = a.backward ? of_slots(n, b) : of_records(n, b);
        }
    }

    // What is kept of a field where a run begins.
    __device__ char *kept(u32 run, u32 f) const { return a.kept + (u64(run) * a.fields + f) * a.slot; }
    __device__ char *tail() const { return kept(a.runs + 1, 0); }

    // Where byte q of a field lies in a chunk of so many records.
    __device__ u32 in_tiles(const FieldColumn &f, u32 q, u32 records) const {
        const u32 tile = a.tile.divisor, width = a.tile.div(f.width.divisor), first = a.tile.div(q / width) * tile;
        return first * a.record + a.tile.div(f.place) * min(tile, records - first) + q - first * width;
    }

    // Each byte that lies across where chunk c begins, with its number and its field.
    template <class Does> __device__ void across(Does does) const {
#pragma unroll 1
        for (u32 f = 0; f < a.fields; f++)
#pragma unroll 1
            for (u32 q = threadIdx.x; q < fields[f].lead; q += kThreads) does(fields[f], f, q);
    }

    // Of a run, and behind the last.
    __device__ void keep(u32 run) const {
        const u32 c = first_chunk(a, run), records = c == a.chunks ? a.last_records : a.chunk;
        const u64 bytes = chunk_bytes(a);
        across([&](const FieldColumn &f, u32 number, u32 q) {
            u64 from;
            if (!a.backward)
                from = c * bytes + in_tiles(f, q, records);
            else if (c == 0) // The end of the field before.
                from = u64(a.chunks) * bytes + u64(f.last) * a.slot - f.lead + q;
            else
                from = (c - 1) * bytes + f.begin + a.tiles * f.width.divisor - f.lead + q;
            kept(run, number)[q] = a.data[from];
        });
    }

    // The last chunk, a share for each block.
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
        // The image of chunk n of the run has number n + 1.
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

// A block for each run, and one more.
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

// The slot pass, by PTTWAC with flags in device memory. Slots are whole vectors of 16 bytes.
extern "C" __global__ void __launch_bounds__(256, 8) move_fields_1(const __grid_constant__ MoveArgs<FieldMap> a) {
    move_all(a, a.flags, InRegisters<1>(16, a.vectors, a.lanes));
}
