// swift-tools-version: 6.2
import PackageDescription

let strict: [SwiftSetting] = [.swiftLanguageMode(.v6), .strictMemorySafety(), .treatAllWarnings(as: .error)]

/// A package that asks for a version, a branch or a revision of this one may not be given unsafe flags. Its checkout of this
/// package stands in a folder of this name, of `swift build` and of Xcode; `no` stands for such a checkout.
let mayHaveUnsafeFlags =
    Context.environment["LIVEGATE_UNSAFE_FLAGS"] != "no"
    && Context.packageDirectory.split(separator: "/").dropLast().last != "checkouts"

/// For targets on the way of each record and each message: no checks of exclusive access while the program runs. They took
/// 11 % of the instructions of mapping a record and keeping its event, and a delivery made twelve of them in the reactor,
/// the transport and the gateway. Debug builds, and so the tests, keep them.
let hot: [SwiftSetting] =
    mayHaveUnsafeFlags
    ? strict + [.unsafeFlags(["-enforce-exclusivity=unchecked"], .when(configuration: .release))] : strict

/// Optimised in debug builds too: what thousands of simulated histories go through, and what scans every source. `no` leaves it
/// out, where a build costs more than its tests gain.
let optimized: [SwiftSetting] =
    Context.environment["LIVEGATE_OPTIMIZED"] == "no" || !mayHaveUnsafeFlags ? [] : [.unsafeFlags(["-O"])]

/// A header and a module map over a C library that pkg-config finds.
func system(_ name: String, pkgConfig: String, apt: String...) -> Target {
    .systemLibrary(name: name, pkgConfig: pkgConfig, providers: [.apt(apt)])
}

func core(_ name: String, _ dependencies: String..., settings: [SwiftSetting] = strict) -> Target {
    .target(
        name: name, dependencies: dependencies.map { .init(stringLiteral: $0) }, swiftSettings: settings)
}

func program(_ name: String, path: String? = nil, exclude: [String] = [], _ dependencies: String...) -> Target {
    .executableTarget(
        name: name, dependencies: dependencies.map { .init(stringLiteral: $0) }, path: path, exclude: exclude,
        swiftSettings: strict)
}

func tests(_ name: String, _ dependencies: String..., exclude: [String] = []) -> Target {
    .testTarget(
        name: name, dependencies: dependencies.map { .init(stringLiteral: $0) }, exclude: exclude,
        swiftSettings: strict)
}

/// `1` builds the fuzz targets for libFuzzer, `replay` with a `main` that only hands them the inputs that are kept.
let fuzzing = Context.environment["LIVEGATE_FUZZ"]

/// A fuzz target has no `main` of its own: libFuzzer brings it, so an ordinary build leaves it out.
func fuzz(_ name: String, _ folder: String, _ dependencies: String...) -> Target {
    let isReplay = fuzzing == "replay"
    return .executableTarget(
        name: "fuzz-\(name)",
        dependencies: (dependencies + ["FuzzSupport"] + (isReplay ? ["FuzzReplay"] : []))
            .map { .init(stringLiteral: $0) },
        path: "Tests/Fuzz/Targets/\(folder)",
        swiftSettings: strict + (isReplay ? [.unsafeFlags(["-parse-as-library"])] : []))
}

let fuzzTargets: [Target] =
    fuzzing == nil
    ? []
    : (fuzzing == "replay" ? [.target(name: "FuzzReplay", path: "Tests/Fuzz/Replay")] : []) + [
        .target(name: "FuzzSupport", dependencies: ["WebSocket"], path: "Tests/Fuzz/Support", swiftSettings: strict),
        fuzz("http-request", "HTTPRequest", "HTTP"),
        fuzz("http-response", "HTTPResponse", "HTTP"),
        fuzz("event-stream", "EventStream", "HTTP"),
        fuzz("websocket-server", "WebSocketServer", "WebSocket"),
        fuzz("websocket-client", "WebSocketClient", "WebSocket"),
        fuzz("extension-header", "ExtensionHeader", "WebSocket"),
        fuzz("json", "JSON", "LiveUpdates"),
        fuzz("mapping", "Mapping", "LiveUpdates"),
        fuzz("settings", "Settings", "GatewaySettings", "YAML"),
        fuzz("cursor", "Cursor", "LiveUpdates"),
        fuzz("proxy-header", "ProxyHeader", "Balancer"),
        fuzz("forwarded-header", "ForwardedHeader", "Balancer"),
        fuzz("token", "Token", "LiveUpdates", "TLS", "Tokens"),
        fuzz("key-set", "KeySet", "Tokens"),
        fuzz("introspection", "Introspection", "LiveUpdates", "Tokens"),
        fuzz("control-record", "ControlRecord", "LiveUpdates", "Tokens"),
        fuzz("credential", "Credential", "HTTP", "LiveUpdates", "Tokens"),
        fuzz("ticket", "Ticket", "LiveUpdates", "TLS", "Tokens"),
    ]

