"""The comparison's own parts are tested first: a parser that drops lines compares nothing."""

import contextlib
import io
import unittest

from io_comparison import compareCounts, compareOwnCounts, ownCounts
from io_counts import KINDS, Counts, Selection, countEvents, plainCall, withoutRandomNames
from omnio_testing import Checks
from strace_counts import BadLine, countStrace


def counted(*lines):
    return {path: ({kind: n for kind, n in counts.calls.items() if n},
                   counts.read_bytes, counts.write_bytes)
            for path, counts in countStrace(lines).items()}


class StraceParser(unittest.TestCase):
    def testCountsCallsAndBytesByPath(self):
        self.assertEqual(
            counted('7  openat(AT_FDCWD</run>, "a", O_RDWR|O_CREAT, 0644) = 3</run/a>',
                    '7  write(3</run/a>, ""..., 10)       = 10',
                    '7  pread64(3</run/a>, ""..., 99, 4)  = 6',
                    '7  lseek(3</run/a>, 0, SEEK_SET)     = 0',
                    '7  close(3</run/a>)                  = 0',
                    '7  +++ exited with 0 +++'),
            {"/run/a": ({"open": 1, "close": 1, "read": 1, "write": 1, "seek": 1}, 6, 10)})

    def testJoinsInterruptedCalls(self):
        self.assertEqual(
            counted('7  write(3</run/a>, ""..., 8 <unfinished ...>',
                    '8  read(4</run/b>,  <unfinished ...>',
                    '7  <... write resumed>)               = 8',
                    '8  <... read resumed>""..., 5)        = 5'),
            {"/run/a": ({"write": 1}, 0, 8), "/run/b": ({"read": 1}, 5, 0)})

    def testFailedOpensAreTheAskedPath(self):
        self.assertEqual(
            counted('7  openat(AT_FDCWD</run>, "no", O_RDONLY) = -1 ENOENT (No such file)',
                    '7  openat(5</run/d>, "x", O_RDONLY) = -1 EACCES (Permission denied)'),
            {"/run/no": ({"failed opens": 1}, 0, 0), "/run/d/x": ({"failed opens": 1}, 0, 0)})

    def testUnlinkedFilesKeepTheirName(self):
        self.assertEqual(counted('7  write(3</run/a>(deleted), ""..., 4) = 4',
                                 '7  write(3</run/a (deleted)>, ""..., 4) = 4'),
                         {"/run/a": ({"write": 2}, 0, 8)})

    def testEscapedNames(self):
        self.assertEqual(list(counted(r'7  fsync(3</run/\303\244>) = 0')), ["/run/ä"])

    def testPipesAndUnknownDescriptorsAreLeftOut(self):
        self.assertEqual(counted('7  write(1<pipe:[55]>, ""..., 4) = 4',
                                 '7  close(9) = -1 EBADF (Bad file descriptor)'), {})

    def testAStrangeLineIsNotPassedOver(self):
        with self.assertRaises(BadLine):
            counted("write(3</run/a>, 8) = 8")
        with self.assertRaises(BadLine):
            counted("7  <... write resumed>) = 8")


class TraceCounts(unittest.TestCase):
    def testNamesAreThoseOfTheSource(self):
        for symbol, name in (("__pread64_chk", "pread"), ("__open64_2", "open"),
                             ("pwritev64v2", "pwritev"), ("__isoc99_fscanf", "fscanf"),
                             ("__getdelim", "getdelim"), ("getline", "getdelim"),
                             ("_IO_putc", "putc"), ("fputc_unlocked", "fputc"),
                             ("__vfprintf_chk", "vfprintf"), ("dup2", "dup2")):
            self.assertEqual(plainCall(symbol), name)

    def testStreamsAreCountedAtTheirOwnLayer(self):
        def event(call, kind, moved=0, **more):
            return {"rank": 2, "file": "/run/a", "call": call, "class": kind, "bytes": moved,
                    "failed": False, **more}
        counts = countEvents([event("fopen", "open"), event("fwrite", "write", 5),
                              event("fclose", "close"), event("pread64", "read", 3),
                              event("fsync", "sync")])[(2, "/run/a")]
        self.assertEqual(counts.streams, {"fopen": [1, 0], "fwrite": [1, 5], "fclose": [1, 0]})
        self.assertEqual({kind: n for kind, n in counts.calls.items() if n},
                         {"open": 1, "close": 1, "read": 1, "sync": 1})
        self.assertEqual((counts.read_bytes, counts.write_bytes), (3, 5))
        self.assertTrue(counts.buffered)
        self.assertFalse(Counts().buffered)


