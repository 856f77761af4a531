/// The version of this Livegate, defined only here.
///
/// It is in `--version`, manual pages, logs, metrics, the status and the name of each package. Versions are semantic
/// (semver.org), for operators and app developers: the settings, the administration, the metrics, the protocol, the archive and
/// the SDKs. Before 1.0 the second number counts changes that need their action, and the third all others.
package enum Release {
    /// With `-dev` between two releases, which sorts before the next one. The changelog then begins with the unreleased changes.
    package static let version = "0.2.0-dev"
}