/// The race that the thread sanitizer has to report before its silence counts; `Tests/run tsan` asks for it.
let plantedRace: [Target] =
    Context.environment["LIVEGATE_PLANTED_RACE"] != "1"
    ? [] : [program("planted-race", path: "Tests/PlantedRace", "Reactor")]

let package = Package(
    name: "livegate",
    // Of the client library; the gateway and its programs are for Linux alone.
    platforms: [.iOS(.v17), .macOS(.v14), .tvOS(.v17), .watchOS(.v10), .visionOS(.v1)],
    products: [
        .executable(name: "livegate", targets: ["livegate"]),
        .executable(name: "livecat", targets: ["livecat"]),
        .executable(name: "liveboard", targets: ["liveboard"]),
        .executable(name: "livebench", targets: ["livebench"]),
        .library(name: "LiveClient", targets: ["LiveClient"]),
        .library(name: "LiveCollections", targets: ["LiveCollections"]),
        .library(name: "LiveClientURLSession", targets: ["LiveClientURLSession"]),
        .library(name: "LiveClientReactor", targets: ["LiveClientReactor"]),
    ],
    targets: [
        // C: headers, module maps, thin shims.
        .target(name: "CLinux"),
        .target(name: "CTerminal"),
        // The files of the demo's page, which the compiler reads into the binary.
        .target(name: "DemoPage", exclude: ["page"]),
        system("COpenSSL", pkgConfig: "libssl", apt: "libssl-dev"),
        system("CRdKafka", pkgConfig: "rdkafka", apt: "librdkafka-dev"),
        system("CZlib", pkgConfig: "zlib", apt: "zlib1g-dev"),
        system("CJOSE", pkgConfig: "cjose", apt: "libcjose-dev", "libjansson-dev"),
        system("CYAML", pkgConfig: "yaml-0.1", apt: "libyaml-dev"),
        system("CPostgreSQL", pkgConfig: "libpq", apt: "libpq-dev"),
        system("CCurl", pkgConfig: "libcurl", apt: "libcurl4-openssl-dev"),
        // Linked by its name: simdjson's pkg-config file has a -D flag, which the package manager warns of and leaves out.
        // The header defines the same by itself.
        .target(name: "CSimdJSON", linkerSettings: [.linkedLibrary("simdjson")]),
        // Debian's, or the one that each of Apple's platforms has.
        .target(name: "CSQLite", linkerSettings: [.linkedLibrary("sqlite3")]),

        // Protocol cores: no I/O.
        core("HTTP"),
        core("Balancer"),
        core("CloseCodes"),
        core("WebSocket", "CZlib", "CloseCodes", settings: hot),
        // With optimisation in every build: its tests go through 100,000 histories, in half a minute without and 5 s with it.
        .target(
            name: "LiveUpdates", dependencies: ["CSimdJSON", "KafkaLogs"],
            swiftSettings: hot + optimized),
        // What is known of the logs that are read; optimised for the same histories.
        .target(name: "KafkaLogs", swiftSettings: hot + optimized),

        // The machine: sockets, TLS, Kafka, logs, command lines.
        core("Reactor", "CLinux", settings: hot),
        core("TLS", "COpenSSL", "CLinux"),
        core("Transport", "Reactor", "TLS", settings: hot),
        core("Kafka", "CRdKafka", "KafkaLogs", settings: hot),
        core("Logging", "CLinux"),
        core("Options", "CLinux"),
        core("Terminal", "CLinux", "CTerminal"),
        core("Fetching", "CCurl"),
        core("Locks"),
        core("SQLite", "CSQLite", "Locks"),
        core("PostgreSQL", "CPostgreSQL"),
        // The past; optimised in every build, for tests that go through thousands of histories.
        core(
            "Archive", "SQLite", "PostgreSQL", "LiveUpdates", "KafkaLogs", settings: strict + optimized),

        // Who is let in, and what an operator says. No target here knows a connection.
        core("Tokens", "HTTP", "LiveUpdates", "TLS", "CJOSE"),
        core("YAML", "CYAML"),
        core(
            "GatewaySettings", "Balancer", "HTTP", "LiveUpdates", "Reactor", "TLS", "Kafka", "Logging", "Options",
            "Tokens", "YAML", "Fetching"),

        // Where the worlds meet.
        core(
            "Gateway", "Balancer", "HTTP", "WebSocket", "LiveUpdates", "Reactor", "TLS", "Transport", "Kafka",
            "KafkaLogs", "Logging", "Options", "Tokens", "GatewaySettings", "Fetching", "Archive", "PostgreSQL",
            "CLinux",
            "DemoPage",
            settings: hot),
        // The app's side: what decides, without I/O and without a clock, and the client around it.
        // Optimised in every build, for tests that go through 100,000 histories.
        core("LiveState", settings: strict + optimized),
        core(
            "LiveClient", "LiveState", "SQLite", "CloseCodes", "HTTP", "Locks"),
        // Live lists on it: their rows are JSON, by Foundation.
        core("LiveCollections", "LiveClient", "Locks"),
        // Its transport where URLSession is.
        core("LiveClientURLSession", "LiveClient", "LiveState", "CloseCodes", "HTTP", "Locks"),
        // Its transport on Linux, and what livecat stands on.
        core(
            "LiveClientReactor", "LiveClient", "LiveState", "HTTP", "WebSocket", "Reactor", "TLS", "Transport"),

        program(
            "livegate", "Gateway", "GatewaySettings", "Tokens", "LiveUpdates", "Kafka", "Logging", "Options", "CLinux"),
        program(
            "livecat", "LiveClient", "LiveClientReactor", "LiveState", "LiveUpdates", "HTTP", "WebSocket", "Reactor",
            "TLS", "Transport",
            "Options", "Terminal", "CLinux"),
        // The demo's incidents in a terminal, on the client library.
        program(
            "liveboard", "LiveClient", "LiveClientReactor", "LiveState", "Fetching", "Reactor", "Options", "Terminal"),
        program(
            "livebench", "Archive", "LiveUpdates", "HTTP", "WebSocket", "Reactor", "TLS", "Transport", "Kafka",
            "Options"),

        program("storekill", path: "Tests/StoreKill", "LiveClient", "LiveState", "Archive", "LiveUpdates"),
        program("mockbroker", path: "Tests/MockBroker", "Kafka"),
        program("pastdevices", path: "Tests/PastDevices", "LiveClient", "LiveClientReactor"),
        program(
            "sdkclients", path: "Tests/SDKClients", exclude: ["cost"], "LiveClient", "LiveClientReactor", "LiveState",
            "Fetching"),
        program("urlsessionclient", path: "Tests/URLSessionClient", "LiveClientURLSession"),
        program("chaosapps", path: "Tests/ChaosApps", "LiveClient", "LiveClientReactor", "LiveState", "Fetching"),

        // Both ends of the conformance suite (Tests/Conformance/run).
        .target(
            name: "ConformancePeer", dependencies: ["HTTP", "TLS", "WebSocket"], path: "Tests/Conformance/Peer",
            swiftSettings: strict),
        program(
            "wsecho", path: "Tests/Conformance/wsecho", "ConformancePeer", "Options", "Reactor", "TLS", "Transport",
            "WebSocket"),
        program(
            "wsecho-client", path: "Tests/Conformance/wsecho-client", "ConformancePeer", "HTTP", "Options", "Reactor",
            "TLS", "Transport", "WebSocket"),

        // What tests of several targets need; with optimisation, for those that draw millions of numbers.
        .target(
            name: "TestHarness", path: "Tests/Harness/Swift", swiftSettings: strict + optimized),
        .target(name: "AllocationCounter", path: "Tests/AllocationCounter"),
        // A Kafka cluster as a value: what it answers is scripted.
        .target(
            name: "ScriptedBroker", dependencies: ["KafkaLogs"], path: "Tests/ScriptedBroker",
            swiftSettings: strict + optimized),
        tests("KafkaLogsTests", "KafkaLogs", "ScriptedBroker"),
        tests("BalancerTests", "Balancer", "TestHarness"),
        tests("HTTPTests", "HTTP", "TestHarness", "AllocationCounter"),
        tests("WebSocketTests", "WebSocket", "CZlib", "TestHarness"),
        .testTarget(
            name: "LiveUpdatesTests",
            dependencies: ["LiveUpdates", "KafkaLogs", "ScriptedBroker", "TestHarness", "AllocationCounter"],
            exclude: ["Records"],
            swiftSettings: strict),
        // Nodes made of both, over a broker that is scripted.
        .testTarget(
            name: "SimulationTests",
            dependencies: ["Archive", "LiveUpdates", "KafkaLogs", "ScriptedBroker", "TestHarness"],
            swiftSettings: strict + optimized),
        tests("ReactorTests", "Reactor", "CLinux", "TestHarness"),
        tests("TLSTests", "TLS", "Transport", "Reactor", "TestHarness"),
        tests("KafkaTests", "Kafka", "KafkaLogs", "TestHarness"),
        tests("LoggingTests", "Logging", "TestHarness"),
        tests("OptionsTests", "Options"),
        tests("SQLiteTests", "SQLite", "Locks", "TestHarness"),
        tests(
            "ArchiveTests", "Archive", "SQLite", "PostgreSQL", "LiveUpdates", "KafkaLogs", "TestHarness",
            "AllocationCounter"),
        tests("FetchingTests", "Fetching", "TestHarness"),
        .target(
            name: "TestTokens", dependencies: ["Tokens", "TLS", "CJOSE"], path: "Tests/TestTokens",
            swiftSettings: strict),
        tests("TokensTests", "Tokens", "TestTokens", "LiveUpdates", "TLS", "CJOSE"),
        tests("YAMLTests", "YAML"),
        tests(
            "GatewaySettingsTests", "Balancer", "GatewaySettings", "HTTP", "TestTokens", "LiveUpdates", "Logging",
            "Options", "Reactor", "TLS", "Tokens", "YAML", "TestHarness"),
        tests(
            "GatewayTests", "Archive", "Balancer", "Gateway", "GatewaySettings", "Kafka", "LiveUpdates", "Logging",
            "Reactor", "TLS", "Tokens", "TestHarness", "TestTokens"),
        .testTarget(
            name: "LiveStateTests", dependencies: ["LiveState", "TestHarness"],
            swiftSettings: strict + optimized),
        tests(
            "LiveClientTests", "LiveClient", "LiveClientReactor", "LiveCollections", "LiveUpdates", "HTTP", "WebSocket",
            "Reactor", "TLS",
            "Transport",
            "TestHarness"),
        tests(
            "LiveClientURLSessionTests", "LiveClientURLSession", "LiveClient", "LiveState", "CloseCodes", "HTTP",
            "TestHarness"),
        tests("LiveboardTests", "liveboard", "LiveClient", "LiveClientReactor", "LiveState", "Terminal", "TestHarness"),
        tests(
            "LivecatTests", "livecat", "Terminal", "LiveClient", "LiveClientReactor", "LiveState", "Options",
            "TestHarness"),
        // It scans every source, which takes half a minute without optimisation and a second with it.
        .testTarget(name: "TidyTests", swiftSettings: strict + optimized),
    ] + fuzzTargets + plantedRace,
    cxxLanguageStandard: .cxx17
)

/// The targets that a build is for, where it is not for all: libFuzzer's, since any other program would have two mains, or
/// those that `LIVEGATE_TARGETS` names, with commas between them. They and what they need are left.
let wanted =
    Context.environment["LIVEGATE_TARGETS"]?.split(separator: ",").map(String.init)
    ?? (fuzzing == "1" ? fuzzTargets.map(\.name) : [])
if !wanted.isEmpty {
    var needed: Set<String> = []
    var open = wanted
    while let name = open.popLast() {
        guard let target = package.targets.first(where: { $0.name == name }) else { fatalError("no target \(name)") }
        guard needed.insert(name).inserted else { continue }
        for case .byNameItem(let dependency, _) in target.dependencies { open.append(dependency) }
    }
    package.targets.removeAll { !needed.contains($0.name) }
    package.products = []
}
