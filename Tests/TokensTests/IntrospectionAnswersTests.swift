import LiveUpdates
import Testing

@testable import Tokens

@Suite struct IntrospectionAnswersTests {
    private typealias Answers = IntrospectionAnswers<Int>

    private static let active = Result<Identity, TokenRefusal>.success(
        Identity(account: Account("PACC1"), subject: nil, expiresAt: nil))
    private static let inactive = Result<Identity, TokenRefusal>.failure(.inactive)

    /// One word for what becomes of a question.
    private static func ask(
        _ answers: inout Answers, _ token: UInt8, by who: Int = 0, now: UInt64, epochSeconds: Int64 = 0,
        isHeld: Bool = false
    ) -> String {
        switch answers.ask([token], who, now: now, epochSeconds: epochSeconds, isHeld: isHeld) {
        case .known(.success): "active"
        case .known(.failure(let refusal)): "\(refusal)"
        case .asks: "asks"
        case .waits: "waits"
        case .busy: "busy"
        }
    }

    @Test func `a token is asked for once, and those who wait share the answer`() {
        var answers = Answers()
        #expect(Self.ask(&answers, 1, by: 10, now: 0) == "asks")
        #expect(Self.ask(&answers, 1, by: 11, now: 1) == "waits")
        #expect(Self.ask(&answers, 2, by: 12, now: 1) == "asks")
        #expect(answers.answered([1], Self.active, keepFor: 100, now: 5) == [10, 11])
        #expect(answers.openCount == 1)
        #expect(Self.ask(&answers, 1, now: 104) == "active")
        #expect(Self.ask(&answers, 1, now: 105) == "asks")
    }

    @Test func `a refusal is kept for its time, and no answer for none`() {
        var answers = Answers()
        _ = Self.ask(&answers, 1, now: 0)
        _ = answers.answered([1], Self.inactive, keepFor: 10_000, now: 0)
        #expect(Self.ask(&answers, 1, now: 9_999) == "\(TokenRefusal.inactive)")
        #expect(Self.ask(&answers, 1, now: 10_000) == "asks")
        _ = answers.answered([1], .failure(.unavailable), keepFor: nil, now: 10_000)
        #expect(Self.ask(&answers, 1, now: 10_000) == "asks")
        _ = answers.answered([1], Self.active, keepFor: 0, now: 10_000)
        #expect(Self.ask(&answers, 1, now: 10_000) == "asks")
    }

