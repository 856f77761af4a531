"""How many clients come back in a second, on a machine that does not always have time.

A return is the moment at which a client connects again. Where the clients' process stood still for L seconds, those that were due
meanwhile come together: a second that begins there counts as 1 + L seconds. (Standing still later in it moves nobody into it.)
Where the node did, which the administration's answers tell, its closes come together, and their returns are spread over the R
behind: L / R more in each second of those. On a machine that has time for both this is next to nothing. One that lets them wait
for longer than 0.3 s says nothing of when clients would have come: the short form does not judge that then, but all else.
"""

# In seconds: within so long of the end of a stall those come together that were due in it.
BACKLOG = 0.05


def fullest_second(times, stalls, of_node, retry):
    """The most in any second, wherever it begins; and the most for each second that it counts as. A stall, of this process or of
    the node, is its end and how long it was."""
    times = sorted(times)

    def longest(stalls, begin, end):
        return max((late for moment, late in stalls if begin <= moment <= end), default=0)
    first = most = counted = 0
    for index, moment in enumerate(times):
        while times[first] + 1 <= moment:
            first += 1
        begin, here = times[first], index - first + 1
        seconds = 1 + longest(stalls, begin - BACKLOG, begin + BACKLOG) + longest(of_node, begin - retry, begin) / retry
        most, counted = max(most, here), max(counted, here / seconds)
    return most, counted
