// One of the processes that make the accesses.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/base/file.hpp"
#include "predict/calibration/access_memory.hpp"
#include "predict/calibration/shared_area.hpp"

namespace omnio::predict {

class Worker {
 public:
  // `directory` is the one that the calibration made in the target. The area, the slot and the
  // records outlive the worker.
  Worker(std::string directory, std::uint32_t number, SharedArea& area, WorkerSlot& slot,
         std::span<AccessRecord> records);
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  bool hasMemory() const { return memory_.isThere(); }
  // Carries out the order of the area. What failed is in the slot, and then all give up.
  void work();

 private:
  struct Stopped {};  // thrown where the order is given up

  void carryOut();
  void settle();
  void prepare();
  void measureData();
  void measureSync();
  void measureMetadata();
  void measurePaused();
  static void pause();

  void prepareCache(int fd, const CellKey& key, std::uint64_t bytes);
  // Makes the accesses, or as many as there is time for, at the same time as the other processes.
  // Returns how many.
  std::size_t accessAll(int fd, CellOperation operation, const std::vector<std::int64_t>& offsets,
                        std::int64_t limit_ns, const std::string& name);
  void accessMore(int fd, CellOperation operation, const std::vector<std::int64_t>& offsets);
  void writePiece(int fd, std::uint64_t bytes, std::uint64_t offset, const std::string& name);
  void writeBack(int fd, std::uint64_t bytes, const std::string& name);
  bool makeEmpty(const std::string& name) const;
  void makeEntries(const std::string& folder);
  std::uint64_t fillWithNames(const std::string& folder, std::uint64_t names, std::int64_t time_ns);

  bool isOf(FileSharing sharing) const { return order().key.sharing == sharing; }
  bool isFirst() const { return number_ == 0; }
  const WorkOrder& order() const { return area_.order; }
  std::string pathOf(const std::string& name) const { return directory_ + "/" + name; }
  std::string ownName(const char* kind) const;
  std::string nextName(const std::string& folder, char kind);
  int openedFile(const std::string& name, int flags);
  base::Descriptor open(const std::string& name, int flags);
  void meet();
  void makeNew(char* data, std::uint64_t bytes);
  char* nextMemory(std::uint64_t bytes);
  bool record(CellOperation operation, std::int64_t begin, std::int64_t end,
              std::int64_t offset = 0);
  template <typename Call>
  void timed(CellOperation operation, const std::string& path, Call call);
  int timeOpen(CellOperation operation, const std::string& path);
  void timeClose(const std::string& path, int fd);
  void timeStat(const std::string& path);
  void timeRename(const std::string& from, const std::string& to);
  void timeCut(const std::string& path, const base::Descriptor& file);
  void timeUnlink(const std::string& path);
  [[noreturn]] void fail(const std::string& what, int error);

  const std::string directory_;
  const std::uint32_t number_;
  SharedArea& area_;
  WorkerSlot& slot_;
  const std::span<AccessRecord> records_;
  std::uint64_t names_ = 0;   // that nextName() has given
  bool is_kept_out_ = false;  // the page cache does not keep a file that was read
  std::uint64_t stamp_;       // of the last 4 KiB that were written; used once
  AccessMemory memory_;
};

// How many percent of the first bytes of a file are in this node's page cache, by a sample of
// windows; less than 0 where the file system does not say.
double residentPercent(int fd, std::uint64_t bytes);

}  // namespace omnio::predict
