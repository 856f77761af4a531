"""Cursors on another node than the one that gave them: on Apache Kafka, with nodes that start late, again, or at a topic
that was recreated."""

from clients import resumed, served
from kafka_admin import grow_topic
from kafka_writer import recreate_topic
from programs import eventually


def test_a_cursor_of_one_node_is_good_on_another_that_runs_and_on_one_that_starts_later(node, write, live):
    first = node()
    client = live(first, with_="at")
    begin = client.wait_for_control("live")["at"]
    for partition in range(4):
        write([f"{partition}/{number}" for number in range(5)], partition=partition)
    events = client.wait_for_events(20)
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


def test_what_was_written_while_the_node_was_down_is_served_by_the_next(node, write, live):
    first = node()
    client = live(first, with_="at")
    client.wait_for_control("live")
    write(["a", "b"])
    client.wait_for_events(2)
    cursor = client.cursors[-1]
    first.stop()
    write(["c"], partition=0)
    # A partition that the cursor does not name.
    write(["d"], partition=3)
    again = live(node(), since=cursor)
    assert sorted(resumed(again)) == ["c", "d"]
    write(["e"], partition=1)
    again.wait_for_id("e")


def test_partitions_that_are_added_belong_to_it(kafka, topic, node, write, live):
    first = node()
    client = live(first, with_="at")
    client.wait_for_control("live")
    write(["a"])
    cursor = client.wait_for_events(1)[0]["at"]
    grow_topic(kafka.bootstrap["plaintext"], topic, 6)
    eventually(lambda: produced(write, "b", 5), 20, "that the new partition takes records")
    client.wait_for_id("b", within=30)
    assert resumed(live(first, since=cursor)) == ["b"]
    assert resumed(live(node(), since=cursor)) == ["b"]


def produced(write, name, partition):
    try:
        write([name], partition=partition)
        return True
    except AssertionError:
        return False


def test_a_shorter_window_serves_what_it_has_and_refuses_the_rest(node, write, live):
    wide, narrow = node(), node(history__max_events_per_account=3)
    client = live(wide, with_="at")
    write(range(6))
    cursors = [event["at"] for event in client.wait_for_events(6)]
    # Then it has read as far as the newest cursor.
    served(live(narrow, since=cursors[5]))
    for gone, cursor in enumerate(cursors, 1):
        assert resumed(live(wide, since=cursor)) == [str(number) for number in range(gone, 6)]
        if 6 - gone <= 3:
            assert resumed(live(narrow, since=cursor)) == [str(number) for number in range(gone, 6)]
        else:
            assert live(narrow, since=cursor).wait_for_control("resync")["why"] == "expired"


def test_a_topic_recreated_while_no_node_ran_is_another_epoch(kafka, topic, node, write, live):
    bootstrap = kafka.bootstrap["plaintext"]
    first = node()
    client = live(first, with_="at")
    write(range(5))
    cursors = [event["at"] for event in client.wait_for_events(5)]
    first.stop()
    recreate_topic(bootstrap, topic)
    # Longer than every position.
    write([f"new{number}" for number in range(10)])
    second = node()
    for cursor in cursors:
        back = live(second, since=cursor)
        assert back.wait_for_control("resync")["why"] == "epoch"
        back.wait_for_control("live")
        assert back.ids == []
