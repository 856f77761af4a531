import Fetching
import Foundation
import Glibc
import LiveClient

// Apps on the whole SDK, for Tests/Chaos: each with a machine, screens, a store and actions of its own, and a user.
//
//     chaosapps LIVE API FOLDER SEED ACCOUNT…
//
// An app for each account that is named, which may be the same ones again. A line on its input is an order, answered by a line:
// `report` by what each app shows and did, `calm` ends what users do. It ends with its input.

func say(_ value: some Encodable) throws {
    var line = try JSONEncoder().encode(value)
    line.append(UInt8(ascii: "\n"))
    FileHandle.standardOutput.write(line)
}

let arguments = CommandLine.arguments
guard arguments.count > 5, let seed = UInt32(arguments[4]) else { exit(64) }
/// A fetcher has so many apps that their requests fit into it, also when the API stands still.
let appsOfFetcher = 10
var fetchers: [Fetcher] = []
var apps: [App] = []
for (index, account) in arguments[5...].enumerated() {
    if index % appsOfFetcher == 0 { fetchers.append(try Fetcher()) }
    let api = IncidentAPI(base: arguments[2], account: account, fetcher: fetchers[fetchers.count - 1])
    let app = App(
        "swift\(index)", api, live: arguments[1], folder: arguments[3], seed: seed &+ UInt32(index) &* 7_919)
    apps.append(app)
    Task {
        do {
            try await app.run()
        } catch {
            // An app that throws is a fault of the SDK or of this program: never to be passed over.
            FileHandle.standardError.write(Data("app \(index) of \(account): \(error)\n".utf8))
            exit(1)
        }
    }
}

let (orders, order) = AsyncStream.makeStream(of: String.self)
Thread.detachNewThread {
    while let line = readLine() { order.yield(line) }
    order.finish()
}
for await word in orders {
    switch word {
    case "report":
        var reports: [Report] = []
        for app in apps { reports.append(await app.report()) }
        try say(reports)
    case "calm":
        for app in apps { await app.calm() }
        try say(true)
    default: exit(64)
    }
}
exit(0)
