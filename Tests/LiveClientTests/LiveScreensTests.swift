// Tests: ScreensAPI.swift
import TestHarness
import Testing

@testable import LiveClient

@Suite(.timeLimit(.minutes(5))) struct LiveScreensTests {
    private typealias Screens = LiveScreens<HeldIncidents>

    private func thing(_ id: String) -> Thing { Thing(entity: "incident", id: id) }

    private func screens(_ api: HeldIncidents, _ settings: Screens.Settings = Screens.Settings()) async -> Screens {
        var settings = settings
        settings.lists.pageLimit = 3
        let screens = Screens(
            api, settings: settings, gate: .impatient, now: { 0 }, sleep: { _ in try await waitUntilCancelled() })
        await screens.setFinger(true)
        await screens.setLive(true)
        return screens
    }

    private func list(_ screens: Screens) async -> AsyncStream<ListState<HeldIncidents.Incident>> {
        await screens.makeList("open", of: "incident") { $0.rank > 0 ? ListKey(rank: $0.rank, text: "") : nil }
    }

    /// The first state that is so.
    private func state<State: Sendable>(_ states: AsyncStream<State>, _ isSo: (State) -> Bool) async -> State? {
        for await state in states where isSo(state) { return state }
        return nil
    }

    @Test func `a list loads the pages that its screen has use for, and shows their values`() async throws {
        let screens = await screens(HeldIncidents(8))
        let states = await list(screens)
        await screens.show("open", from: .beginning, .forward, count: 5)
        let shown = try #require(await state(states) { $0.knowledge == .known })
        #expect(shown.items.map { $0.value?.title } == (1...6).map { "title \($0)" })
        #expect(shown.items.allSatisfy { $0.knowledge == .known } && shown.complete.count == 1)
        await screens.close()
    }

    @Test func `things of a list keep their values, however many are remembered`() async throws {
        var settings = Screens.Settings()
        (settings.fetches.maximumThings, settings.fetches.maximumWaiting) = (2, 2)
        let screens = await screens(HeldIncidents(40), settings)
        let states = await list(screens)
        await screens.show("open", from: .beginning, .forward, count: 40)
        let shown = try #require(await state(states) { $0.items.count == 40 })
        #expect(shown.items.map { $0.value?.title } == (1...40).map { "title \($0)" })
        // Of those that stand in no list only the remembered ones do.
        await screens.removeList("open")
        let others = await list(screens)
        await screens.show("open", from: .beginning, .forward, count: 3)
        _ = try #require(await state(others) { $0.items.count == 3 })
        for _ in 0..<40 {
            await screens.keep(
                HeldIncidents.Incident(rank: 0, title: ""), of: thing("X\(UInt64.random(in: 0 ... .max))"),
                isWhole: true)
        }
        await screens.forgetValues()
        #expect(await screens.values.count <= 10)
        await screens.close()
    }

    @Test func `what is new beyond the room for fetches comes by a page`() async throws {
        let api = HeldIncidents(2)
        var settings = Screens.Settings()
        (settings.fetches.maximumWaiting, settings.fetches.maximumAtOnce) = (3, 1)
        let screens = await screens(api, settings)
        let states = await list(screens)
        await screens.show("open", from: .beginning, .forward, count: 50)
        _ = try #require(await state(states) { $0.knowledge == .known })
        api.hold()
        await withTaskGroup(of: Bool.self) { group in
            for number in 1...40 {
                api.set("N\(number)", Int64(2 + number), "new \(number)")
                group.addTask { (try? await screens.reload(thing("N\(number)"), types: ["created"])) != nil }
            }
            var refused = 0
            for await isTaken in group where !isTaken {
                refused += 1
                // The last one that has no room lets the others go on.
                if refused == 37 { api.release() }
            }
        }
        let shown = try #require(await state(states) { $0.items.count == 42 && $0.knowledge == .known })
        #expect(shown.items.dropFirst(2).map { $0.value?.title } == (1...40).map { "new \($0)" })
        await screens.close()
    }

    @Test func `a change is fetched and stands where it belongs; what leaves the list goes off it`() async throws {
        let api = HeldIncidents(3)
        let screens = await screens(api)
        let states = await list(screens)
        await screens.show("open", from: .beginning, .forward, count: 9)
        _ = await state(states) { $0.knowledge == .known }
        api.set("I2", 9, "moved")
        api.set("N", 2, "new")
        api.set("I1", 0, "resolved")
        #expect(try await screens.reload(thing("I2"), types: ["updated"])?.value?.title == "moved")
        #expect(try await screens.reload(thing("N"), types: ["created"])?.value?.title == "new")
        #expect(try await screens.reload(thing("I1"), types: ["updated"])?.value?.title == "resolved")
        #expect(try await screens.reload(thing("elsewhere"), types: ["updated"]) == nil)
        let shown = try #require(await state(states) { $0.items.count == 3 && $0.items[0].id == "N" })
        #expect(shown.items.map(\.id) == ["N", "I3", "I2"])
        #expect(await screens.sawLive(thing("I2"), within: 1_000))
        let made = api.state.withLock { $0.reloads }
        #expect(try await screens.reload(thing("N"), types: ["deleted"]) == nil)
        _ = await state(states) { $0.items.map(\.id) == ["I3", "I2"] }
        #expect(api.state.withLock { $0.reloads } == made)
        await screens.close()
    }

    @Test func `details are fetched while they are shown, and their wait ends with them`() async throws {
        let api = HeldIncidents(1)
        let screens = await screens(api)
        let states = await screens.showDetails("details", of: thing("I1"))
        #expect(await state(states) { $0.knowledge == .known }?.value?.title == "title 1")
        api.set("I1", 1, "changed")
        api.hold()
        async let reloaded = screens.reload(thing("I1"), types: ["updated"])
        #expect(await state(states) { $0.knowledge == .knownStale }?.value?.title == "title 1")
        _ = try await eventually { api.state.withLock { $0.held.count == 1 } }
        await screens.hide("details")
        #expect(try await reloaded == nil)
        #expect(api.state.withLock { $0.cancelled } == 1)
        api.release()
        let again = await screens.showDetails("details", of: thing("I1"))
        #expect(await state(again) { $0.knowledge == .known }?.value?.title == "changed")
        await screens.close()
    }

    @Test(arguments: [(404, ThingAbsence.gone), (410, .gone), (403, .notOurs)])
    func `a thing that is not there is said to be gone or another one's, until it is there`(
        _ status: Int, _ absence: ThingAbsence
    ) async throws {
        let api = HeldIncidents(1)
        api.state.withLock { $0.failure = .rejected(status: status) }
        let screens = await screens(api)
        let states = await screens.showDetails("details", of: thing("I1"))
        let absent = try #require(await state(states) { $0.absence != nil })
        #expect(absent.absence == absence && absent.value == nil && absent.failure == nil)
        // An answer that did not come says nothing of it.
        api.state.withLock { $0.failure = .rejected(status: 400) }
        await screens.refresh(thing("I1"))
        #expect(await state(states) { $0.failure != nil }?.absence == absence)
        api.state.withLock { $0.failure = nil }
        await screens.refresh(thing("I1"))
        let there = try #require(await state(states) { $0.value != nil })
        #expect(there.absence == nil && there.failure == nil)
        await screens.close()
    }

    @Test func `a list says what of it can be drawn`() async throws {
        let screens = await screens(HeldIncidents(8))
        let states = await list(screens)
        await screens.show("open", from: .beginning, .forward, count: 5)
        let shown = try #require(await state(states) { $0.knowledge == .known && !$0.isLoading })
        #expect(shown.stretch == ListStretch(ids: shown.items.map(\.id), isComplete: false, isStale: false))
        await screens.show("open", from: .beginning, .forward, count: 9)
        let all = try #require(await state(states) { $0.stretch?.isComplete == true })
        #expect(all.stretch?.ids.count == 8)
        await screens.setFinger(false)
        #expect(await state(states) { $0.stretch?.isStale == true }?.stretch?.ids.count == 8)
        await screens.close()
    }

    @Test func `a list that was hidden when something new came is old when it is shown again`() async throws {
        let api = HeldIncidents(2)
        let screens = await screens(api)
        let states = await list(screens)
        await screens.show("open", from: .beginning, .forward, count: 5)
        _ = await state(states) { $0.knowledge == .known }
        await screens.hide("open")
        api.set("N", 5, "new")
        #expect(try await screens.reload(thing("N"), types: ["created"]) == nil)
        #expect(api.state.withLock { $0.reloads } == 0)
        await screens.show("open", from: .beginning, .forward, count: 5)
        let shown = await state(states) { $0.knowledge == .known && $0.items.count == 3 }
        #expect(shown?.items.map(\.id) == ["I1", "I2", "N"])
        await screens.close()
    }

    @Test func `what changed under a page and cannot be fetched comes by another page`() async throws {
        let api = HeldIncidents(3)
        let screens = await screens(api)
        let states = await list(screens)
        api.hold()
        await screens.show("open", from: .beginning, .forward, count: 9)
        _ = try await eventually { api.state.withLock { $0.held.count == 1 } }
        // The list does not know it yet, so no screen needs it.
        let found = try await screens.reload(thing("I2"), types: ["updated"])
        #expect(found?.value == nil)
        api.state.withLock { $0.failing = ["I2"] }
        api.release()
        let shown = try #require(
            await state(states) { $0.knowledge == .known && !$0.isLoading && $0.items.count == 3 })
        #expect(shown.items.map(\.value?.title) == ["title 1", "title 2", "title 3"])
        await screens.close()
    }

    @Test func `what a list waits for is fetched, though the details that show it too are hidden`() async throws {
        let api = HeldIncidents(3)
        let screens = await screens(api)
        let states = await list(screens)
        api.hold()
        await screens.show("open", from: .beginning, .forward, count: 9)
        _ = try await eventually { api.state.withLock { $0.held.count == 1 } }
        let page = try #require(api.state.withLock { $0.held.popLast() })
        // While nobody reads them details are not shown.
        let details = await screens.showDetails("details", of: thing("I2"))
        _ = try await eventually { api.state.withLock { $0.held.count == 1 } }
        api.set("I2", 2, "changed")
        let reload = Task { try await screens.reload(thing("I2"), types: ["updated"]) }
        _ = try await eventually { await !screens.replies.isEmpty }
        // The page comes first, and is older.
        page.resume()
        _ = await state(states) { !$0.isLoading && $0.items.count == 2 }
        await screens.hide("details")
        withExtendedLifetime(details) {}
        api.release()
        let shown = try #require(await state(states) { $0.knowledge == .known && $0.items.count == 3 })
        #expect(shown.items.map(\.value?.title) == ["title 1", "changed", "title 3"])
        _ = try await reload.value
        await screens.close()
    }

    @Test func `a failure is over with the answer that the thing is gone`() async throws {
        let api = HeldIncidents(1)
        let screens = await screens(api)
        let states = await screens.showDetails("details", of: thing("I1"))
        _ = await state(states) { $0.knowledge == .known }
        api.state.withLock { $0.failing = ["I1"] }
        await #expect(throws: RequestFailure.retry(after: nil)) {
            try await screens.reload(thing("I1"), types: ["updated"])
        }
        _ = try #require(await state(states) { $0.failure != nil })
        api.state.withLock { $0.failing = [] }
        api.set("I1", nil)
        _ = try await screens.reload(thing("I1"), types: ["deleted"])
        let gone = try #require(await state(states) { $0.value == nil })
        #expect(gone.failure == nil)
        await screens.close()
    }

    @Test func `a failure is told to screen and machine, and a cancelled reload ends`() async throws {
        let api = HeldIncidents(1)
        let screens = await screens(api)
        let states = await screens.showDetails("details", of: thing("I1"))
        _ = await state(states) { $0.knowledge == .known }
        api.state.withLock { $0.failure = .rejected(status: 400) }
        await #expect(throws: RequestFailure.rejected(status: 400)) {
            try await screens.reload(thing("I1"), types: ["updated"])
        }
        #expect(await state(states) { $0.failure != nil }?.failure == .rejected(status: 400))
        api.state.withLock { $0.failure = nil }
        api.hold()
        let waiting = Task { try await screens.reload(thing("I1"), types: ["updated"]) }
        _ = try await eventually { api.state.withLock { $0.held.count == 1 } }
        waiting.cancel()
        await #expect(throws: CancellationError.self) { try await waiting.value }
        await screens.close()
        await #expect(throws: CancellationError.self) { try await screens.reload(thing("I1"), types: ["updated"]) }
        api.release()
    }

    @Test func `a reader that goes late ends what it was shown, not what another one is`() async throws {
        let screens = await screens(HeldIncidents(3))
        let first = await screens.showDetails("details", of: thing("I1"))
        let late = await screens.lastShown
        let second = await screens.showDetails("details", of: thing("I1"))
        for await _ in first {}
        await screens.hide("details", late)
        _ = try #require(await state(second) { $0.knowledge == .known })
        #expect(await screens.isShowing(thing("I1")))
        await screens.close()
    }

    @Test func `a list that nobody reads is hidden, and taken up again with what it knows`() async throws {
        let api = HeldIncidents(8)
        let screens = await screens(api)
        let states = await list(screens)
        await screens.show("open", from: .beginning, .forward, count: 3)
        let reader = Task {
            for await _ in states {}
            return true
        }
        reader.cancel()
        #expect(await reader.value)
        while await screens.lists["open"]?.isRead == true { await Task.yield() }
        await screens.show("open", from: .beginning, .forward, count: 8)
        #expect(await screens.lists["open"]?.isShown == false)
        let again = await list(screens)
        await screens.show("open", from: .beginning, .forward, count: 8)
        let shown = try #require(await state(again) { $0.knowledge == .known && !$0.isLoading })
        #expect(shown.items.count == 8)
        // Another entity is another list.
        let others = await screens.makeList("open", of: "note") { _ in nil }
        let empty = Task { await state(others) { _ in true } }
        await screens.show("open", from: .beginning, .forward, count: 0)
        #expect(await empty.value?.items.isEmpty == true)
        await screens.close()
    }

    @Test func `a thing that cannot be fetched costs the list that waits for it one page, and no other`() async throws {
        let api = HeldIncidents(3)
        let screens = await screens(api)
        let states = await list(screens)
        await screens.show("open", from: .beginning, .forward, count: 9)
        _ = await state(states) { $0.knowledge == .known && !$0.isLoading }
        let pages = await screens.lastPage
        api.state.withLock { $0.failing = ["N", "elsewhere"] }
        // Only a screen of details shows this one.
        let details = await screens.showDetails("details", of: thing("elsewhere"))
        _ = try #require(await state(details) { $0.failure != nil })
        #expect(await screens.lastPage == pages)
        for attempt in 1...3 {
            await #expect(throws: RequestFailure.retry(after: nil)) {
                try await screens.reload(thing("N"), types: ["created"])
            }
            #expect(await screens.lastPage == pages + 1)
            if attempt == 1 { _ = await state(states) { $0.knowledge == .known && !$0.isLoading } }
        }
        api.state.withLock { $0.failing = [] }
        api.set("N", 2, "new")
        #expect(try await screens.reload(thing("N"), types: ["created"])?.value?.title == "new")
        _ = await state(states) { $0.items.contains { $0.id == "N" } }
        await screens.close()
    }

    @Test func `a person sees of a list what its screen has use for, or what the app says`() async throws {
        let api = HeldIncidents(8)
        let screens = await screens(api)
        let states = await list(screens)
        await screens.show("open", from: .beginning, .forward, count: 2)
        _ = try #require(await state(states) { $0.knowledge == .known && $0.items.count == 3 })
        func shown() async -> [Bool] {
            var found: [Bool] = []
            for id in ["I1", "I2", "I3"] { found.append(await screens.isShowing(thing(id))) }
            return found
        }
        #expect(await shown() == [true, true, false])
        // It is fetched wherever it stands, and seen only where it can be seen.
        #expect(try await screens.reload(thing("I3"), types: ["updated"])?.value != nil)
        #expect(await !screens.sawLive(thing("I3"), within: 1_000))
        await screens.setVisible(["I3"], in: "open")
        #expect(await shown() == [false, false, true])
        #expect(try await screens.reload(thing("I3"), types: ["updated"])?.value != nil)
        #expect(await screens.sawLive(thing("I3"), within: 1_000))
        await screens.setVisible(nil, in: "open")
        #expect(await shown() == [true, true, false])
        await screens.close()
    }
}