class Comparison(unittest.TestCase):
    """Each figure that is compared makes the test fail when it is one off."""

    def failuresOf(self, traced, straced):
        checks = Checks()
        with contextlib.redirect_stdout(io.StringIO()):
            compareCounts(checks, "case", Selection("/run", ["*.so"]), traced, straced)
        return len(checks.failures)

    def testEachKindOfCallAndByteCounts(self):
        for kind in KINDS:
            one, two = Counts(), Counts()
            one.calls[kind] += 1
            self.assertEqual(self.failuresOf({(0, "/run/a"): one}, {(0, "/run/a"): one}), 0)
            self.assertEqual(self.failuresOf({(0, "/run/a"): one}, {(0, "/run/a"): two}), 1, kind)
        for field in ("read_bytes", "write_bytes"):
            one = Counts()
            setattr(one, field, 1)
            self.assertEqual(self.failuresOf({(0, "/run/a"): one}, {(0, "/run/a"): Counts()}), 1)

    def testRankAndPathCount(self):
        one = Counts()
        one.add("write", 5)
        self.assertGreater(self.failuresOf({(0, "/run/a"): one}, {(1, "/run/a"): one}), 0)
        self.assertGreater(self.failuresOf({(0, "/run/a"): one}, {(0, "/run/b"): one}), 0)

    def testNothingToCompareFails(self):
        one = Counts()
        for path in ("/run/lib.so", "/elsewhere/a", "/run2/a"):
            self.assertEqual(self.failuresOf({(0, path): one}, {(0, path): one}), 1)

    def testBufferedFilesCompareBytesButNotCalls(self):
        ours, theirs = Counts(), Counts()
        ours.addStream("fwrite", 8)
        ours.write_bytes = 8
        theirs.add("write", 8)
        self.assertEqual(self.failuresOf({(0, "/run/a"): ours}, {(0, "/run/a"): theirs}), 0)
        theirs.add("write", 1)
        self.assertEqual(self.failuresOf({(0, "/run/a"): ours}, {(0, "/run/a"): theirs}), 1)

    def testOwnCountsAreComparedBothWays(self):
        line = b'{"path":"/run/a","call":"getline","calls":2,"bytes":9}\n'
        for events, failures in (({"/run/a": {"getdelim": [2, 9]}}, 0),
                                 ({"/run/a": {"getdelim": [2, 8]}}, 1), ({}, 1),
                                 ({"/run/a": {"getdelim": [2, 9], "fputs": [1, 1]}}, 1)):
            checks = Checks()
            with contextlib.redirect_stdout(io.StringIO()):
                compareOwnCounts(checks, "case", Selection("/run", []), events, ownCounts(line))
            self.assertEqual(len(checks.failures), failures, events)

    def testRandomNamesAreOne(self):
        self.assertEqual(list(withoutRandomNames({(0, "/run/temporary.a1B2c3"): 1})),
                         [(0, "/run/temporary.XXXXXX")])


class SelfCounting(unittest.TestCase):
    def status(self, checks):
        with self.assertRaises(SystemExit) as ended:
            checks.finish()
        return ended.exception.code

    def testATestWithoutChecksDoesNotPass(self):
        self.assertEqual(self.status(Checks()), 1)

    def testAFailedCheckFails(self):
        checks = Checks()
        checks.equal(1, 1, "one")
        checks.equal(1, 2, "(deliberately wrong)")
        self.assertEqual(self.status(checks), 1)

    def testSkippedCasesAreVisible(self):
        checks = Checks()
        checks.skip("case", "(deliberately skipped)")
        self.assertEqual(self.status(checks), 77)


if __name__ == "__main__":
    unittest.main()
