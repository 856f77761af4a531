import Options
import Testing

/// A table with every kind of row, after wscat's.
enum Cat {
    static let connect = SingleOption("connect", short: "c", .text("URL"), help: "connect to a server")
    static let header = RepeatedOption("header", short: "H", .text("NAME:VALUE"), isSecret: true, help: "add a header")
    static let execute = RepeatedOption("execute", short: "x", .text(), help: "send a message")
    static let wait = SingleOption("wait", short: "w", .integer("SECONDS", in: -1...3600), help: "wait before the end")
    static let passphrase = OptionalValueOption("passphrase", .text("WORD"), isSecret: true, help: "of the key")
    static let redirects = OptionalValueOption("max-redirects", .integer(in: 0...100), help: "follow so many")
    static let ping = SingleOption("ping", .duration(), help: "ping so often")
    static let quiet = Flag("no-color", short: "n", help: "no colours: [plain] 'text'")
    static let show = Flag("show-ping-pong", short: "P", help: "tell pings")
    static let certificate = SingleOption("cert", .file(), help: "the client's certificate\\chain")

    static let table = Command(
        "cat", summary: "talk to a server", details: [".dots and 'quotes' begin no macro"],
        options: [connect, header, execute, wait, passphrase, redirects, ping, quiet, show, certificate],
        operands: [Operand("URL", isRequired: false, help: "the same as --connect")],
        statuses: [(.success, "a clean close"), (.wrongUse, "wrong use")],
        sections: [ManualSection("Examples", [.example("cat -c ws://localhost\n.second 'line'"), .entry("X", "y")])],
        documentsItself: true)
}

/// A program with commands.
enum Gate {
    static let settings = SingleOption("config", .file(), isRequired: true, help: "the settings")
    static let listen = RepeatedOption("listen", .text("ADDRESS"), help: "an address")
    static let level = SingleOption("log-level", .choice("LEVEL", of: ["info", "debug"]), help: "how much is told")

    static let table = Command(
        "gate", summary: "guard a gate", details: ["It opens and closes."],
        commands: [
            Command("serve", summary: "run", options: [settings, listen, level]),
            Command("check", summary: "look for problems", options: [settings]),
            Command(
                "completion", summary: "print completions",
                operands: [Operand("SHELL", completion: .words(["bash", "zsh", "fish"]), help: "the shell")]),
        ])
}

extension Command: CustomTestStringConvertible {
    package var testDescription: String { name }

    func arguments(_ words: String...) throws -> Arguments {
        guard case .run(let arguments) = try parse(words) else { throw WrongUse.other("it prints") }
        return arguments
    }

    func printed(_ words: String...) throws -> String {
        guard case .print(let text) = try parse(words) else { throw WrongUse.other("it runs") }
        return text
    }

    /// The line that standard error gets, or nil when nothing is wrong.
    func line(_ words: String...) -> String? {
        do throws(CommandLineProblem) {
            _ = try parse(words)
            return nil
        } catch {
            return "\(error)"
        }
    }
}
