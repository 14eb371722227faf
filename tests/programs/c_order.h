// The cases of c_order: each follows a plan in milliseconds and accounts for its calls.
#pragma once

#include "mpi_account.h"

// Messages between two.
void ring(void);
void producer(void);
void workers(void);
void halo(void);
void persistent(void);
void probes(void);
void modes(void);
void wildcards(void);
void relay(void);
void large(void);
void same_tag(void);  // by threads

// Cases of groups.
void late_barrier(void);
void allreduce(void);
void rooted(void);
void communicators(void);
void topologies(void);
void intercommunicators(void);
void nonblocking(void);
void windows(void);
void threads(void);

extern const char* directory;
