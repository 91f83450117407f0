/* Chunks of a file, each read by a reader of its own while the one before may still be at work.

   One reader, the leader, has read everything up to a record's end. A chunk begins there, or so it
   is assumed, with the labels that the leader knew some time before. If the assumption holds, the
   leader takes the rows over as if it had read them itself; what it cannot take over it reads
   itself. So labels, kinds, lines and problems are those of one reader, whatever the chunks are. */
#ifndef GML_CSV_CHUNKS_H
#define GML_CSV_CHUNKS_H

#include "csv_reader.h"

/* Make a reader of chunks ready for the next one: without rows, with the labels and kinds of the
   leader. Returns 0 without memory. */
int csv_catch_up(csv_reader *chunk, const csv_reader *leader);

/* Take over the rows of a chunk that begins where the leader is. Returns 0 if the leader must read
   it itself, which it has not begun to do then: because there is a problem, because a column has
   more labels than allowed or is of another kind, or because the cells would pass their limit.
   Without memory, the status of the leader says so. */
int csv_absorb(csv_reader *leader, const csv_reader *chunk);

#endif
