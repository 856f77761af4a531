"""What stands in deploy/ and cannot be run here as a whole, held against its schema, its linter and the program."""

import os
import re
import stat
import subprocess
import sysconfig

import pytest
import yaml

from programs import PROGRAMS, ROOT, environment

DEPLOY = ROOT / "deploy"
SCRIPTS = sysconfig.get_path("scripts")
# From the first signal to the end: drain_delay, drain_window, and 5 s for the last closes.
LONGEST_DRAIN = 5 + 30 + 5


def run(*command, **options):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=600, **options)
    assert done.returncode == 0, f"{command[0]}: {done.stdout}{done.stderr}"
    return done.stdout + done.stderr


def documents(name):
    return [document for document in yaml.safe_load_all((DEPLOY / name).read_text()) if document]


def of_kind(kind):
    files = sorted(path.name for path in (DEPLOY / "kubernetes").iterdir())
    found = [each for name in files for each in documents(f"kubernetes/{name}") if each["kind"] == kind]
    assert found, kind
    return found


# systemd

@pytest.fixture(scope="module", params=["as it is", "with a port below 1024"])
def unit(request, tmp_path_factory):
    """The unit with a program that is there: systemd-analyze looks for it."""
    text = (DEPLOY / "systemd/livegate.service").read_text()
    if request.param != "as it is":
        text, count = re.subn(r"(?m)^#(?=(CapabilityBoundingSet|AmbientCapabilities|PrivateUsers)=)", "", text)
        assert count == 3 and text.count("=CAP_NET_BIND_SERVICE\n") == 2
    path = tmp_path_factory.mktemp("systemd") / "livegate.service"
    path.write_text(text.replace("/usr/local/bin/livegate", str(PROGRAMS / "livegate")))
    return path


def test_systemd_takes_the_unit_calls_it_well_confined_and_waits_for_a_drain(unit):
    assert run("systemd-analyze", "verify", unit) == ""
    assert int(re.search(r"^TimeoutStopSec=(\d+)$", unit.read_text(), re.M)[1]) == 45 > LONGEST_DRAIN
    # Its memory holds tokens and keys.
    assert re.search(r"^LimitCORE=0$", unit.read_text(), re.M)
    told = run("systemd-analyze", "security", "--offline=true", "--no-pager", unit)
    assert float(re.search(r"Overall exposure level for livegate\.service: ([\d.]+)", told)[1]) <= 2.0


def test_a_balancer_of_the_nodes_group_reaches_its_unix_socket_and_nobody_else_does(
        unit, gateway, mock_broker, tmp_path):
    """What the unit says of files, held against the socket that the node makes under the same mask."""
    words = dict(re.findall(r"^(\w+)=(\S+)$", unit.read_text(), re.M))
    folder, private = (int(words[name], 8) for name in ("RuntimeDirectoryMode", "StateDirectoryMode"))
    path = tmp_path / "clients.sock"
    gateway(mock_broker.bootstrap, listen=[f"unix:{path}"],
            around=["/bin/sh", "-c", f'umask {words["UMask"]} && exec "$@"', "sh"])
    mode = path.stat().st_mode
    # To connect is to write; to come there is to enter the folder.
    assert mode & stat.S_IWGRP and folder & stat.S_IXGRP
    assert not mode & 0o007 and not folder & 0o007
    assert words["StateDirectory"] == words["Group"] == "livegate" and private == 0o700
    assert "usermod --append --groups livegate" in unit.read_text()


# Kubernetes, compose

@pytest.mark.parametrize("file", sorted((DEPLOY / "kubernetes").iterdir()), ids=lambda path: path.name)
def test_kubernetes_knows_each_field(file):
    run(f"{SCRIPTS}/kubernetes-validate", "--strict", file)


