import Gateway
import GatewaySettings
import Glibc
import Kafka
import Logging
import Options

/// `livegate serve`: the gateway itself.
enum ServeCommand {
    static let table = Command(
        "serve", summary: "run the gateway",
        details: [
            """
            Flags go over the environment, which goes over the file. SIGTERM drains: readiness says so at once, after \
            lifecycle.drain_delay nobody is let in any more, and connections are closed with 1012, spread over \
            lifecycle.drain_window; a second one closes all of them at once. SIGINT closes all with 1001 and ends the \
            gateway within 2 seconds.
            """
        ],
        options: [SettingsArguments.config] + SettingsArguments.flags.map(\.option),
        statuses: [
            (.success, "stopped by SIGTERM or SIGINT"), (.software, "librdkafka reported an error that it calls fatal"),
            (.system, "an address is in use, or not ours"), (.settings, "the settings are wrong"),
        ])

    static func run(_ arguments: Arguments) async -> ExitStatus {
        let outcome = SettingsArguments.load(arguments, flags: SettingsArguments.flags)
        let (material, problems) = outcome.check(now: Int64(time(nil)))
        guard let material else {
            SettingsArguments.report(problems)
            return .settings
        }
        let writer: LogWriter
        do throws(LoggingError) {
            writer = try LogWriter(format: material.settings.log.format, level: material.settings.log.level)
        } catch {
            StandardError.line("livegate: \(error)")
            return .system
        }
        defer { writer.finish() }
        let logger = Logger("gateway", to: writer)
        do throws(GatewayError) {
            try await Service(GatewayServer.Parts(material), logger: logger).run(begun: {
                logger.notice(
                    "starting", [.version: "\(Release.version)", .library: "librdkafka \(KafkaLibrary.version)"])
                for problem in problems { warn(problem, logger) }
            })
            return .success
        } catch {
            logger.critical("the gateway cannot go on", [.error: "\(error)"])
            return error.status
        }
    }

    /// A warning is a line of the log, so that whoever reads JSON gets nothing else.
    private static func warn(_ problem: SettingsProblem, _ logger: Logger) {
        logger.warning(
            "a setting may not be what was meant",
            [
                .file: "\(problem.location)", .setting: problem.key.isEmpty ? .absent : .text(problem.key),
                .reason: .text(problem.text),
            ])
    }
}

extension GatewayError {
    /// The status with which a program ends that cannot go on for this reason.
    var status: ExitStatus {
        switch self {
        case .settings, .kafka: .settings
        case .listen, .system: .system
        case .kafkaFatal: .software
        }
    }
}
