"""A Python program as sites run them: threads, subprocesses, pools of processes by fork and by spawn,
mapped files, a database. Prints what does not change from run to run.

  python_workers.py DIRECTORY [PART...]    all parts by default
"""

import concurrent.futures
import mmap
import multiprocessing
import os
import sqlite3
import subprocess
import sys
import tempfile
import threading


def writeLines(number):
    with open(f"lines.{number}", "w", encoding="utf-8") as file:
        for line in range(1000):
            print(number, line, file=file)
    return os.stat(f"lines.{number}").st_size


def square(number):
    """Run in a worker process, which has a file of its own and one together with the others."""
    with open(f"worker.{number}", "wb") as file:
        file.write(b"%d" % (number * number))
    shared = os.open("shared", os.O_WRONLY | os.O_CREAT)
    os.pwrite(shared, b"%08d" % number, number * 8)
    os.close(shared)
    return number * number


def threads():
    several = [threading.Thread(target=writeLines, args=(n,)) for n in range(6)]
    for thread in several:
        thread.start()
    for thread in several:
        thread.join()
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        print("threads", sum(pool.map(writeLines, range(10, 20))))


def subprocesses():
    print(subprocess.run(["sort", "-rn", "lines.3"], capture_output=True, check=True).stdout[:20])
    print(subprocess.run("cat lines.1 | wc -l > count; cat count; exit 7", shell=True).returncode)
    with subprocess.Popen(["tr", "a-z", "A-Z"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          close_fds=False) as child:
        print(child.communicate(b"piped")[0])
    with open("redirected", "wb") as file:
        subprocess.run(["head", "-n", "2", "lines.2"], stdout=file, check=True)
    try:
        subprocess.run(["./lines.0"], check=False)
    except PermissionError as problem:
        print(problem)


def pools():
    for method in ("fork", "spawn", "forkserver"):
        pool = multiprocessing.get_context(method).Pool(3)
        print(method, pool.map(square, range(12)))
        pool.close()  # what ends a pool by `with` kills the workers, and their traces say so
        pool.join()
    with concurrent.futures.ProcessPoolExecutor(2) as pool:
        print("executor", sum(pool.map(square, range(20, 30))))


def mappings():
    with open("mapped", "w+b") as file:
        file.truncate(8192)
        with mmap.mmap(file.fileno(), 0) as mapped:
            mapped[4000:4004] = b"word"
            mapped.flush()


def temporary():
    with tempfile.TemporaryFile(dir=".") as file:
        file.write(b"x" * 100000)
        file.seek(5)
        print("temporary", len(file.read()))


def database():
    with sqlite3.connect("data.db") as connection:
        connection.execute("pragma journal_mode = wal")
        connection.execute("create table t (a integer primary key, b text)")
        connection.executemany("insert into t values (?, ?)", ((i, f"row {i}") for i in range(5000)))
    connection.close()
    connection = sqlite3.connect("data.db")
    print("database", connection.execute("select count(*), max(b) from t").fetchone())
    connection.close()


def child():
    sys.stdout.flush()
    if os.fork() == 0:
        with open("child", "w", encoding="utf-8") as file:
            file.write("child")
        os._exit(3)
    print("child", os.waitstatus_to_exitcode(os.wait()[1]))
    print(sorted(int(fd) for fd in os.listdir("/proc/self/fd"))[:4])


if __name__ == "__main__":
    os.chdir(sys.argv[1])
    parts = [threads, subprocesses, pools, mappings, temporary, database, child]
    for part in parts:
        if len(sys.argv) == 2 or part.__name__ in sys.argv[2:]:
            part()
            sys.stdout.flush()
    # The server of forks and the tracker of shared memory would end a moment after this process.
    from multiprocessing import forkserver, resource_tracker
    forkserver._forkserver._stop()
    resource_tracker._resource_tracker._stop()
    sys.exit(5)
