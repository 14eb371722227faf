// An MPI library that gives one thread alone, as one that was built without threads: preloaded
// before a program it asks the real library for that, whatever the program asks for.
extern int PMPI_Init_thread(int* argc, char*** argv, int required, int* provided);

int MPI_Init_thread(int* argc, char*** argv, int required, int* provided) {
  (void)required;
  const int code = PMPI_Init_thread(argc, argv, 0, provided);
  *provided = 0;  // MPI_THREAD_SINGLE, in all libraries
  return code;
}
