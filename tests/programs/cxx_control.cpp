// The same in C++: the header has to be good for both.
#include "c_control.c"
