// Index maps of records with fields of any widths: by record (AoS), and by field within tiles (ASTA, SoA).
// The closed forms equal those in `fields.rs` of the crate `turntile-perm`, in words of W bytes.
#pragma once
#include "index.cuh"

// Consecutive fields of equal width that are adjacent in both layouts.
struct FieldGroup {
    Divisor<u32> width; // words of each field
    u32 begin, place;   // words before the first field: per record in a tile; in an AoS record
};
static_assert(sizeof(FieldGroup) == 24);

// A word of a record.
struct FieldWord {
    u32 record, end;        // number of its record; of the first record after its tile
    u32 place, word, width; // word offset of its field in the record; of the word in the field; words of the field
};

// Tiles of `tile` records; the last tile has `last`. Records are numbered from the first of a block's tiles.
struct Tiles {
    const FieldGroup *groups;
    u32 count, records;                          // number of groups; records of all tiles
    const Divisor<u32> &tile, &last, &tile_words; // records of a tile and of the last tile; words of a tile

    // Returns the last group that begins at or before word c of a record.
    __device__ const FieldGroup &group_of(u32 c) const {
        u32 low = 0;
#pragma unroll 1
        for (u32 left = count; left > 1;) {
            const u32 half = left / 2;
            low += groups[low + half].begin <= c ? half : 0;
            left -= half;
        }
        return groups[low];
    }
    // Returns the word of a record that is stored at word w of the tiles.
    __device__ FieldWord at(u32 w) const {
        const u32 t = tile_words.div(w), first = t * tile.divisor, rest = w - t * tile_words.divisor;
        const Divisor<u32> &held = records - first >= tile.divisor ? tile : last;
        const FieldGroup &g = group_of(held.div(rest));
        const u32 width = g.width.divisor, within = rest - held.divisor * g.begin;
        // `field`: words per record in the group's earlier fields. `of_field`: words of this field before word w.
        const u32 field = held.div(g.width.div(within)) * width;
        const u32 of_field = within - held.divisor * field, record = g.width.div(of_field);
        return {first + record, first + held.divisor, g.place + field, of_field - record * width, width};
    }
};

// Records in shared memory, stored as rows: of 16 / W records, or of a tile. If padding fits, the distance of rows is
// an odd number of 16-byte packs, so that neighbouring packs use different banks.
template <int W> struct Aos {
    char *chip;
    u32 bytes, pad, step;    // of a record; of padding after a row; of padding after a row that ends within a tile
    const Divisor<u32> &row; // packs of a row

    __device__ char *at(const FieldWord &w) const {
        const u32 begin = w.record * bytes;
        return chip + begin + row.div(begin / 16) * pad + (w.place + w.word) * W;
    }
};
