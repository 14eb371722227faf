// What the tracer does inside Open MPI's mpirun: it sees to it that ranks on other nodes, which do
// not inherit mpirun's environment, are traced as well.
#pragma once

namespace omnio::trace {

// Called in programs that are not traced; does nothing unless this is Open MPI's launcher. Names
// the tracer's variables to it in mca_base_env_list, or with -x where the user's own command has
// an -x, since Open MPI refuses to take both. For the latter it starts the program anew.
void prepareLauncher(const char* program);

}  // namespace omnio::trace
