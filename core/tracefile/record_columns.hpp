// The records of a chunk as columns, and back. In a record everything stands side by side: the
// call, how long its fields are, two times whose low bytes are noise, and what repeats from event
// to event. As columns, like stands with like: what repeats costs a compressor next to nothing, and
// the noise gets codes of its own.
//
//   columns = records (4) , tail bytes (4) , calls (2) , { call } , heads , { columns of a call } ,
//             loose , tail
//   call    = number (2) , fields (1) , index of the field that counts pieces, or 255 (1)
//   heads   = low bytes of all records' first 16 bits , high bytes of them; of events without the
//             length code of the first field, which are the upper 3 bits
//   columns of a call = length codes of the first two fields (6 bits) ,
//             each byte of what is left of the header ,
//             for each field: its first bytes, its second bytes, ...
//   loose   = of definitions what follows the header, of iovecs the pieces; in the records' order
//   tail    = what could not be taken for records, as it was
//
// Calls stand in order of number, with what is needed to put their records together again: it does
// not depend on the table of calls. Numbers are little-endian.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

namespace omnio::tracefile {

// Ends of columns that are worth a code table of their own.
struct Columns {
  std::vector<char> bytes;
  std::vector<std::size_t> ends;
};

// Splits any payload up to kMaxPayloadBytes, whole or not. `columns` is reused.
void splitRecords(std::string_view payload, Columns& columns);

// Puts a payload of `bytes` bytes together in `out`. False when the columns are not those of one;
// whatever they hold, no more than that and a little is allocated.
bool joinRecords(std::string_view columns, std::size_t bytes, std::vector<char>& out);

// No payload has columns larger than this.
constexpr std::size_t maxColumnBytes(std::size_t payload_bytes) {
  return payload_bytes + payload_bytes / 2 + 8192;
}

}  // namespace omnio::tracefile
