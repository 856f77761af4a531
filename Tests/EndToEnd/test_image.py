"""The image, built of the built programs by the second stage of the Dockerfile, and run as its configuration says."""

import subprocess
from pathlib import Path

import pytest
import yaml

from debian import DEADLINE, needs
from images import Image
from programs import PROGRAMS, ROOT, eventually, run

pytestmark = [pytest.mark.packages, pytest.mark.slow, pytest.mark.unsanitized]

MOST_BYTES = 120_000_000
VERSION = run("livegate", "--version")[1].split()[1]


@pytest.fixture(scope="module")
def image(tmp_path_factory):
    needs("buildah", "mmdebstrap", "unshare", "ip")
    folder = tmp_path_factory.mktemp("image")
    done = subprocess.run([ROOT / "deploy/package", "image", "--programs", PROGRAMS, "--librdkafka", "debian", "--bases", "made",
                           "--into", folder], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=DEADLINE)
    assert done.returncode == 0, done.stdout[-3000:]
    file = Path(done.stdout.splitlines()[-1])
    (folder / "root").mkdir()
    return Image(file, folder / "root")


def test_the_image_is_small_and_says_what_it_is(image):
    assert image.bytes <= MOST_BYTES, f"{image.bytes / 1e6:.0f} MB"
    assert f"docker.io/library/livegate:{VERSION}" in image.names or f"localhost/livegate:{VERSION}" in image.names
    assert image.config["Labels"]["org.opencontainers.image.version"] == VERSION
    assert image.config["User"] == "10001" and set(image.config["ExposedPorts"]) == {"8080/tcp", "9080/tcp"}


def test_the_program_takes_no_library_from_beside_it(image):
    headers = subprocess.run(["objdump", "-p", image.root / "usr/local/bin/livegate"], capture_output=True, text=True, check=True).stdout
    assert "NEEDED" in headers and "RUNPATH" not in headers and "RPATH" not in headers


def test_what_runs_images_names_this_one():
    services = yaml.safe_load((ROOT / "deploy/compose.yaml").read_text())["services"]
    assert services["livegate"]["image"] == f"livegate:{VERSION}"
    assert services["livegate"]["build"]["args"] == {"VERSION": VERSION}
    pods = yaml.safe_load_all((ROOT / "deploy/kubernetes/livegate.yaml").read_text())
    (deployment,) = [each for each in pods if each["kind"] == "Deployment"]
    (container,) = deployment["spec"]["template"]["spec"]["containers"]
    assert container["image"].endswith(f"/livegate:{VERSION}")


def test_the_demo_runs_where_nothing_can_be_written(image, start):
    demo = start(*image.command("demo", "--seconds", "5"), env=image.environment())
    demo.line("livecat -")
    assert demo.wait(30) == 0


def test_a_node_takes_settings_from_its_environment_is_healthy_and_ends_as_the_first_process(image, start):
    node = start(*image.command("serve", "--config", "/dev/null"), env=image.environment(
        LIVEGATE_LISTEN=":8080", LIVEGATE_AUTH_ANONYMOUS="PACC1", LIVEGATE_KAFKA_BROKERS="127.0.0.1:9",
        LIVEGATE_LIFECYCLE_DRAIN_DELAY="0s", LIVEGATE_LIFECYCLE_DRAIN_WINDOW="0s"))
    how, *check = image.config["Healthcheck"]["Test"]
    assert how == "CMD"
    eventually(lambda: image.beside(node, *check) == (0, ""), what="the health check")
    status = dict(line.split(":\t", 1) for line in
                  Path(f"/proc/{image.first_process(node)}/status").read_text().splitlines())
    assert status["NSpid"].split()[-1] == "1" and status["Uid"].split() == ["10001"] * 4
    assert int(status["CapEff"], 16) == int(status["CapBnd"], 16) == 0
    image.end(node)
    assert node.wait(10) == 0


def test_settings_that_are_refused_end_it_with_their_status(image, start):
    node = start(*image.command("serve", "--config", "/dev/null"), env=image.environment(LIVEGATE_LISTEN="nowhere"))
    node.line("LIVEGATE_LISTEN")
    assert node.wait(10) == 78
