/* omnio_predict.h: the next reads and writes of a program, predicted from those before.
 *
 * For C and C++. A program feeds the operations that it (or another one) has done: opens, closes,
 * reads and writes of files. It asks for those that a thread will do next, and gets them with file,
 * offset, size, weight and the time until each. The models are those of `omnio predict`, after
 * Dorier et al., "Using Formal Grammars to Predict I/O Behaviors in HPC: the Omnisc'IO Approach"
 * (TPDS 2016).
 *
 *   cc program.c $(pkg-config --cflags --libs omnio-predict)
 *   find_package(omnio COMPONENTS predict); target_link_libraries(program omnio::predict_api)
 *
 * A predictor is for the threads of one process. It is not to be used by several threads of the
 * caller at a time; different predictors may. No function ends the program, throws or prints. What
 * fails returns a negative number, OMNIO_PREDICT_..., and changes nothing. Where memory ran out,
 * the predictor is of no more use than to be destroyed.
 *
 * Memory: 1 MiB at most for what is learnt, however much is fed; some bytes for each thread; and
 * for each path about 300 bytes and four times its length. An operation takes some microseconds at
 * most, as does asking for the next eight.
 */
#ifndef OMNIO_PREDICT_H
#define OMNIO_PREDICT_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define OMNIO_PREDICT_BAD_ARGUMENT (-1) /* a null pointer, or a number out of range */
#define OMNIO_PREDICT_NO_MEMORY (-2)

#define OMNIO_PREDICT_MAX_NEXT 1024 /* operations that can be asked for at a time */

typedef struct omnio_predictor omnio_predictor;

enum omnio_operation_kind { OMNIO_OPEN = 0, OMNIO_CLOSE = 1, OMNIO_READ = 2, OMNIO_WRITE = 3 };

typedef struct omnio_operation {
  uint32_t thread;  /* any number that is the same for all operations of the thread */
  int32_t kind;     /* enum omnio_operation_kind */
  uint64_t context; /* any number that stands for the place in the program, such as a hash of the
                       call stack; 0 if it is not known */
  int32_t file;     /* of omnio_predictor_file() */
  int64_t offset;   /* of a read or write: where in the file its bytes begin, from 0 */
  int64_t bytes;    /* and how many were moved, from 0; both at most 2^60 */
  int64_t start_ns; /* by any clock that is the same for all operations, from 0 to 2^62 */
  int64_t end_ns;   /* no earlier */
} omnio_operation;

typedef struct omnio_predicted {
  int32_t kind;
  int32_t file;           /* that the operation before it was on, or is expected to be on */
  int32_t may_be_another; /* 1: an open comes first, and may open another file whose path differs
                             from that of `file` in numbers alone */
  int64_t offset;         /* 0 of an open or close, as is the next one */
  int64_t bytes;
  double weight;         /* how likely it is that these come, and not others: above 0, 1 at most */
  int64_t time_until_ns; /* from the end of the thread's last operation to the begin of this one;
                            -1 where that cannot be told yet */
} omnio_predicted;

/* NULL where memory is lacking. omnio_predictor_destroy() frees it; NULL is left alone. */
omnio_predictor* omnio_predictor_create(void);
void omnio_predictor_destroy(omnio_predictor* predictor);

/* The number of a file, from 0. Paths are compared as text; files whose paths differ in numbers
 * alone, as dump.1 and dump.2, are taken to be used in the same way. */
int32_t omnio_predictor_file(omnio_predictor* predictor, const char* path);

/* The path without "//" and "/./", for as long as the predictor lives; NULL where no file has the
 * number. */
const char* omnio_predictor_path(const omnio_predictor* predictor, int32_t file);

/* Takes an operation that has ended. Those of a thread come in order, and those of several threads
 * by the time they began, as far as possible. 0 when it is done. */
int omnio_predictor_take(omnio_predictor* predictor, const omnio_operation* operation);

/* The thread has ended: one that begins later goes on with what was learnt of it. 0. */
int omnio_predictor_end_thread(omnio_predictor* predictor, uint32_t thread);

/* The operations that a thread will do next, in order: fills `next` with at most `count` of them,
 * and returns how many. 0 where nothing is expected, as before the first operation. */
int omnio_predictor_next(const omnio_predictor* predictor, uint32_t thread, omnio_predicted* next,
                         int count);

#ifdef __cplusplus
}
#endif

#endif
