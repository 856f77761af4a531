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
            Flags override the environment, which overrides the file. SIGTERM drains: readiness fails at once; after \
            lifecycle.drain_delay new clients are refused, and connections are closed with 1012, spread over \
            lifecycle.drain_window; a second SIGTERM closes all of them at once. SIGINT closes all with 1001 and ends the \
            gateway within 2 seconds.
            """,
            """
            SIGHUP reads the settings file and all files that it names again, which also happens by itself when one of them has \
            changed. If one is invalid, nothing changes, and the log has a line.
            """,
        ],
        options: [SettingsArguments.config] + SettingsArguments.flags.map(\.option),
        statuses: [
            (.success, "stopped by SIGTERM or SIGINT"), (.software, "librdkafka reported an error that it calls fatal"),
            (.system, "an address is in use, or not ours"), (.settings, "the settings are wrong"),
        ])

    static func run(_ arguments: Arguments) async -> ExitStatus {
        let (file, flags) = (arguments.required(SettingsArguments.config), SettingsArguments.flags(of: arguments))
        let environment = SettingsEnvironment.ofProcess()
        let load: @Sendable () -> SettingsOutcome = {
            Settings.load(file: file, environment: environment, flags: flags)
        }
        let outcome = load()
        let reading = outcome.reading(now: Int64(time(nil)))
        let problems = reading.problems
        guard let material = reading.material else {
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
        let reloads = ReloadSource(load: load, startOutcome: outcome, start: reading) { settings in
            writer.configure(format: settings.log.format, level: settings.log.level)
        }
        do throws(GatewayError) {
            try await Service(GatewayServer.Parts(material), logger: logger, reloads: reloads).run(begun: {
                logger.notice(
                    "starting", [.version: "\(Release.version)", .library: "librdkafka \(KafkaLibrary.version)"])
                for problem in problems { problem.warn(logger) }
            })
            return .success
        } catch {
            logger.critical(
                "the gateway cannot go on",
                [.error: "\(error)", .advice: "correct what the error names, and start the node again"])
            return error.status
        }
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
