import Glibc
import Options
import Reactor
import Terminal

/// livecat: a WebSocket client for people and pipes.
@main struct Main {
    static func main() {
        let words = Array(CommandLine.arguments.dropFirst())
        if words.first == "report" { ReportCommand.run(Array(words.dropFirst())) }
        let table = LivecatCommand.table
        let arguments = table.parseOrExit()
        do {
            let settings = try CatSettings(arguments) { TerminalMode.askSecret("Passphrase: ") }
            if settings.connection.url.userInformation != nil { ProcessTitle.wipe(Self.urls(arguments)) }
            try run(settings)
        } catch let problem as StartProblem {
            StandardError.line(problem.line)
            exit(problem.status.code)
        } catch {
            StandardError.line("\(table.name): \(error)")
            exit(ExitStatus.system.code)
        }
        while true { pause() }
    }

    private static func run(_ settings: CatSettings) throws {
        let loop = try EventLoop(label: "livecat")
        loop.execute {
            do {
                try Cat(settings, loop: loop, surroundings: .current).start()
            } catch {
                StandardError.line("livecat: \(error)")
                exit(ExitStatus.system.code)
            }
        }
    }

    /// The words that may hold a password.
    private static func urls(_ arguments: Arguments) -> [String] {
        [arguments[LivecatCommand.connect]].compactMap { $0 } + arguments.operands
    }
}
