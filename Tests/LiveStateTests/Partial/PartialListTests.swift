// Tests: PartialList.swift, PartialList+Pages.swift
import LiveState
import TestHarness
import Testing

struct PartialListTests {
    @Test(arguments: Scenario.all("intervals"))
    func `a list does what the scenario says`(_ scenario: Scenario) throws { try scenario.run(PartialList.self) }

    @Test func `what a list says it knows is what the server has, in 20,000 histories`() {
        let seed = UInt64.random(in: 0...UInt64.max)
        for history in 0..<20_000 {
            var world = ListWorld(seed: seed &+ UInt64(history))
            for step in 0..<30 {
                world.step()
                if let fault = world.fault {
                    Issue.record("seed \(seed &+ UInt64(history)), step \(step): \(fault)")
                    return
                }
            }
            world.finish()
            if let fault = world.fault {
                Issue.record("seed \(seed &+ UInt64(history)), at the end: \(fault)")
                return
            }
        }
    }

    /// Two stretches of a list, 1 to 3 and 7 to the end, with a hole between them.
    private func holed() -> PartialList {
        var list = PartialList(PartialList.Settings())
        let end = { (rank: Int64) in ListEnd.at(key: ListKey(rank: rank, text: "")) }
        let intervals = [
            ListInterval(lower: .beginning, upper: end(3)), ListInterval(lower: end(7), upper: .end),
        ]
        let items = [1, 2, 3, 7, 8].map { ListItem(id: "\($0)", key: ListKey(rank: $0, text: "")) }
        _ = list.handle(.finger(isHeld: true), at: 0)
        _ = list.handle(.stored(intervals: intervals, items: items), at: 0)
        return list
    }

    @Test func `what can be drawn ends where something may be missing`() {
        let at = { (rank: Int64) in ListEnd.at(key: ListKey(rank: rank, text: "")) }
        let rows: [(from: ListEnd, direction: ListDirection, ids: [String], isComplete: Bool)] = [
            (.beginning, .forward, ["1", "2", "3"], false), (.end, .backward, ["8", "7"], false),
            (at(2), .forward, ["2", "3"], false), (at(2), .backward, ["2", "1"], true),
            (at(8), .forward, ["8"], true), (at(5), .forward, [], false), (at(5), .backward, [], false),
        ]
        for row in rows {
            var list = holed()
            #expect(list.view.stretch == nil)
            _ = list.handle(.show(from: row.from, direction: row.direction, count: 9), at: 0)
            let expected = ListStretch(ids: row.ids, isComplete: row.isComplete, isStale: false)
            #expect(list.view.stretch == expected, "from \(row.from) \(row.direction)")
            _ = list.handle(.finger(isHeld: false), at: 0)
            #expect(list.view.stretch?.ids == row.ids && list.view.stretch?.isStale == !row.ids.isEmpty)
            _ = list.handle(.hide, at: 0)
            #expect(list.view.stretch == nil)
        }
    }

    @Test func `what can be drawn goes on from what is known to what is old`() throws {
        var list = holed()
        _ = list.handle(.finger(isHeld: false), at: 0)
        _ = list.handle(.finger(isHeld: true), at: 0)
        let effects = list.handle(.show(from: .beginning, direction: .forward, count: 1), at: 0)
        guard case .loadPage(let number, _)? = effects.last else {
            Issue.record("\(effects)")
            return
        }
        let first = ListItem(id: "1", key: ListKey(rank: 1, text: ""))
        _ = list.handle(.pageLoaded(number: number, items: [first], isLast: false), at: 0)
        #expect(list.view.stretch == ListStretch(ids: ["1", "2", "3"], isComplete: false, isStale: true))
    }
}

/// A server with a list, events about it that are late, pages and fetches that are late, and the list that an app has of it.
private struct ListWorld {
    private var random: SeededGenerator
    private var list: PartialList
    private var server: [String: Int64] = [:]
    /// Not delivered yet.
    private var events: [String] = []
    /// To be fetched, and on their way with what the server had.
    private var wanted: Set<String> = []
    private var fetched: [(id: String, rank: Int64?)] = []
    private var page: (number: Int, request: PageRequest)?
    private var isFingerHeld = false
    private var now: Milliseconds = 0
    private(set) var fault: String?

    init(seed: UInt64) {
        random = SeededGenerator(seed: seed)
        var settings = PartialList.Settings()
        settings.pageLimit = 2
        settings.maximumItems = random.isOne(in: 3) ? 6 : 100
        settings.maximumIntervals = random.isOne(in: 3) ? 2 : 64
        settings.maximumChanges = 3
        list = PartialList(settings)
        for _ in 0..<6 { change() }
        events = []
    }