def test_kubernetes_starts_the_gateway_with_settings_that_it_takes(tmp_path, certificates):
    text = next(each["data"]["livegate.yaml"] for each in of_kind("ConfigMap") if "livegate.yaml" in each["data"])
    (tmp_path / "token").write_text("secret-of-the-administration\n")
    for name, path in (("/etc/livegate-tls/tls.crt", certificates.settings["ecdsa"]["certificate"]),
                       ("/etc/livegate-tls/tls.key", certificates.settings["ecdsa"]["key"]),
                       ("/etc/livegate-admin/token", tmp_path / "token")):
        assert name in text
        text = text.replace(name, str(path))
    (tmp_path / "livegate.yaml").write_text(text)
    run(PROGRAMS / "livegate", "check", "--config", tmp_path / "livegate.yaml", env=environment())


def test_kubernetes_asks_and_waits_as_the_node_answers():
    (deployment,) = of_kind("Deployment")
    pod = deployment["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    assert pod["terminationGracePeriodSeconds"] == 45 > LONGEST_DRAIN
    assert container["readinessProbe"]["httpGet"] == {"path": "/readyz", "port": "admin"}
    assert container["livenessProbe"]["httpGet"] == {"path": "/livez", "port": "admin"}
    # Everything selects the same pods, and every volume that is mounted is there.
    labels = deployment["spec"]["template"]["metadata"]["labels"]
    (service,), (budget,), (policy,) = of_kind("Service"), of_kind("PodDisruptionBudget"), of_kind("NetworkPolicy")
    for selector in (deployment["spec"]["selector"]["matchLabels"], service["spec"]["selector"],
                     budget["spec"]["selector"]["matchLabels"], policy["spec"]["podSelector"]["matchLabels"]):
        assert selector == labels
    assert {mount["name"] for mount in container["volumeMounts"]} == {volume["name"] for volume in pod["volumes"]}
    ports = {port["name"] for port in container["ports"]}
    assert {port["targetPort"] for port in service["spec"]["ports"]} <= ports
    assert {port["port"] for rule in policy["spec"]["ingress"] for port in rule["ports"]} == ports
    (scaler,) = of_kind("HorizontalPodAutoscaler")
    assert scaler["spec"]["scaleTargetRef"]["name"] == deployment["metadata"]["name"]
    # A deploy would go back to this number, and drain all nodes beyond it at once.
    assert "replicas" not in deployment["spec"]


def test_compose_has_the_form_of_the_specification_and_settings_that_the_gateway_takes():
    run(f"{SCRIPTS}/check-jsonschema", "--builtin-schema", "vendor.compose-spec", DEPLOY / "compose.yaml")
    services = documents("compose.yaml")[0]["services"]
    assert services["livegate"]["stop_grace_period"] == "45s"
    dockerfile = DEPLOY / services["livegate"]["build"]["context"] / services["livegate"]["build"]["dockerfile"]
    assert dockerfile.resolve() == (DEPLOY / "docker/Dockerfile").resolve()
    serve, *arguments = services["livegate"]["command"]
    assert serve == "serve"
    run(PROGRAMS / "livegate", "check", *arguments, env=environment(services["livegate"]["environment"]))


# Envoy

def seconds(text):
    return int(re.fullmatch(r"(\d+)s", text)[1])


def test_envoy_cuts_nothing_that_is_merely_quiet():
    """Held against the defaults of the settings: what a stream or a wait may be silent for, and after which time a node ends a
    connection between two requests."""
    limits = yaml.safe_load(run(PROGRAMS / "livegate", "config"))["limits"]
    quiet = max(seconds(limits["ping_interval"]), seconds(limits["max_wait"]))
    (listener,), (cluster,) = (documents("envoy/envoy.yaml")[0]["static_resources"][name] for name in ("listeners", "clusters"))
    manager = listener["filter_chains"][0]["filters"][0]["typed_config"]
    (route,) = manager["route_config"]["virtual_hosts"][0]["routes"]
    assert seconds(manager["stream_idle_timeout"]) > quiet and seconds(route["route"]["idle_timeout"]) > quiet
    # No limit on the whole of a stream.
    assert seconds(route["route"]["timeout"]) == 0
    (options,) = cluster["typed_extension_protocol_options"].values()
    swift = (ROOT / "Sources/Gateway/Connection/ConnectionLoop.swift").read_text()
    idle = int(re.search(r"idleRequestMilliseconds: UInt64 = ([\d_]+)", swift)[1].replace("_", "")) // 1000
    assert seconds(options["common_http_protocol_options"]["idle_timeout"]) < idle


# Docker

DOCKERFILE = (DEPLOY / "docker/Dockerfile").read_text()
STAGES = re.split(r"^(?=FROM )", DOCKERFILE, flags=re.M)[1:]


def test_the_image_has_what_the_program_is_linked_with():
    """Every library that the program names is of a package that the image installs, or of librdkafka, which it brings."""
    linked = run("objdump", "-p", PROGRAMS / "livegate")
    libraries = {name for name in re.findall(r"NEEDED\s+(\S+)", linked) if "swift" not in name}
    libraries -= {"libBlocksRuntime.so", "libdispatch.so"}  # of Swift, inside the program where it is linked statically
    installed = set(STAGES[1].split("--no-install-recommends", 1)[1].split("&&", 1)[0].replace("\\", "").split())
    basic = {"libc6", "libgcc-s1"}
    for library in sorted(libraries - {"librdkafka.so.1"}):
        packages = {line.split(":")[0] for line in run("dpkg", "-S", f"*/{library}").splitlines()}
        assert packages & (installed | basic), f"{library} is of {packages}"
    assert "librdkafka.so.1" in libraries and "COPY --from=build /image /" in STAGES[1]


def test_the_image_is_built_by_the_commands_that_the_tests_run_for_its_own_architecture(tmp_path):
    build, image = STAGES
    assert "RUN apt-get update && deploy/bootstrap" in build
    ours = "swift build -c release --static-swift-stdlib --scratch-path .build-release --product livegate"
    assert ours in build and ours in (DEPLOY / "demo").read_text()
    assert re.search(r"^USER [1-9]\d*$", image, re.M) and re.search(r"^HEALTHCHECK ", image, re.M) and "/livez" in image
    # Both stages have the libraries of one release, and what the first copies is not held back.
    assert "bookworm" in build.splitlines()[0] and "bookworm" in image.splitlines()[0]
    kept = [line[1:] for line in (ROOT / ".dockerignore").read_text().splitlines() if line.startswith("!")]
    copied = [source for sources in re.findall(r"^COPY (?!--from)(.+) \S+$", build, re.M) for source in sources.split()]
    assert sorted(copied) == sorted(kept) and all((ROOT / source).exists() for source in copied)
    # The folder of its libraries is found by a command of the build, which is run here; no architecture stands in the file.
    assert not re.search(r"x86_64|amd64-|aarch64", DOCKERFILE)
    (folder,) = re.findall(r'--libdir="([^"]+)"', DOCKERFILE)
    found = run("sh", "-c", f'printf %s "{folder}"')
    # Where Debian puts a library of this machine, which the linker's cache knows.
    (place, *_) = re.findall(r"=> (\S+)/libssl\.so\.3$", run("/sbin/ldconfig", "-p"), re.M)
    assert os.path.realpath(found) == os.path.realpath(place)
    assert "livegate --version" in STAGES[1]
    run(PROGRAMS / "livegate", "--version", cwd=tmp_path, env={"PATH": os.environ["PATH"]})


def test_what_is_copied_into_the_image_is_a_package(tmp_path):
    kept = [line[1:] for line in (ROOT / ".dockerignore").read_text().splitlines() if line.startswith("!")]
    for source in kept:
        (tmp_path / source).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / source).symlink_to(ROOT / source)
    described = run("swift", "package", "--package-path", tmp_path, "describe", "--type", "json")
    assert '"name" : "livegate"' in described
