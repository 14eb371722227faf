"""The statistics of the campaign: medians, variation, errors, and whether replays rank targets as
applications do. Times are in seconds."""

import itertools
import statistics


def median(values):
    return statistics.median(values)


def variation(values):
    """The coefficient of variation in percent: the standard deviation of a sample, as a part of its
    mean. 0 for a single value, which has none."""
    if len(values) < 2:
        return 0.0
    return 100 * statistics.stdev(values) / statistics.mean(values)


def bias(application, replay):
    """The error of the replay's median in percent of the application's; below 0 where the replay is
    too fast."""
    return 100 * (median(replay) / median(application) - 1)


def spread(values):
    """From the smallest to the largest, in percent of the median."""
    return 100 * (max(values) - min(values)) / median(values)


def overlap(one, other):
    """Whether the intervals from the smallest to the largest value of two samples meet."""
    return min(one) <= max(other) and min(other) <= max(one)


def atFirst(rows):
    """The rows, with those that were made longer as they were at first."""
    return [{**row, **row.get("at_first", {})} for row in rows]


def steadyLengths(rows, percent):
    """The rows at each length that they were measured at, where neither application nor replay varies by
    more than that."""
    return [row for row in [*rows, *atFirst(row for row in rows if "at_first" in row)]
            if max(variation(row["application"]), variation(row["replay"])) <= percent]


def ranking(rows):
    """Compares the replays of two targets wherever the application differs between them. `rows` are
    dictionaries with `workload`, `factor`, `to`, `application` and `replay`.

    Returns how many comparisons there were, and the pairs of rows whose replays are ordered otherwise
    than their applications, the faster application first. Rows of different lengths of a workload are
    not compared.
    """
    compared, wrong = 0, []
    for one, other in itertools.combinations(rows, 2):
        same = all(one[key] == other[key] for key in ("workload", "factor"))
        if not same or one["to"] == other["to"] or overlap(one["application"], other["application"]):
            continue
        compared += 1
        faster, slower = sorted((one, other), key=lambda row: median(row["application"]))
        if median(faster["replay"]) >= median(slower["replay"]):
            wrong.append((faster, slower))
    return compared, wrong