    mutating func step() {
        now += 1
        switch random.below(11) {
        case 0, 1: change()
        case 2, 3: deliver()
        case 4:
            let start = [ListEnd.beginning, .end, .at(key: key(Int64(random.below(12))))][random.below(3)]
            let direction: ListDirection = start == .beginning || random.isOne(in: 2) ? .forward : .backward
            input(.show(from: start, direction: direction, count: random.below(6)))
        case 5, 6: answerPage()
        case 7: if let page { input(.pageFailed(number: page.number, retryAfter: nil)) }
        case 8: fetch()
        case 9: arrive()
        default: if random.isOne(in: 4) { setFinger(!isFingerHeld) } else if !isFingerHeld { setFinger(true) }
        }
        check()
    }

    /// Everything arrives, and somebody looks: then the screen has what the server has.
    mutating func finish() {
        setFinger(true)
        input(.show(from: .beginning, direction: .forward, count: 3))
        for _ in 0..<200 {
            now += 30_000
            input(.wake)
            deliver()
            fetch()
            arrive()
            answerPage()
        }
        check()
        let first = server.values.sorted().prefix(3)
        if list.view.knowledge != .known || list.view.items.prefix(3).map(\.key.rank) != Array(first) {
            fault = fault ?? "the screen shows \(list.view), the server has \(server)"
        }
    }

    private func key(_ rank: Int64) -> ListKey { ListKey(rank: rank, text: "") }

    private mutating func change() {
        let id = "\(random.below(9))"
        let rank = Int64(random.below(12))
        server[id] = random.isOne(in: 3) || server.values.contains(rank) ? nil : rank
        if isFingerHeld { events.append(id) }
    }

    private mutating func deliver() {
        guard !events.isEmpty else { return }
        let id = events.removeFirst()
        wanted.insert(id)
        input(.changed(id: id))
    }

    private mutating func fetch() {
        guard let id = wanted.sorted().first, !fetched.contains(where: { $0.id == id }) else { return }
        wanted.remove(id)
        fetched.append((id, server[id]))
    }

    private mutating func arrive() {
        guard !fetched.isEmpty else { return }
        let (id, rank) = fetched.removeFirst()
        // Changed meanwhile: it is fetched once more, and this answer may be shown or not.
        input(rank.map { .placed(id: id, key: key($0)) } ?? .removed(id: id))
    }

    private mutating func answerPage() {
        guard let (number, request) = page else { return }
        let isForward = request.direction == .forward
        let all = server.filter { _, rank in
            let end = ListEnd.at(key: key(rank))
            if end == request.from { return request.isInclusive }
            return isForward ? request.from < end : end < request.from
        }.sorted { isForward ? $0.value < $1.value : $0.value > $1.value }
        let items = all.prefix(request.limit).map { ListItem(id: $0.key, key: key($0.value)) }
        // What happens while the answer is on its way.
        page = nil
        for _ in 0..<random.below(5) {
            switch random.below(4) {
            case 0: change()
            case 1: deliver()
            case 2: fetch()
            default: arrive()
            }
        }
        input(.pageLoaded(number: number, items: items, isLast: all.count <= request.limit))
    }

    private mutating func setFinger(_ isHeld: Bool) {
        // What was on its way is given up with the finger.
        if isHeld != isFingerHeld { (events, wanted, fetched) = ([], [], []) }
        isFingerHeld = isHeld
        input(.finger(isHeld: isHeld))
    }

    private mutating func input(_ input: PartialList.Input) {
        for effect in list.handle(input, at: now) {
            switch effect {
            case .loadPage(let number, let request): page = (number, request)
            case .giveUpPage(let number): if page?.number == number { page = nil }
            case .reload(let ids): wanted.formUnion(ids)
            }
        }
    }

    /// When nothing is on its way, nothing is missing and nothing is wrong where the list says so.
    private mutating func check() {
        let view = list.view
        guard fault == nil, events.isEmpty, wanted.isEmpty, fetched.isEmpty else { return }
        for interval in view.complete {
            func isIn(_ rank: Int64) -> Bool {
                interval.lower <= .at(key: key(rank)) && .at(key: key(rank)) <= interval.upper
            }
            let has = view.items.filter { isIn($0.key.rank) }.map { "\($0.id):\($0.key.rank)" }.sorted()
            let truth = server.filter { isIn($0.value) }.map { "\($0.key):\($0.value)" }.sorted()
            if has != truth { fault = "\(interval) has \(has), the server \(truth)" }
        }
    }
}
