import Gateway
import Logging
import Options

/// `livegate demo`: gateway, embedded broker and feed in one process.
enum DemoCommand {
    static let port = SingleOption(
        "port", .integer("PORT", in: 1...65_535), help: "where to listen; another port if it is in use (default 8080)")
    static let apiPort = SingleOption(
        "api-port", .integer("PORT", in: 1...65_535),
        help: "where page and API listen; another port if it is in use (default 8081)")
    static let archive = SingleOption(
        "archive", .text("FILE"), help: "where the past is kept, yesterday's incidents first (default: nowhere)")
    static let seconds = SingleOption(
        "seconds", .integer("N", in: 1...86_400), help: "end after so long (default: never)")

    static let table = Command(
        "demo", summary: "show a gateway at work, with a broker and a feed inside",
        details: ["Needs no settings, no other program. Prints the addresses, a token and the livecat line to use."],
        options: [port, apiPort, archive, seconds],
        statuses: [(.success, "it was stopped, or its time was up"), (.system, "there is no address to listen on")])

    static func run(_ arguments: Arguments) async -> ExitStatus {
        let wanted = UInt16(arguments[port] ?? 8080)
        let writer: LogWriter
        do throws(LoggingError) {
            // The demo reports on standard output. Only trouble is worth a line in the log.
            writer = try LogWriter(level: .warning)
        } catch {
            StandardError.line("livegate demo: \(error)")
            return .system
        }
        defer { _ = writer.finish() }
        let wantedForAPI = UInt16(arguments[apiPort] ?? 8081)
        let demo = Demo(
            port: wanted, apiPort: wantedForAPI, archive: arguments[archive], seconds: arguments[seconds],
            logger: Logger("demo", to: writer))
        do throws(GatewayError) {
            try await demo.run { invitation in
                StandardOutput.write(text(invitation, wanted: wanted, wantedForAPI: wantedForAPI))
            }
            return .success
        } catch {
            StandardError.line("livegate demo: \(error)")
            return error.status
        }
    }

    private static func text(_ invitation: Demo.Invitation, wanted: UInt16, wantedForAPI: UInt16) -> String {
        var text = ""
        if invitation.address.port != wanted { text += "port \(wanted) is in use; the gateway uses another one\n" }
        if invitation.api.port != wantedForAPI { text += "port \(wantedForAPI) is in use; the API uses another one\n" }
        let url = "http://\(invitation.address)/live/v1"
        text += "page     http://\(invitation.api)/\naddress  \(url)\napi      http://\(invitation.api)/api/incidents\n"
        text += "account  \(invitation.account)\ntoken    \(invitation.token)\n\n"
        text += "liveboard http://\(invitation.api)/\n"
        return text + "livecat -c \(url) -H \"Authorization: Bearer \(invitation.token)\"\n"
    }
}
