#include "cli/commands/commands.hpp"

int main(int argc, char** argv) { return omnio::cli::run(argc, argv); }
