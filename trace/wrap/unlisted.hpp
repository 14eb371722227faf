// The replayer calls them too, so they are declared with the table.
#pragma once

#include "core/calls/unlisted.hpp"
