/* The draws of gibbs_bytes.c, which includes this once per size of vectors. Before that it says how many
   bytes one has (AVX_BYTES), what names (AVX) and functions (AVX_TARGET) for these instructions look like, and
   which of them look bytes up in pages, count the thresholds that were reached, and keep ties. */

typedef uint32_t AVX(counters) __attribute__((vector_size(AVX_BYTES)));
typedef uint8_t AVX(codes) __attribute__((vector_size(AVX_BYTES)));
/* Codes anywhere in memory. */
typedef uint8_t AVX(stored) __attribute__((vector_size(AVX_BYTES), aligned(1), may_alias));

AVX_TARGET HASH32_ROUNDS(AVX(hash), AVX(counters))

AVX_TARGET INLINE void AVX(draw)(const blanket_codes *from, const gibbs_keys *keys, const uint8_t *bytes,
                                 size_t first, size_t n, size_t n_blanket, int uniform, tie_list *ties)
{
    size_t n_pages = uniform ? (((size_t)1 << n_blanket) + GIBBS_PAGE - 1) / GIBBS_PAGE : from->n_pages;
    size_t n_ends = uniform ? 1 : from->n_ends;
    const uint32_t key1 = keys->high[1];
    AVX(counters) counters = *(const AVX(counters) *)LANE_NUMBERS + (uint32_t)(first / 4);
    counters = counters * HASH32_STEP + keys->high[0];
    for (size_t chain = first; chain < first + n; chain += AVX_BYTES) {
        AVX(codes) at = {0};
        for (size_t m = 0; m < n_blanket; m++) {
            for (unsigned bit = 0; bit < (uniform ? 1 : from->bits[m]); bit++)
                at += at;
            at |= *(const AVX(stored) *)(from->codes[m] + chain);
        }
        const AVX(vector) random = (AVX(vector))AVX(hash)(counters, key1);
        counters += (uint32_t)(AVX_BYTES / 4) * HASH32_STEP;
        AVX(vector) code = {0};
        AVX(ties) tied = {0};
        for (size_t end = 0; end < n_ends; end++) {
            AVX(vector) ends =
                AVX(look_up)(bytes + end * n_pages * GIBBS_PAGE, n_pages, (AVX(vector))at);
            code = AVX(count_ends)(code, random, ends);
            tied = AVX(add_ties)(tied, random, ends);
        }
        *(AVX(stored) *)(from->target + chain) = (AVX(stored))code;
        *(AVX(stored) *)(ties->configurations + (chain - first)) = at;
        const uint64_t which = AVX(tied_bits)(tied);
        ties->tied[(chain - first) / AVX_BYTES] = which;
        ties->words |= (uint64_t)(which != 0) << (chain - first) / AVX_BYTES;
    }
}

AVX_TARGET static void AVX(draw_bytes)(const gibbs_step *step, const gibbs_keys *keys, uint8_t *states,
                                       size_t n_chains, size_t start, size_t total)
{
    blanket_codes from = codes_of(step, states, n_chains);
    for (size_t first = start; first < start + total; first += PIECE_CHAINS) {
        size_t n = start + total - first < PIECE_CHAINS ? start + total - first : PIECE_CHAINS;
        tie_list ties;
        ties.words = 0;
#define DRAW(size)                                                               \
    case size:                                                                   \
        AVX(draw)(&from, keys, step->bytes, first, n, size, 1, &ties);           \
        break
        /* Two levels given neighbours of two levels are compiled for their number. */
        switch (step->is_binary ? step->n_blanket : 0) {
            DRAW(1);
            DRAW(2);
            DRAW(3);
            DRAW(4);
            DRAW(5);
            DRAW(6);
            DRAW(7);
            DRAW(8);
        default:
            AVX(draw)(&from, keys, step->bytes, first, n, step->n_blanket, 0, &ties);
        }
#undef DRAW
        draw_ties(step, keys, &ties, first, AVX_BYTES, from.target);
    }
}

#undef AVX
#undef AVX_TARGET
#undef AVX_BYTES
