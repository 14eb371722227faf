"""The data of a replay, by --data: how far compressors get with what writes carry and with what prepared
files hold, block by block, and how many blocks are copies of others.
"""

import os
import shutil
import subprocess

from omnio_testing import emptied, environment, omnio, program, run, runCases
from replay_testing import (MPI_ENVIRONMENT, closed, file, opened, replay, report, schedule,
                            write)

KIB, MIB = 1 << 10, 1 << 20
BLOCK = 4 * KIB
FILE_BYTES = 4 * MIB
REQUESTS = (100, 1000, 4 * KIB, 64 * KIB, MIB)
BLOCK_SIZES = (4 * KIB, 16 * KIB, 128 * KIB)
MOST_BLOCKS = 48  # that are compressed of a file
COMPRESSORS = {"zstd": ["zstd", "-q", "--no-check", "-k"], "lz4": ["lz4", "-q", "-k", "-m",
                                                                    "--no-frame-crc"]}
SUFFIXES = {"zstd": ".zst", "lz4": ".lz4"}


def makeSchedule(work):
    """Prepared files and, by rank, files that are written with requests of one size."""
    files, ranks = [file("in.0", "input", True, FILE_BYTES),
                    file("in.1", "input", True, FILE_BYTES)], []
    for rank, size in enumerate(REQUESTS):
        name, total = f"out.{size}", FILE_BYTES if size >= 1000 else 512 * KIB
        count = total // size
        files.append(file(name))
        ranks.append([[opened("in.0", 1, "O_RDONLY"), opened(name, 0),
                       *({"command": "write", "fd": 0, "count": size, "result": size}
                         for _ in range(count)), closed(0), closed(1)]])
    files.append(file("direct"))
    ranks.append([[opened("direct", 0, "O_RDWR|O_CREAT|O_DIRECT"),
                   *({"command": "write", "fd": 0, "count": BLOCK, "result": BLOCK}
                     for _ in range(512)), closed(0)]])
    return write(os.path.join(work, "data.json"), schedule(files, ranks=ranks))


def replayed(checks, work, path, data):
    """{name: content} of what the replay has left."""
    target, output = os.path.join(work, "target"), os.path.join(work, "replayed")
    for directory in (target, output):
        shutil.rmtree(directory, ignore_errors=True)
    options = [] if data is None else ["--data", data]
    done = replay(path, target, output, "-n", "2", "--no-trace", *options)
    checks.equal(done.status, 0, f"{data}: {done}")
    facts = report(output)
    checks.equal(facts["data"], data or "random", f"{data}: in the report")
    checks.equal(f"Data: {data}\n" in done.out.decode(), data not in (None, "random"),
                 f"{data}: in the text")
    print(f"{data}: makespan {facts['makespan_ns'] / 1e6:.1f} ms")
    contents = {}
    for name in sorted(os.listdir(os.path.join(target, "tree"))):
        whole = os.path.join(target, "tree", name)
        checks.that(os.stat(whole).st_blocks * 512 >= os.path.getsize(whole),
                    f"{data}, {name}: has its blocks")
        with open(whole, "rb") as inside:
            contents[name] = inside.read()
    return contents


