"""Cursors on another node than the one that gave them, on Apache Kafka. A topic that was recreated: test_archive_kafka.py and
test_kafka_topics.py; partitions that are added: test_kafka_topics.py."""

from clients import resumed, served


def test_a_cursor_of_one_node_is_good_on_others_as_far_as_they_remember(node, write, live):
    """On one that runs, on one that starts later, and on one that keeps less."""
    first, narrow = node(), node(history__max_events_per_account=3)
    client, few = live(first, with_="at"), live(first, "PACC2", with_="at")
    begin = client.wait_for_control("live")["at"]
    few.wait_for_control("live")
    for partition in range(4):
        write([f"{partition}/{number}" for number in range(5)], partition=partition)
    write(range(6), account="PACC2")
    events, cursors = client.wait_for_events(20), [event["at"] for event in few.wait_for_events(6)]
    # A node that comes when all is written knows it from its start.
    second = node()
    for gone, cursor in enumerate([begin] + [event["at"] for event in events]):
        expected = client.ids[gone:]
        for door in (first, second):
            got = resumed(live(door, since=cursor))
            # Each partition in its order; among each other another node may have read them otherwise.
            assert sorted(got) == sorted(expected)
            for partition in "0123":
                mine = [name for name in got if name.startswith(partition)]
                assert mine == sorted(mine)
    # Then it has read as far as the newest cursor.
    served(live(narrow, "PACC2", since=cursors[5]))
    for gone, cursor in enumerate(cursors, 1):
        left = [str(number) for number in range(gone, 6)]
        assert resumed(live(second, "PACC2", since=cursor)) == left
        if len(left) <= 3:
            assert resumed(live(narrow, "PACC2", since=cursor)) == left
        else:
            assert live(narrow, "PACC2", since=cursor).wait_for_control("resync")["why"] == "expired"
    # Nobody who gave it is needed: the next one serves it, with what was written while no node ran, in a partition of its own.
    for door in (first, narrow, second):
        door.stop()
    write(["late"], partition=3)
    back = live(node(), since=events[4]["at"])
    assert sorted(resumed(back)) == sorted([*client.ids[5:], "late"])
    write(["live"], partition=1)
    back.wait_for_id("live")
