/* omnio.h: recording of I/O stopped and started from inside the program.
 *
 * For C and C++, on Linux. Nothing has to be linked, and where the program does not run under
 * `omnio trace` the calls have no effect. They may be made from any thread, from a signal handler,
 * and before or after MPI_Init; they concern the whole process and leave errno alone.
 *
 * Recording is a switch, not a count: after two stops one start is enough. What is called while it
 * is stopped is not recorded, but descriptors and directories are followed on, so a file that was
 * opened meanwhile has its name when recording starts again. A call belongs to the moment it
 * returns. A forked child begins as its parent was; exec begins anew, as `omnio trace
 * --start-stopped` says.
 */
#ifndef OMNIO_H
#define OMNIO_H

#ifdef __cplusplus
extern "C" {
#endif

/* How the tracer is reached: by a call of the C library that no program makes, since its arguments
 * mean nothing (the library answers EINVAL), and which the tracer answers instead. A weak symbol of
 * our own would be simpler, but linkers bind it to nothing for good in programs that are not
 * position-independent; dlsym() needs -ldl with older C libraries; and Fortran has no weak symbols.
 */
#define OMNIO_CONTROL_KEY 0x6f6d6e6dUL /* "omnm", the length in posix_madvise */
#define OMNIO_CONTROL_STOP 0x6f0000
#define OMNIO_CONTROL_START 0x6f0001
#define OMNIO_CONTROL_QUERY 0x6f0002
#define OMNIO_CONTROL_RECORDING (-1) /* answers that are no error number */
#define OMNIO_CONTROL_STOPPED (-2)

#ifdef __linux__
/* By its symbol: the header that declares it does so only for some standards. */
int omnio_control_call_(void* address, unsigned long length, int command) __asm__("posix_madvise");
#define OMNIO_CONTROL_(command) omnio_control_call_((void*)0, OMNIO_CONTROL_KEY, command)
#else
#define OMNIO_CONTROL_(command) (0)
#endif

/* Nothing is recorded from now on. */
static __inline__ void omnio_stop(void) { (void)OMNIO_CONTROL_(OMNIO_CONTROL_STOP); }

/* Everything is recorded from now on. */
static __inline__ void omnio_start(void) { (void)OMNIO_CONTROL_(OMNIO_CONTROL_START); }

/* 1 while this process is recorded; 0 while that is stopped, or without the tracer. */
static __inline__ int omnio_is_recording(void) {
  return OMNIO_CONTROL_(OMNIO_CONTROL_QUERY) == OMNIO_CONTROL_RECORDING;
}

#ifdef __cplusplus
}
#endif

#endif