def ratiosOf(work, content, block, compressor):
    """How far the compressor gets with each block by itself."""
    folder = emptied(os.path.join(work, "blocks"))
    step = max(1, len(content) // block // MOST_BLOCKS)
    names = []
    for at in range(0, len(content) // block, step):
        names.append(os.path.join(folder, f"{at}"))
        with open(names[-1], "wb") as out:
            out.write(content[at * block:(at + 1) * block])
    subprocess.run([*COMPRESSORS[compressor], *names], check=True, stdin=subprocess.DEVNULL)
    return [block / os.path.getsize(name + SUFFIXES[compressor]) for name in names]


def blocksOf(content):
    return [content[at:at + BLOCK] for at in range(0, len(content) - BLOCK + 1, BLOCK)]


def checkRatio(checks, work, data, contents, ratio, duplicates):
    for name, content in contents.items():
        # Of a request of 100 bytes, 8 differ from all others, and the same memory comes again
        # within a large block.
        small = name == "out.100"
        if small and ratio > 2.5:
            continue
        sizes = BLOCK_SIZES[:2] if small else BLOCK_SIZES
        for block in sizes:
            for compressor in COMPRESSORS:
                if shutil.which(compressor) is None:
                    checks.skip(f"{data}, {compressor}", "is not installed")
                    continue
                ratios = ratiosOf(work, content, block, compressor)
                mean = len(ratios) / sum(1 / one for one in ratios)
                what = f"{data}, {name}, {block // KIB} KiB by {compressor}"
                checks.that(0.85 * ratio <= mean <= 1.15 * ratio, f"{what}: ratio {mean:.3f}")
                if block == BLOCK_SIZES[0] or name in ("in.0", f"out.{MIB}"):
                    print(f"{what}: ratio {min(ratios):.2f} {mean:.2f} {max(ratios):.2f}")
        if name not in ("out.100", "out.1000"):
            blocks = blocksOf(content)
            share = 1 - len(set(blocks)) / len(blocks)
            # The first 64 of the copies are of none before.
            most_firsts = 64 / len(blocks)
            checks.that(duplicates - most_firsts - 0.01 <= share <= duplicates + 0.01,
                        f"{data}, {name}: {share:.3f} of the blocks are copies")
            print(f"{data}, {name}: {share:.3f} of the blocks are copies")
    every = [block for name, content in contents.items() if name not in ("out.100", "out.1000")
             for block in blocksOf(content)]
    share = 1 - len(set(every)) / len(every)
    checks.that(duplicates - 0.04 <= share <= duplicates + 0.01,
                f"{data}: {share:.3f} of all blocks are copies")


def checkRatios(checks, work):
    path = makeSchedule(work)
    for ratio, duplicates in ((1.2, 0), (2.5, 0), (2.5, 0.3), (4, 0.5), (10, 0)):
        data = f"ratio={ratio}" + (f",duplicates={duplicates}" if duplicates else "")
        checkRatio(checks, work, data, replayed(checks, work, path, data), ratio, duplicates)


def checkOthers(checks, work):
    path = makeSchedule(work)
    for data in (None, "random", "ratio=1"):
        contents = replayed(checks, work, path, data)
        every = [block for name, content in contents.items() if name not in ("out.100", "out.1000")
                 for block in blocksOf(content)]
        checks.equal(len(set(every)), len(every), f"{data}: all blocks differ")
        for name, content in contents.items():
            if name == "out.100" or shutil.which("zstd") is None:
                continue
            # Without a ratio, requests share much of their memory with the one before.
            if data != "ratio=1" and name == "out.1000":
                continue
            for block in BLOCK_SIZES if data == "ratio=1" else BLOCK_SIZES[:1]:
                ratios = ratiosOf(work, content, block, "zstd")
                checks.that(max(ratios) < 1.03,
                            f"{data}, {name}, {block} bytes: compresses by {max(ratios):.3f}")
    for name, content in replayed(checks, work, path, "zero").items():
        checks.equal(content.count(0), len(content), f"zero, {name}: zeros")


def checkStreams(checks, work):
    """What writes texts and lines is not cut short by zeros."""
    home, trace = emptied(os.path.join(work, "home")), os.path.join(work, "stdio.trace")
    done = run([omnio(), "trace", "-o", trace, "--", program("c_stdio"), home], cwd=home)
    checks.equal(done.status, 0, f"streams: {done}")
    path = os.path.join(work, "stdio.json")
    done = run([omnio(), "preprocess", trace, "-o", path, "--timing", "asap"])
    checks.equal(done.status, 0, f"streams: {done}")
    for data in ("zero", "ratio=3", "ratio=3,duplicates=0.5"):
        target, output = os.path.join(work, "streams"), emptied(os.path.join(work, "streams.out"))
        done = replay(path, target, output, "--fresh", "--data", data)
        checks.equal(done.status, 0, f"streams, {data}: {done}")
        checks.equal(report(output)["total"]["differences"], 0, f"streams, {data}: differences")


def checkWords(checks, work):
    path = makeSchedule(work)
    for data, sentence in (
            ("none", "none is not random, zero, ratio=R or ratio=R,duplicates=SHARE"),
            ("zero,duplicates=0.5", "is not random, zero, ratio=R or ratio=R,duplicates=SHARE"),
            ("ratio=2,copies=1", "is not random, zero, ratio=R or ratio=R,duplicates=SHARE"),
            ("ratio=0.5", "ratio=0.5: the ratio is not a number from 1 to 20"),
            ("ratio=21", "ratio=21: the ratio is not a number from 1 to 20"),
            ("ratio=nan", "ratio=nan: the ratio is not a number from 1 to 20"),
            ("ratio=2x", "ratio=2x: the ratio is not a number from 1 to 20"),
            ("ratio=", "ratio=: the ratio is not a number from 1 to 20"),
            ("ratio=2,duplicates=1",
             "ratio=2,duplicates=1: the share of duplicates is not a number from 0 to 0.95"),
            ("ratio=2,duplicates=-0.1",
             "the share of duplicates is not a number from 0 to 0.95")):
        done = run([omnio(), "replay", path, "--target", os.path.join(work, "none"),
                    f"--data={data}"], env=environment(**MPI_ENVIRONMENT))
        checks.equal(done.status, 2, f"{data!r}: {done}")
        lines = done.err.decode().splitlines()
        checks.that(len(lines) == 2 and sentence in lines[0], f"{data!r}: {lines}")
        checks.that(not os.path.exists(os.path.join(work, "none")), f"{data!r}: nothing is made")


if __name__ == "__main__":
    runCases(checkRatios, checkOthers, checkStreams, checkWords)
