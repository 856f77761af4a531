// Tests: Relevance.swift, Interest.swift
import LiveState
import Testing

struct RelevanceTests {
    private func thing(_ id: String) -> Thing { Thing(entity: "incident", id: id) }

    @Test(arguments: Scenario.all("relevance"))
    func `events are fetched as the scenario says`(_ scenario: Scenario) throws { try scenario.run(Relevance.self) }

    /// Tests/JavaScript/relevance.test.js has these rows too.
    @Test func `a dialog for what the eyes have seen is suppressed`() {
        var settings = Relevance.Settings()
        settings.seenFor = 1_000
        var relevance = Relevance(settings)
        let (a, b) = (thing("A"), thing("B"))
        #expect(!relevance.isShowing(a))
        _ = relevance.handle(.live(isLive: true), at: 0)
        _ = relevance.handle(.show(screen: "1", interest: .details(thing: a)), at: 0)
        #expect(relevance.isShowing(a) && !relevance.isShowing(b))
        #expect(!relevance.isShowing(Thing(entity: "note", id: "A")))
        #expect(!relevance.sawLive(a, within: 1_000, at: 0))
        _ = relevance.handle(.displayed(thing: a), at: 100)
        _ = relevance.handle(.hide(screen: "1"), at: 200)
        #expect(!relevance.isShowing(a))
        #expect(relevance.sawLive(a, within: 500, at: 600) && !relevance.sawLive(a, within: 500, at: 601))
        #expect(relevance.sawLive(a, within: 9_000, at: 1_100) && !relevance.sawLive(a, within: 9_000, at: 1_101))
        #expect(!relevance.sawLive(b, within: 9_000, at: 600))
        #expect(!relevance.sawLive(Thing(entity: "note", id: "A"), within: 9_000, at: 600))
    }

    @Test func `what is on the screens comes each once`() {
        var relevance = Relevance(Relevance.Settings())
        for (name, interest) in [
            ("1", Interest.list(entity: "incident", ids: ["A", "B"], takesNew: true)),
            ("2", .list(entity: "incident", ids: ["C", "A"], takesNew: true)),
            ("3", .list(entity: "note", ids: ["A"], takesNew: false)), ("4", .details(thing: thing("B"))),
        ] { _ = relevance.handle(.show(screen: name, interest: interest), at: 0) }
        #expect(relevance.details == [thing("B")])
        #expect(relevance.listed == ["A", "B", "C"].map(thing) + [Thing(entity: "note", id: "A")])
        #expect(relevance.takesNew == ["incident"])
    }
}
