import GatewaySettings
import Options

/// `livegate completion`: what a shell reads to complete command lines.
enum CompletionCommand {
    static let table = Command(
        "completion", summary: "print the completions for a shell",
        details: ["For bash: livegate completion bash > /usr/share/bash-completion/completions/livegate"],
        operands: [
            Operand("SHELL", completion: .words(Shell.allCases.map(\.rawValue)), help: "bash, zsh or fish")
        ],
        statuses: [(.success, "they were printed")])

    static func run(_ arguments: Arguments) -> ExitStatus {
        guard let shell = arguments.operands.first.flatMap(Shell.init) else {
            preconditionFailure("the parser lets no other shell through")
        }
        StandardOutput.write(Livegate.table.completions(for: shell))
        return .success
    }
}

/// `livegate man`: the manual page.
enum ManCommand {
    static let table = Command(
        "man", summary: "print the manual page",
        details: ["To read it: livegate man | man -l -"],
        statuses: [(.success, "it was printed")])

    static func run(_ arguments: Arguments) -> ExitStatus {
        StandardOutput.write(Livegate.table.manualPage())
        return .success
    }

    /// The sections that no command's table contains.
    static let sections: [ManualSection] = [
        ManualSection(
            "Settings",
            [
                .paragraph(
                    """
                    The settings file is YAML. Unknown and duplicate keys, anchors, aliases and values of another type are \
                    refused. Relative paths are relative to the file. A duration is a whole number and ms, s, m, h or d, a size \
                    a whole number of bytes or with KiB, MiB or GiB.
                    """)
            ]
                + SettingsTable.rows.map { .entry($0.path, "\($0.explanation) Default: \($0.defaultText)") }
                + SettingsTable.issuerRows.map { .entry("auth.jwt[].\($0.path)", $0.explanation) }),
        ManualSection(
            "Environment",
            [
                .paragraph(
                    """
                    Every setting is also a variable, which overrides the file: lists by comma, maps and auth.jwt as YAML in one \
                    line.
                    """)
            ]
                + SettingsTable.rows.map { .entry($0.variable, $0.path) }
                + [
                    .entry("LIVEGATE_KAFKA_SETTINGS_SASL_PASSWORD", "sasl.password, as every property of librdkafka"),
                    .entry(
                        SettingsEnvironment.dumpsVariable,
                        """
                        true lets the kernel write core files of livegate, and programs of its user read its memory: for \
                        debuggers and profilers. Without it neither is allowed, since that memory holds secrets.
                        """),
                ]),
        ManualSection(
            "Examples",
            [
                .paragraph("To begin with:"),
                .example("livegate config > livegate.yaml\nlivegate check --config livegate.yaml"),
                .paragraph("To see what records become before a mapping is deployed:"),
                .example("kcat -b 127.0.0.1 -t incidents -C -e | livegate map --config livegate.yaml"),
            ]),
    ]
}
