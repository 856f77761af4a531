// Tests: APIGate.swift
import LiveState
import Testing

struct APIGateTests {
    @Test(arguments: Scenario.all("gate"))
    func `a gate does what the scenario says`(_ scenario: Scenario) throws { try scenario.run(APIGate.self) }

    @Test(arguments: [UInt32(1), 7, 4_711])
    func `an API that fails for a minute gets at most thirty requests of one client that has 500`(_ seed: UInt32) {
        var settings = APIGate.Settings()
        settings.seed = seed
        var gate = APIGate(settings)
        var (now, made): (Milliseconds, Int) = (0, 0)
        var running: [Int] = []
        func begin(_ input: APIGate.Input) {
            for case .begin(let number) in gate.handle(input, at: now) { running.append(number) }
        }
        // A queue lets four at once come so far; what has failed is asked for again, behind the others.
        for number in 1...4 { begin(.ask(number: number, subject: "\(number)")) }
        var last = 4
        while now < 60_000 {
            for number in running {
                made += 1
                running.removeFirst()
                begin(.failed(number: number, after: nil))
                last += 1
                begin(.ask(number: last, subject: "\(last)"))
            }
            now = max(now + 1, gate.wakeAt ?? now)
            begin(.wake)
        }
        #expect((5...30).contains(made))
    }
}
