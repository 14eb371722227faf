/* Feeds a loop that reads 64 KiB of each MiB, and prints what it will read next.
 *
 *   cc -std=c99 example.c $(pkg-config --cflags --libs omnio-predict) */
#include <inttypes.h>
#include <omnio_predict.h>
#include <stdio.h>

int main(void) {
  omnio_predictor* predictor = omnio_predictor_create();
  const int32_t file = omnio_predictor_file(predictor, "/data/field.bin");
  for (int64_t turn = 0; turn < 20; ++turn) {
    omnio_operation read = {0};
    read.kind = OMNIO_READ;
    read.file = file;
    read.offset = turn << 20;
    read.bytes = 65536;
    read.start_ns = turn * 1000000; /* one each millisecond, which takes 200 microseconds */
    read.end_ns = read.start_ns + 200000;
    if (omnio_predictor_take(predictor, &read) != 0) return 1;
  }
  omnio_predicted next[8];
  const int count = omnio_predictor_next(predictor, 0, next, 8);
  for (int i = 0; i < count; ++i) {
    printf("in %" PRId64 " ns: call %d of %s at %" PRId64 ", %" PRId64 " bytes, weight %.2f\n",
           next[i].time_until_ns, (int)next[i].kind, omnio_predictor_path(predictor, next[i].file),
           next[i].offset, next[i].bytes, next[i].weight);
  }
  omnio_predictor_destroy(predictor);
  return count == 8 ? 0 : 1;
}
