/// Which Livegate this is: the one place of its version.
///
/// It is in `--version`, manual pages, logs, metrics, the status and the name of each package. Versions are semantic
/// (semver.org), for operators and app developers: the settings, the administration, the metrics, the protocol, the archive
/// and the SDKs. Before 1.0 the second number counts what asks something of them, the third all else.
package enum Release {
    /// With `-dev` between two releases, which sorts before the next one; the changelog then begins with what is not released.
    package static let version = "0.2.0-dev"
}