    @Test func `64 questions are open, and the next is not asked`() {
        var answers = Answers()
        for token in 0..<64 { #expect(Self.ask(&answers, UInt8(token), now: 0) == "asks") }
        #expect(Self.ask(&answers, 64, now: 0) == "busy")
        #expect(Self.ask(&answers, 63, now: 0) == "waits")
        _ = answers.answered([0], Self.active, keepFor: 1_000, now: 0)
        #expect(Self.ask(&answers, 64, now: 0) == "asks")
    }

    @Test func `whoever makes up tokens takes no question from those who are there`() {
        var answers = Answers()
        for token in 0..<64 { _ = Self.ask(&answers, UInt8(token), now: 0) }
        #expect(Self.ask(&answers, 64, now: 0) == "busy")
        for token in 64..<80 { #expect(Self.ask(&answers, UInt8(token), now: 0, isHeld: true) == "asks") }
        #expect(Self.ask(&answers, 80, now: 0, isHeld: true) == "busy" && answers.openCount == 80)
        // However many wait, one that is there waits with them.
        for _ in 0..<2_000 { _ = Self.ask(&answers, 1, now: 0) }
        #expect(Self.ask(&answers, 1, now: 0) == "busy" && Self.ask(&answers, 1, now: 0, isHeld: true) == "waits")
    }

    @Test func `a thousand wait, and the next does not`() {
        var answers = Answers()
        for number in 0..<1_000 { #expect(Self.ask(&answers, 1, now: 0) == (number == 0 ? "asks" : "waits")) }
        #expect(Self.ask(&answers, 1, now: 0) == "busy")
        #expect(Self.ask(&answers, 2, now: 0) == "busy")
        #expect(answers.answered([1], Self.active, keepFor: 1_000, now: 0).count == 1_000)
        #expect(Self.ask(&answers, 2, now: 0) == "asks")
    }

    @Test func `so many answers are kept, and refusals give way first`() {
        var answers = Answers(maximumAnswers: 3)
        func tell(_ token: UInt8, _ verdict: Result<Identity, TokenRefusal>) {
            _ = Self.ask(&answers, token, now: 0)
            _ = answers.answered([token], verdict, keepFor: 1_000, now: 0)
        }
        for (token, verdict) in [(UInt8(1), Self.inactive), (2, Self.active), (3, Self.inactive)] {
            tell(token, verdict)
        }
        #expect(answers.answerCount == 3)
        tell(4, Self.active)
        #expect(answers.answerCount == 3 && Self.ask(&answers, 1, now: 1) == "asks")
        tell(5, Self.active)
        tell(6, Self.active)
        #expect(answers.answerCount == 3 && Self.ask(&answers, 2, now: 1) == "asks")
        for token in [4, 5, 6] as [UInt8] { #expect(Self.ask(&answers, token, now: 1) == "active") }
    }

    @Test func `what is over goes when something comes`() {
        var answers = Answers()
        for token in 0..<200 {
            _ = Self.ask(&answers, UInt8(token), now: UInt64(token))
            _ = answers.answered(
                [UInt8(token)], token % 2 == 0 ? Self.active : Self.inactive, keepFor: 10, now: UInt64(token))
        }
        #expect(answers.answerCount <= 12)
    }

    @Test func `an answer that is replaced takes no room, whatever stands before it`() {
        var answers = Answers()
        _ = Self.ask(&answers, 0, now: 0)
        _ = answers.answered([0], Self.active, keepFor: 86_400_000, now: 0)
        for now in 1...10_000 as ClosedRange<UInt64> {
            let token = UInt8(1 + now % 2)
            #expect(Self.ask(&answers, token, now: 2 * now) == "asks")
            _ = answers.answered([token], Self.active, keepFor: 1, now: 2 * now)
            #expect(answers.orderCount <= 2 * 3 + 64)
        }
        // The order is what it was: the oldest goes first.
        #expect(answers.answerCount == 3 && Self.ask(&answers, 0, now: 20_001) == "active")
    }

    @Test func `a token that has ended by the clock of the wall is asked for anew`() {
        var answers = Answers()
        _ = Self.ask(&answers, 1, now: 0)
        let identity = Identity(account: Account("PACC1"), subject: nil, expiresAt: 60)
        _ = answers.answered([1], .success(identity), keepFor: 60_000, now: 0)
        #expect(Self.ask(&answers, 1, now: 1, epochSeconds: 59) == "active")
        #expect(Self.ask(&answers, 1, now: 1, epochSeconds: 60) == "asks")
    }

    @Test func `a shorter time holds for what is kept already, and a longer one for what comes`() {
        var answers = Answers()
        _ = Self.ask(&answers, 1, now: 0)
        _ = answers.answered([1], Self.active, keepFor: 1_000, now: 0)
        answers.keepAtMost(2_000, now: 10)
        #expect(Self.ask(&answers, 1, now: 999) == "active")
        answers.keepAtMost(100, now: 10)
        #expect(Self.ask(&answers, 1, now: 109) == "active")
        #expect(Self.ask(&answers, 1, now: 110) == "asks")
    }

    @Test func `a server that is replaced is forgotten, with all who wait for it`() {
        var answers = Answers()
        _ = Self.ask(&answers, 1, by: 1, now: 0)
        _ = answers.answered([1], Self.active, keepFor: 1_000, now: 0)
        _ = Self.ask(&answers, 2, by: 2, now: 0)
        _ = Self.ask(&answers, 2, by: 3, now: 0)
        #expect(answers.forgetAll() == [2, 3])
        #expect(answers.openCount == 0 && Self.ask(&answers, 1, now: 0) == "asks")
        // An answer of before that comes late concerns nobody but who asked again.
        #expect(answers.answered([9], Self.active, keepFor: nil, now: 0).isEmpty)
    }
}
