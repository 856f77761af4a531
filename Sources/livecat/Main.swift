import Glibc
import HTTP
import LiveClientReactor
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
            // Before the passphrase is asked for, because the user may need time to type it.
            ProcessTitle.wipe(arguments.secretURLs)
            let settings = try CatSettings(arguments) { TerminalMode.askSecret("Passphrase: ") }
            for path in settings.secretFiles where BoundedFile.isOpenToAll(path) {
                StandardError.line(
                    "\(table.name): warning: \(path.printable) is readable by all users: run chmod o= on it")
            }
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
}

extension Arguments {
    /// The addresses that contain a password or a ticket. An argument that is not an address may be one with a typing error.
    var secretURLs: [String] {
        ([self[LivecatCommand.connect]].compactMap { $0 } + operands).filter { text in
            guard let url = try? WebSocketURL(text) else { return true }
            return url.mayHoldUserInformation || url.hasTicket
        }
    }
}
