import GatewaySettings
import LiveUpdates
import Options

/// `livegate map`: tries a mapping out.
enum MapCommand {
    static let table = Command(
        "map", summary: "show what records become",
        details: [
            """
            Reads records from standard input, one JSON object a line with topic, value and, where there are some, key and \
            headers; anything else is a bare value. Prints a line for each: the account and the message, or why there is \
            none.
            """
        ],
        options: [SettingsArguments.config],
        statuses: [(.success, "the input has ended"), (.settings, "the settings are wrong")])

    static func run(_ arguments: Arguments) -> ExitStatus {
        let outcome = SettingsArguments.load(arguments)
        guard let mapping = outcome.mapping else {
            SettingsArguments.report(outcome.problems)
            return .settings
        }
        let lines = MapLines(mapping)
        var input = [UInt8](repeating: 0, count: 64 * 1024)
        do throws(StandardInput.Unreadable) {
            while true {
                let count = try StandardInput.read(into: &input)
                var output: [UInt8] = []
                lines.consume(input.span.extracting(first: count), into: &output)
                if count == 0 { lines.finish(into: &output) }
                StandardOutput.write(output)
                if count == 0 { return .success }
            }
        } catch {
            StandardError.line("livegate map: cannot read standard input: \(error.reason)")
            return .noInput
        }
    }
}
