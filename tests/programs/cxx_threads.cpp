// Eight threads of the C++ library, each with a file of its own and a share in a common one; file
// streams besides, whose blocks the C++ library writes and reads by itself.
//
//   cxx_threads DIRECTORY
#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

namespace {

constexpr int kThreads = 8;
constexpr int kCalls = 200;

void need(bool condition, const std::string& what) {
  if (condition) return;
  std::fprintf(stderr, "cxx_threads: not so: %s\n", what.c_str());
  std::exit(70);
}

void writeFiles(const std::string& directory, int shared, int thread) {
  const std::string own = directory + "/own." + std::to_string(thread);
  const int fd = open(own.c_str(), O_CREAT | O_TRUNC | O_WRONLY, 0644);
  need(fd >= 0, "open " + own);
  for (int call = 0; call < kCalls; ++call) {
    const std::string line = std::to_string(thread) + " " + std::to_string(call) + "\n";
    need(write(fd, line.data(), line.size()) == static_cast<ssize_t>(line.size()), "write");
    need(pwrite(shared, &call, sizeof call, (call * kThreads + thread) * 4) == 4, "pwrite");
  }
  need(fsync(fd) == 0 && close(fd) == 0, "close " + own);
}

// More than one buffer's worth, in pieces, and then back from the end and the middle.
void streamFile(const std::string& path, int thread) {
  std::size_t bytes = 0;
  {
    std::ofstream out(path);
    for (int line = 0; line < 3000; ++line) {
      const std::string text = "thread " + std::to_string(thread) + " line " + std::to_string(line);
      out << text << '\n';
      bytes += text.size() + 1;
    }
    need(out.good(), "ofstream " + path);
  }
  std::ifstream in(path, std::ios::binary);
  in.seekg(0, std::ios::end);
  need(static_cast<std::size_t>(in.tellg()) == bytes, "tellg " + path);
  in.seekg(static_cast<std::streamoff>(bytes / 2));
  std::string rest(bytes - bytes / 2, ' ');
  need(static_cast<bool>(in.read(rest.data(), static_cast<std::streamsize>(rest.size()))), "read");
  need(rest.back() == '\n', "the last character of " + path);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return std::fprintf(stderr, "usage: cxx_threads DIRECTORY\n"), 2;
  const std::string directory = argv[1];
  const int shared = open((directory + "/shared").c_str(), O_CREAT | O_TRUNC | O_RDWR, 0644);
  need(shared >= 0, "open shared");
  std::vector<std::thread> threads;
  for (int thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([&directory, shared, thread] {
      writeFiles(directory, shared, thread);
      streamFile(directory + "/stream." + std::to_string(thread), thread);
    });
  }
  for (std::thread& thread : threads) thread.join();
  int last = 0;
  need(pread(shared, &last, 4, (kThreads * kCalls - 1) * 4) == 4 && last == kCalls - 1, "pread");
  need(close(shared) == 0, "close shared");
}
