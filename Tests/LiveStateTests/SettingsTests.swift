// Tests: StateMachine.swift
import LiveState
import Testing

/// What an app, a file or a store may hold, far outside of what is usual: nothing of it stops the program.
struct SettingsTests {
    @Test(arguments: [Milliseconds.max, .min, 0, -1])
    func `no time of a setting overflows`(_ time: Milliseconds) {
        var settings = UpdateMachine.Settings()
        (settings.retention, settings.pollInterval, settings.patience) = (time, time, time)
        var machine = UpdateMachine(settings)
        _ = machine.handle(.start, at: 1_000)
        let stored = UpdateMetadata(finger: "F", lastSuccess: 500, lastAttempt: 500)
        _ = machine.handle(.loaded(stored: stored), at: 1_000)
        // "Never" keeps the finger; no time at all gives it up before anything is asked.
        #expect((machine.view.metadata.finger == "F") == (time == .max))
        _ = machine.handle(.background, at: 2_000)
        #expect(machine.wakeAt.map { $0 > 2_000 } ?? true)

        var actions = ActionQueue.Settings()
        (actions.coalescing, actions.maximumAge) = (time, time)
        var queue = ActionQueue(actions)
        _ = queue.handle(.network(isReachable: false), at: 1_000)
        _ = queue.handle(.loaded(actions: []), at: 1_000)
        _ = queue.handle(.set(kind: "read", id: "1", value: "true", before: nil), at: 1_000)
        #expect(queue.pending(kind: "read", id: "1") == (time == .max ? "true" : nil))
    }

    @Test(arguments: [Int.min, -1, 0]) func `a limit that leaves room for nothing leaves room for one`(_ limit: Int) {
        var fetches = FetchQueue.Settings()
        (fetches.maximumAtOnce, fetches.maximumWaiting, fetches.maximumPages) = (limit, limit, limit)
        var queue = FetchQueue(fetches)
        let thing = Thing(entity: "incident", id: "A")
        #expect(queue.handle(.show(things: [thing], listed: [], takesNew: []), at: 0).count == 1)
        _ = queue.handle(.asked(page: 1), at: 0)

        var lists = PartialList.Settings()
        (lists.pageLimit, lists.maximumItems) = (limit, limit)
        var list = PartialList(lists)
        let asked = list.handle(.show(from: .beginning, direction: .forward, count: 1), at: 0)
        let page = PageRequest(from: .beginning, direction: .forward, limit: 1, isInclusive: true)
        #expect(asked == [.loadPage(number: 1, page: page)])

        var screens = Relevance.Settings()
        (screens.maximumScreens, screens.maximumIDs, screens.maximumSeen) = (limit, limit, limit)
        var relevance = Relevance(screens)
        _ = relevance.handle(.live(isLive: true), at: 0)
        let interest = Interest.list(entity: "incident", ids: ["A"], takesNew: true)
        _ = relevance.handle(.show(screen: "list", interest: interest), at: 0)
        _ = relevance.handle(.show(screen: "details", interest: .details(thing: thing)), at: 0)
        _ = relevance.handle(.displayed(thing: thing), at: 0)
        #expect(relevance.view.screens.count == 1 && relevance.view.seen.isEmpty)
    }

    @Test(arguments: [Milliseconds.max, .min]) func `an action of any time can be loaded`(_ at: Milliseconds) {
        var queue = ActionQueue(ActionQueue.Settings())
        let stored = DeferredAction(kind: "read", id: "1", value: "true", key: "K", at: at)
        _ = queue.handle(.network(isReachable: false), at: 1_000)
        _ = queue.handle(.loaded(actions: [stored]), at: 1_000)
        #expect(queue.view.pending.isEmpty == (at == .min))
    }

    @Test func `counts stop at the largest number`() {
        var count = RefreshCount(day: "2026-11-23", screen: "list")
        (count.manual, count.latency[0]) = (.max, .max)
        count.add(count)
        #expect(count.manual == .max && count.latency[0] == .max && count.manualShare == 1)
        var counts = RefreshCounts(RefreshCounts.Settings())
        _ = counts.handle(.loaded(counts: [count]), at: 0)
        _ = counts.handle(.fetches(screen: "list", made: .max, merged: .max, avoided: .max), at: 0)
        #expect(counts.view.counts.count == 2)
    }
}
