// Tests: FetchQueue.swift, FetchQueue+Jobs.swift, KnownThings.swift
import LiveState
import TestHarness
import Testing

struct FetchQueueTests {
    @Test(arguments: Scenario.all("fetches"))
    func `things are fetched as the scenario says`(_ scenario: Scenario) throws { try scenario.run(FetchQueue.self) }

    /// Tests/JavaScript/relevance.test.js has this row too.
    @Test func `the eighth of all things that was used longest ago is forgotten for one more`() {
        var things = KnownThings(maximum: 16)
        things.watch(true)
        let all = (0...16).map { Thing(entity: "incident", id: "\($0)") }
        func answer(_ thing: Thing) {
            let isNewest = things.answer(thing, asked: things.ask())
            #expect(isNewest)
        }
        for thing in all.dropLast() { answer(thing) }
        answer(all[0])
        #expect(all.dropLast().allSatisfy { things.knowledge(of: $0) == .known })
        answer(all[16])
        #expect(all.filter { things.knowledge(of: $0) == .unknown } == [all[1], all[2]])
        #expect(KnownThings.maximumThings == 10_000)
    }

    @Test func `what is known is what the server has, and every reload is answered, in 20,000 histories`() {
        let seed = UInt64.random(in: 0...UInt64.max)
        for history in 0..<20_000 {
            var world = FetchWorld(seed: seed &+ UInt64(history))
            for _ in 0..<40 where world.fault == nil { world.step() }
            world.finish()
            if let fault = world.fault {
                Issue.record("seed \(seed &+ UInt64(history)): \(fault)")
                return
            }
        }
    }
}

/// A server whose things have versions, events about them, fetches that are late, and what an app holds.
private struct FetchWorld {
    private var random: SeededGenerator
    private var queue: FetchQueue
    private let things = (0..<6).map { Thing(entity: "incident", id: "\($0)") }
    private var server = [Int](repeating: 0, count: 6)
    private var held = [Int?](repeating: nil, count: 6)
    /// What it holds that is no summary.
    private var wholes = [Int?](repeating: nil, count: 6)
    private var running: [Int: (index: Int, version: Int)] = [:]
    /// The answer that is being handed over.
    private var arriving: (index: Int, version: Int)?
    /// Reloads that are not answered, with the version that they must not fall below.
    private var owed: [Int: (index: Int, version: Int)] = [:]
    private var lastReload = 0
    private var page: (number: Int, versions: [Int], isWhole: Bool)?
    private var lastPage = 0
    private var shown: Set<Int> = []
    private var isFingerHeld = false
    private var now: Milliseconds = 0
    private(set) var fault: String?

    init(seed: UInt64) {
        random = SeededGenerator(seed: seed)
        var settings = FetchQueue.Settings()
        settings.maximumAtOnce = 2
        settings.maximumThings = random.isOne(in: 3) ? 4 : 100
        queue = FetchQueue(settings)
    }

    mutating func step() {
        now += 1
        switch random.below(10) {
        case 0, 1: change(random.below(6))
        case 2:
            shown = Set((0..<random.below(4)).map { _ in random.below(6) })
            input(.show(things: shown.sorted().map { things[$0] }, listed: [], takesNew: []))
        case 3, 4, 5: answer()
        case 6:
            if let fetch = running.keys.min() {
                running[fetch] = nil
                input(.failed(fetch: fetch, failure: .retry(after: nil)))
            }
        case 7:
            if let page {
                self.page = nil
                input(
                    .answered(page: page.number, things: things, isWhole: page.isWhole), versions: page.versions,
                    areWhole: page.isWhole)
            } else {
                lastPage += 1
                page = (lastPage, server, random.isOne(in: 2))
                input(.asked(page: lastPage))
            }
        case 8: input(.refresh(thing: things[random.below(6)]))
        default:
            guard random.isOne(in: 3) || !isFingerHeld else { return }
            isFingerHeld.toggle()
            if !isFingerHeld {
                owed = [:]
                input(.dropReloads)
            }
            page = nil
            input(.finger(isHeld: isFingerHeld))
        }
        check()
    }

    /// Everything is answered: then each shown thing is known.
    mutating func finish() {
        if !isFingerHeld {
            isFingerHeld = true
            input(.finger(isHeld: true))
        }
        for _ in 0..<100 {
            now += 30_000
            input(.wake)
            answer()
        }
        check()
        let isKnown = shown.allSatisfy { queue.knowledge(of: things[$0], isWhole: true) == .known }
        if !owed.isEmpty || !isKnown || !running.isEmpty { fault = fault ?? "at the end \(queue.view), owed \(owed)" }
    }

    private mutating func change(_ index: Int) {
        server[index] += 1
        guard isFingerHeld else { return }
        lastReload += 1
        // What no screen shows is passed over, and its version is owed to nobody.
        owed[lastReload] = (index, shown.contains(index) ? server[index] : 0)
        input(
            shown.contains(index)
                ? .reload(number: lastReload, thing: things[index]) : .pass(number: lastReload, thing: things[index]))
    }

    private mutating func answer() {
        guard let fetch = running.keys.sorted().dropFirst(random.below(2)).first ?? running.keys.first else { return }
        arriving = running.removeValue(forKey: fetch)
        input(.fetched(fetch: fetch, outcome: .value))
    }

    private mutating func input(_ input: FetchQueue.Input, versions: [Int] = [], areWhole: Bool = false) {
        for effect in queue.handle(input, at: now) {
            switch effect {
            case .fetch(let fetch, let thing):
                let index = Int(thing.id) ?? 0
                if running.values.contains(where: { $0.index == index }) { fault = "two fetches of \(index)" }
                running[fetch] = (index, server[index])
                if running.count > 2 { fault = "\(running.count) fetches at once" }
            case .cancel(let fetch): running[fetch] = nil
            case .apply(_, _, _, let isLate):
                guard let (index, version) = arriving else { continue }
                hold(index, version, isNewest: isLate != true, isWhole: true)
            case .accept(_, let accepted):
                for index in accepted.compactMap({ Int($0.id) }) {
                    hold(index, versions[index], isNewest: true, isWhole: areWhole)
                }
            case .reloaded(let number, _):
                guard let (index, version) = owed.removeValue(forKey: number) else { continue }
                if shown.contains(index), held[index] ?? 0 < version { fault = "\(number) answered with what is older" }
            case .reloadFailed(let number, _):
                guard let (index, _) = owed[number] else { continue }
                // The machine tries again.
                owed[number] = nil
                change(index)
            case .unavailable: break
            }
        }
    }

    private mutating func hold(_ index: Int, _ version: Int, isNewest: Bool, isWhole: Bool) {
        let thing = things[index]
        if isNewest {
            if queue.knowledge(of: thing) == .known, held[index] ?? 0 > version { fault = "\(index) went back" }
            held[index] = version
        }
        guard isWhole else { return }
        if queue.knowledge(of: thing, isWhole: true) == .known, wholes[index] ?? 0 > version {
            fault = "all of \(index) went back"
        }
        wholes[index] = version
    }

    private mutating func check() {
        for (index, thing) in things.enumerated() where queue.knowledge(of: thing) == .known {
            if held[index] != server[index] { fault = fault ?? "\(index) is called known and is old" }
            let isWhole = queue.knowledge(of: thing, isWhole: true) == .known
            if isWhole, wholes[index] != server[index] { fault = fault ?? "all of \(index) is called known and is old" }
        }
    }
}
