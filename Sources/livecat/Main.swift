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
            switch problem {
            case .wrongUse(let text): table.exitWrongUse(text)
            case .unreadable(let text):
                StandardError.line("\(table.name): \(text)")
                exit(ExitStatus.noInput.code)
            }
        } catch {
            StandardError.line("\(table.name): \(error)")
            exit(ExitStatus.system.code)
        }
        while true { pause() }
    }

    private static func run(_ settings: CatSettings) throws {
        let isDumb = unsafe getenv("TERM").map { unsafe String(cString: $0) } == "dumb"
        var settings = settings
        if let word = unsafe getenv("NO_COLOR"), unsafe word.pointee != 0 { settings.allowsColor = false }
        if isDumb { settings.allowsColor = false }
        let isInteractive =
            TerminalMode.isTerminal(STDIN_FILENO) && TerminalMode.isTerminal(STDOUT_FILENO) && !settings.isJSON
            && settings.execute.isEmpty && !isDumb && settings.connection.form == .webSocket
        let loop = try EventLoop(label: "livecat")
        let chosen = settings
        loop.execute {
            do {
                try Cat(chosen, loop: loop, isInteractive: isInteractive).start()
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
