// Records whose fields have any widths, where they lie record by record (AoS) and in tiles, field by field (ASTA, SoA): the same
// closed forms as `fields.rs` of the crate `turntile-perm`, in words of W bytes.
#pragma once
#include "index.cuh"

// Fields of one width that follow one another in both layouts.
struct FieldGroup {
    Divisor<u32> width; // words of each
    u32 begin, place;   // words before the first in a tile's record, and in a record
};
static_assert(sizeof(FieldGroup) == 24);

// A word of a record.
struct FieldWord {
    u32 record, end;        // its record, and the first one behind those of its tile
    u32 place, word, width; // words of the record before its field, of the field before it, and of the field
};

// Records in tiles of so many, the last one shorter. Numbers count from the first of a block's tiles.
struct Tiles {
    const FieldGroup *groups;
    u32 count, records;                          // groups; records of all tiles
    const Divisor<u32> &tile, &last, &tile_words; // records of a tile, and of the last one; words of a tile

    // The last group that begins at or before word c of a record.
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
    // What lies at word w of the tiles.
    __device__ FieldWord at(u32 w) const {
        const u32 t = tile_words.div(w), first = t * tile.divisor, rest = w - t * tile_words.divisor;
        const Divisor<u32> &held = records - first >= tile.divisor ? tile : last;
        const FieldGroup &g = group_of(held.div(rest));
        const u32 width = g.width.divisor, within = rest - held.divisor * g.begin;
        // Words of the group's fields before, a record's; then those of the field's records.
        const u32 field = held.div(g.width.div(within)) * width;
        const u32 of_field = within - held.divisor * field, record = g.width.div(of_field);
        return {first + record, first + held.divisor, g.place + field, of_field - record * width, width};
    }
};

// Records one after the other on chip. Rows of as many as packs of 16 bytes of a field's words step over, or of a tile, are an
// odd number of packs apart where there is room: neighbouring packs then meet other banks.
template <int W> struct Aos {
    char *chip;
    u32 bytes, pad, step;    // of a record; behind every row; and behind rows that end within a tile
    const Divisor<u32> &row; // packs of one

    __device__ char *at(const FieldWord &w) const {
        const u32 begin = w.record * bytes;
        return chip + begin + row.div(begin / 16) * pad + (w.place + w.word) * W;
    }
};
