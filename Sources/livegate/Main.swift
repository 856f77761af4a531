import CLinux
import GatewaySettings
import Glibc
import Options

@main struct Main {
    static func main() async {
        _ = linux_limit_heaps()
        if !SettingsEnvironment.ofProcess().allowsDumps { _ = linux_forbid_dumps() }
        let arguments = Livegate.table.parseOrExit()
        guard let command = Livegate.commands.first(where: { [$0.table.name] == arguments.path }) else {
            preconditionFailure("the parser lets no command through that is not in its table")
        }
        exit(await command.run(arguments).code)
    }
}

/// The program: its commands, in the order of the help.
enum Livegate {
    /// A command: its command line, and what it does.
    struct Subcommand: Sendable {
        let table: Command
        let run: @Sendable (Arguments) async -> ExitStatus
    }

    static let commands: [Subcommand] = [
        Subcommand(table: ServeCommand.table, run: ServeCommand.run),
        Subcommand(table: CheckCommand.table, run: CheckCommand.run),
        Subcommand(table: ConfigCommand.table, run: ConfigCommand.run),
        Subcommand(table: MapCommand.table, run: MapCommand.run),
        Subcommand(table: TokenCommand.table, run: TokenCommand.run),
        Subcommand(table: DemoCommand.table, run: DemoCommand.run),
        Subcommand(table: RevokeCommand.table, run: RevokeCommand.run),
        Subcommand(table: EraseCommand.table, run: EraseCommand.run),
        Subcommand(table: ArchiveCommand.table, run: ArchiveCommand.run),
        Subcommand(table: CompletionCommand.table, run: CompletionCommand.run),
        Subcommand(table: ManCommand.table, run: ManCommand.run),
    ]

    static let table = Command(
        "livegate", summary: "carry what changes from Kafka to mobile and web apps",
        details: [
            """
            An app opens one WebSocket. When something in its account changes, it receives a message that names it, and \
            fetches it from the ordinary API.
            """
        ],
        statuses: [
            (.success, "done"), (.wrongUse, "the command line is wrong"),
            (.output, "standard output cannot be written"),
        ],
        sections: ManCommand.sections, commands: commands.map(\.table))
}
