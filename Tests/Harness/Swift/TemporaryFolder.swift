import Foundation

/// A folder of a test's own, which only its user may read and which goes with this object. Its path is short enough for
/// the name of a Unix domain socket.
package final class TemporaryFolder: Sendable {
    package let path: String

    /// - Parameter inMemory: where the machine has a file system in memory, there: for tests that wait for the disk thousands
    ///   of times.
    package init(inMemory: Bool = false) {
        let name = String(UInt64.random(in: 0...UInt64.max), radix: 36)
        let memory = "/dev/shm"
        let place = inMemory && FileManager.default.isWritableFile(atPath: memory) ? URL(fileURLWithPath: memory) : nil
        path = (place ?? FileManager.default.temporaryDirectory).appending(path: "livegate-\(name)").path
        do {
            try FileManager.default.createDirectory(
                atPath: path, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
        } catch {
            fatalError("no folder for a test at \(path): \(error)")
        }
    }

    /// The path of a file in it.
    package func path(_ name: String) -> String { "\(path)/\(name)" }

    package func remove() {
        // One by one: a socket's file may go meanwhile, which would end the removal of the whole.
        for name in (try? FileManager.default.contentsOfDirectory(atPath: path)) ?? [] {
            try? FileManager.default.removeItem(atPath: self.path(name))
        }
        try? FileManager.default.removeItem(atPath: path)
    }

    deinit { remove() }
}
