"""What was written against what each client was told."""

import collections


def faults(record, positions, others):
    """What is wrong with one client's record: kind and a sentence.

    `positions` has, by partition, the place of each id in its log; `others` knows whose any id is.
    """
    reach = collections.Counter()
    was_resynced = False
    for number, stream in enumerate(record["streams"]):
        after = {}
        for identity in stream:
            if identity is None:
                # A resync: what was missed is said to be missed.
                after = {}
                was_resynced = True
                continue
            partition = identity.rpartition(".")[2].partition("-")[0]
            place = positions.get(partition, {}).get(identity)
            if place is None:
                yield "foreign", f"{record['account']} was told of {identity}" + (" of another" if identity in others else "")
                continue
            if partition in after:
                if place != after[partition] + 1:
                    yield "order", f"{record['account']} {record['form']} stream {number}: {identity} at place {place} " \
                                   f"behind place {after[partition]}"
            elif place > reach[partition] and not was_resynced:
                yield "gap", f"{record['account']} {record['form']} stream {number} begins with {identity} at place {place}, " \
                             f"but only {reach[partition]} were told"
            after[partition] = place
            reach[partition] = max(reach[partition], place + 1)
    for partition, places in positions.items():
        if reach[partition] < len(places):
            yield "incomplete", f"{record['account']} {record['form']}: {reach[partition]} of {len(places)} in partition " \
                                f"{partition} after {len(record['streams'])} streams"


def percentile(values, part):
    return values[min(int(len(values) * part), len(values) - 1)] if values else float("nan")


def judge(logs, records, writer, troubles, stage, say):
    positions = collections.defaultdict(dict)
    everything = set()
    for (account, partition), ids in logs.items():
        positions[account][str(partition)] = {identity: place for place, identity in enumerate(ids)}
        everything.update(ids)
    found = collections.defaultdict(list)
    streams = events = doubled = 0
    for record in records["clients"]:
        for kind, sentence in faults(record, positions[record["account"]], everything):
            found[kind].append(sentence)
        for _, why, _ in record["resyncs"]:
            found["resync"].append(f"{record['account']} {record['form']}: {why}")
        told = [identity for stream in record["streams"] for identity in stream if identity]
        streams, events, doubled = streams + len(record["streams"]), events + len(told), doubled + len(told) - len(set(told))
    latencies = records["latencies"]
    say(f"{streams} streams brought {events} events, {doubled} of them again on a later stream; close codes {records['codes']}")
    say("from the record's time stamp to a live client: "
        + ", ".join(f"{name} {percentile(latencies, part):.0f} ms" for name, part in (("p50", .5), ("p99", .99), ("most", 1))))
    say(", ".join(f"{count} {kind.replace('_', ' ')}" for kind, count in sorted(troubles.happened.items())))
    statuses = stage.stop_nodes()
    errors = [line for node in stage.nodes.values() for line in node.errors]

    def verdict(kind):
        return f"{len(found[kind])} times: " + "; ".join(found[kind][:3]) if found[kind] else None
    missing = writer.acknowledged - everything
    missed = troubles.kinds - set(troubles.happened)
    return [
        ("there were events, clients and streams to judge", None if events and streams > len(records["clients"]) else "none"),
        ("every client's record is complete", verdict("incomplete")),
        ("no stream begins behind what its client had", verdict("gap")),
        ("every stream has each partition in its order and nothing twice", verdict("order")),
        ("nobody was told of what is not in its account's log", verdict("foreign")),
        ("nobody was told to resync, for which there was no reason", verdict("resync")),
        ("Kafka has kept what it acknowledged", f"{len(missing)} are missing" if missing else None),
        ("the nodes ended cleanly and had nothing for an operator to do",
         None if set(statuses.values()) == {0} and not errors else f"{statuses} {errors[:3]}"),
        ("every kind of trouble has happened", f"not {missed}" if missed else None),
    ]
