"""`heatskin view`: its server, its exported pages, and the viewer in headless Chromium.

    viewer_test.py HEATSKIN PACKAGES_FOLDER server|page [PICTURES_FOLDER [TEST...]]

Exits with 77 (skipped) and says why when the program was built without the page, or node, npm, the packages or Chromium are not to be had.
"""
import concurrent.futures
import http.client
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest
import urllib.parse

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SKIPPED = 77
LEVEL = 1 / 255
SMALL = ["--preset", "compact", "--kernels", "1500", "--steps", "40", "--no-eval", "-q"]
HEATSKIN = PACKAGES = FOLDER = PICTURES = None


def skip(why):
    print(f"skipped: {why}")
    sys.exit(SKIPPED)


def run(command, **options):
    return subprocess.run(command, check=True, capture_output=True, text=True, **options).stdout


def path(name):
    return os.path.join(FOLDER, name)


def prepare():
    run([HEATSKIN, "demo-asset", "-o", path("pumpkin.glb"), "--resolution", "1200", "--texture", "256", "-q"])
    run([HEATSKIN, "fit", path("pumpkin.glb"), "-o", path("fit.glb")] + SMALL)
    trial = subprocess.run([HEATSKIN, "view", path("fit.glb"), "--reference", path("pumpkin.glb"), "--single", path("one.html"), "-q"],
                           capture_output=True, text=True)
    if "without the viewer's page" in trial.stderr:
        skip("the program was built without the viewer's page; 'make viewer' builds it")
    if trial.returncode != 0:
        sys.exit(trial.stderr)


class Server:
    verb = "view"

    def __init__(self, *arguments):
        self.process = subprocess.Popen([HEATSKIN, self.verb, *arguments, "-q"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.address = (self.process.stdout if self.verb == "view" else self.process.stderr).readline().strip()
        parts = urllib.parse.urlparse(self.address)
        self.host, self.port, self.path = parts.hostname, parts.port, parts.path

    def get(self, target, method="GET", **headers):
        connection = http.client.HTTPConnection(self.host, self.port, timeout=60)
        try:
            connection.request(method, target, headers=headers)
            answer = connection.getresponse()
            return answer.status, dict(answer.getheaders()), answer.read()
        finally:
            connection.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.send_signal(signal.SIGINT)
        self.code = self.process.wait(timeout=60)
        self.process.stdout.close()
        self.process.stderr.close()


class LiveServer(Server):
    """A fit that is watched; leaving waits for its end."""
    verb = "fit"

    def state(self):
        status, _, body = self.get(f"{self.path}live/state")
        assert status == 200, status
        return json.loads(body)

    def command(self, name, **headers):
        return self.get(f"{self.path}live/{name}", "POST", **headers)[0]

    def __exit__(self, *_):
        self.out, self.err = self.process.communicate(timeout=600)
        self.code = self.process.returncode


class ServerTest(unittest.TestCase):
    def test_a_watched_fit_writes_the_same_bytes_paused_or_not(self):
        fit = [path("pumpkin.glb"), "--preset", "compact", "--kernels", "400", "--steps", "400", "--no-eval"]
        run([HEATSKIN, "fit", *fit, "-o", path("alone.glb"), "-q"])
        with LiveServer(*fit, "-o", path("watched.glb"), "--live") as server:
            while server.state()["step"] == 0:
                time.sleep(0.01)
            self.assertEqual(server.command("pause"), 204)
            time.sleep(0.3)
            before = server.state()
            time.sleep(0.5)
            after = server.state()
            self.assertTrue(after["paused"])
            self.assertLess(before["step"], 400)
            self.assertEqual(before["step"], after["step"])
            self.assertGreater(len(after["frames"]), 0)
            number = after["frames"][0]["number"]
            status, headers, body = server.get(f"{server.path}live/frames/{number}.glb")
            self.assertEqual((status, body[:4], len(body)), (200, b"glTF", after["frames"][0]["bytes"]))
            open(path("frame.glb"), "wb").write(body)
            # Nobody else is obeyed.
            self.assertEqual(server.command("resume", Origin="http://evil.example"), 404)
            self.assertEqual(server.command("resume", Host="evil.example"), 404)
            self.assertEqual(server.get("/live/resume", "POST")[0], 404)
            self.assertEqual(server.command("format-disk"), 404)
            for wrong in ["live/frames/999.glb", "live/frames/.glb", "live/frames/-1.glb", "live/frames/0.glb.glb", "live/frames/0", "live/", "live"]:
                self.assertEqual(server.get(f"{server.path}{wrong}")[0], 404, wrong)
            self.assertGreaterEqual(server.get(f"{server.path}live/pause", "POST", **{"Content-Length": "99999999"})[0], 400)
            self.assertTrue(server.state()["paused"])
            self.assertEqual(server.command("resume", Origin=f"http://{server.host}:{server.port}"), 204)
        self.assertEqual(server.code, 0, server.err)
        self.assertEqual(open(path("watched.glb"), "rb").read(), open(path("alone.glb"), "rb").read())
        self.assertEqual(open(path("watched.toml"), "rb").read(), open(path("alone.toml"), "rb").read())
        open(path("one.csv"), "w").write("0,0.2,0.3,0.5\n")
        run([HEATSKIN, "query", path("frame.glb"), "--points", path("one.csv"), "-q"])  # a frame is a product

    def test_a_watched_fit_can_end_as_it_is_and_go_on(self):
        fit = [path("pumpkin.glb"), "--preset", "compact", "--kernels", "400", "--steps", "3000", "--no-eval", "-o", path("ended.glb")]
        with LiveServer(*fit, "--live", "--json", path("ended.json")) as server:
            while server.state()["step"] < 20:
                time.sleep(0.01)
            self.assertEqual(server.command("finish"), 204)
        self.assertEqual(server.code, 0, server.err)
        found = json.load(open(path("ended.json")))
        self.assertEqual(found["stopped_by"], "asked")
        self.assertTrue(20 <= found["steps"] < 3000, found["steps"])
        run([HEATSKIN, "inspect", path("ended.glb"), "-q"])
        self.assertTrue(os.path.exists(path("ended.glb.checkpoint")))
        run([HEATSKIN, "fit", *fit, "--resume", "-q", "--json", path("ended.json")])
        found = json.load(open(path("ended.json")))
        self.assertEqual((found["steps"], found["stopped_by"]), (3000, "steps"))
        self.assertFalse(os.path.exists(path("ended.glb.checkpoint")))

    def test_a_watched_fit_still_hears_ctrl_c_while_it_is_paused(self):
        with LiveServer(path("pumpkin.glb"), "--preset", "compact", "--kernels", "400", "--steps", "3000", "--no-eval", "-o", path("stopped.glb"), "--live") as server:
            while server.state()["step"] < 1:
                time.sleep(0.01)
            server.command("pause")
            time.sleep(0.2)
            server.process.send_signal(signal.SIGINT)
        self.assertEqual(server.code, 130, server.err)
        self.assertTrue(os.path.exists(path("stopped.glb.checkpoint")))
        self.assertFalse(os.path.exists(path("stopped.glb")))

    def test_serves_the_page_and_the_files_alone(self):
        with Server(path("fit.glb"), "--reference", path("pumpkin.glb")) as server:
            self.assertEqual(server.host, "127.0.0.1")
            self.assertGreaterEqual(len(server.path.strip("/")), 32)
            status, headers, page = server.get(server.path)
            self.assertEqual(status, 200)
            self.assertIn("frame-ancestors 'none'", headers["Content-Security-Policy"])
            self.assertEqual(headers["X-Content-Type-Options"], "nosniff")
            self.assertNotIn(b"HEATSKIN_NONCE", page)
            for i, name in enumerate(["fit.glb", "pumpkin.glb"]):
                status, _, body = server.get(f"{server.path}files/{i}.glb")
                self.assertEqual((status, body), (200, open(path(name), "rb").read()))
            status, headers, body = server.get(f"{server.path}files/0.glb", Range="bytes=4-7")
            self.assertEqual((status, body), (206, open(path("fit.glb"), "rb").read()[4:8]))
            refused = ["/", "/files/0.glb", server.path[:-2] + "x/", f"{server.path}files/2.glb", f"{server.path}files/../../etc/passwd",
                       f"{server.path}..%2f..%2fetc%2fpasswd", f"{server.path}/etc/passwd", f"{server.path}index.html"]
            for target in refused:
                self.assertEqual(server.get(target)[0], 404, target)
            self.assertEqual(server.get(server.path, Host="evil.example")[0], 404)
            self.assertEqual(server.get(server.path, Host=f"evil.example:{server.port}")[0], 404)
            for method in ["POST", "PUT", "DELETE"]:
                self.assertGreaterEqual(server.get(server.path, method)[0], 400, method)
            with socket.socket() as other:  # loopback alone: no other address of this machine answers
                addresses = {a[4][0] for a in socket.getaddrinfo(socket.gethostname(), None, socket.AF_INET)} - {"127.0.0.1", "127.0.1.1"}
                for address in addresses:
                    other.settimeout(2)
                    self.assertNotEqual(other.connect_ex((address, server.port)), 0)
        self.assertEqual(server.code, 0)

    def test_nonces_and_tokens_differ(self):
        with Server(path("fit.glb")) as one, Server(path("fit.glb")) as two:
            self.assertNotEqual(one.path, two.path)
            nonces = {one.get(one.path)[1]["Content-Security-Policy"] for _ in range(3)}
            self.assertEqual(len(nonces), 3)

    def test_two_hundred_clients_and_slow_ones(self):
        expected = open(path("fit.glb"), "rb").read()
        with Server(path("fit.glb")) as server:
            slow = [socket.create_connection((server.host, server.port)) for _ in range(20)]
            for one in slow:
                one.sendall(b"GET / HTTP/1.1\r\nHost:")  # and never more
            with concurrent.futures.ThreadPoolExecutor(200) as pool:
                answers = list(pool.map(lambda _: server.get(f"{server.path}files/0.glb"), range(200)))
            self.assertTrue(all(status == 200 and body == expected for status, _, body in answers))
            begin = time.monotonic()
            for one in slow:
                one.settimeout(60)
                try:
                    while one.recv(4096):
                        pass
                except ConnectionError:
                    pass
                one.close()
            self.assertLess(time.monotonic() - begin, 60)

    def test_refuses_what_it_cannot_do(self):
        def fails(code, *arguments):
            outcome = subprocess.run([HEATSKIN, "view", *arguments], capture_output=True, text=True, timeout=120)
            self.assertEqual(outcome.returncode, code, outcome.stderr)
            self.assertEqual(len(outcome.stderr.strip().splitlines()), 1, outcome.stderr)
            return outcome.stderr
        open(path("broken.glb"), "wb").write(b"glTF but no more")
        fails(3, path("broken.glb"))
        fails(3, path("missing.glb"))
        fails(2, path("fit.glb"), "--single", path("x.html"), "--open")
        fails(2, path("fit.glb"), "--reference", path("fit.glb"), "--reference", path("fit.glb"))
        with Server(path("fit.glb")) as server:
            self.assertIn("in use", fails(1, path("fit.glb"), "--port", str(server.port)))

    def test_exports_a_folder(self):
        run([HEATSKIN, "view", path("fit.glb"), "--reference", path("pumpkin.glb"), "--export", path("site"), "-q"])
        self.assertEqual(sorted(os.listdir(path("site"))), ["files", "index.html"])
        self.assertEqual(open(path("site/files/1.glb"), "rb").read(), open(path("pumpkin.glb"), "rb").read())
        self.assertIn('"url":"files/0.glb"', open(path("site/index.html")).read())


class PageTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.address = "file://" + path("one.html")
        script = os.path.join(ROOT, "tests", "viewer", "drive.js")
        cls.driver = subprocess.Popen(["node", script, PACKAGES, CHROMIUM, PICTURES], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    @classmethod
    def tearDownClass(cls):
        cls.driver.communicate(timeout=60)  # the end of its input: it closes the browsers

    def drive(self, job, file="", address=None):
        """What a job of drive.js found. All tests share its browser; CTest's limit catches hangs."""
        self.driver.stdin.write(json.dumps([job, address or self.address, file]) + "\n")
        self.driver.stdin.flush()
        line = self.driver.stdout.readline()
        self.assertTrue(line, "drive.js ended")
        found = json.loads(line)
        self.assertNotIn("error", found, found.get("error"))
        self.assertEqual(found["problems"], [])
        return found

    def test_every_view_shows_something(self):
        colors = self.drive("views")["colors"]
        self.assertTrue({"mode lit", "mode unlit", "mode footprints", "mode coverage", "mode faces", "mode channel:base_color", "compare side",
                         "compare slider", "compare difference", "compare error", "wireframe", "environment sky", "environment studio",
                         "environment even"} <= set(colors), colors)
        self.assertGreater(min(count for name, count in colors.items() if name != "mode coverage"), 50, colors)

    def test_picked_colors_are_those_of_query(self):
        found = self.drive("picks")["found"]
        self.assertGreater(len(found), 15)
        lines = [f"{p['triangle']},{','.join(map(repr, p['barycentric']))}" for p in found]
        open(path("picked.csv"), "w").write("face,b0,b1,b2\n" + "\n".join(lines) + "\n")
        run([HEATSKIN, "query", path("fit.glb"), "--points", path("picked.csv"), "-o", path("colors.csv"), "-q"])
        rows = [list(map(float, line.split(","))) for line in open(path("colors.csv")).read().split()[1:]]
        apart = [abs(a - b) for p, row in zip(found, rows) for a, b in zip(p["color"], row)]
        self.assertLess(max(apart), LEVEL)
        planted = [abs(a - b) for p, row in zip(found, rows[1:]) for a, b in zip(p["color"], row)]
        self.assertGreater(max(planted), LEVEL)
        self.assertTrue(all(1 <= p["rows"] <= 12 for p in found))

    def test_drawn_colors_are_those_of_query(self):
        found = self.drive("probes")["found"]
        self.assertEqual(len(found), 1000)
        lines = [",".join(map(repr, point)) for p in found for point in p["points"]]
        open(path("probed.csv"), "w").write("face,b0,b1,b2\n" + "\n".join(lines) + "\n")
        run([HEATSKIN, "query", path("fit.glb"), "--points", path("probed.csv"), "-o", path("drawn.csv"), "-q"])
        rows = [list(map(float, line.split(","))) for line in open(path("drawn.csv")).read().split()[1:]]
        around = [rows[i:i + 5] for i in range(0, len(rows), 5)]

        def apart(drawn, near):
            """From the range of the colours around a point."""
            return max(max(min(c) - x, x - max(c), 0) for x, c in zip(drawn, zip(*near)))
        errors = [apart(p["color"], near) for p, near in zip(found, around)]
        print("8-bit levels between drawn and queried colours:", round(255 * max(errors), 3), "at most,",
              round(255 * sorted(max(abs(a - b) for a, b in zip(p["color"], near[0])) for p, near in zip(found, around))[500], 3), "in the median")
        self.assertLessEqual(max(errors), LEVEL)
        self.assertGreater(max(apart(p["color"], near) for p, near in zip(found, around[1:])), LEVEL, "a planted error is not seen")

    def test_pictures_from_afar_do_not_alias(self):
        errors = self.drive("afar")["errors"]
        self.assertGreater(errors["1"]["pixels"], 200)
        print("8-bit levels from 256 samples, seen from afar:", {n: round(e["rms"], 2) for n, e in errors.items()})
        self.assertLess(errors["32"]["rms"], 0.3 * errors["1"]["rms"])
        self.assertLess(errors["4"]["rms"], errors["1"]["rms"])

    def test_live_fit(self):
        with LiveServer(path("pumpkin.glb"), "--preset", "compact", "--kernels", "1000", "--steps", "20000", "--no-eval", "-o", path("live.glb"), "--live") as server:
            found = self.drive("live", address=server.address)
        self.assertEqual(server.code, 0, server.err)
        self.assertEqual(found["paused"], found["still"])
        self.assertGreater(found["frames"], 1)
        self.assertGreater(found["curve"], 10)
        self.assertGreater(min(found["first"], found["last"]), 50)
        self.assertIn("kernels", found["result"])
        self.assertTrue(os.path.exists(path("live.glb")))

    def test_reports(self):
        run([HEATSKIN, "fit", path("pumpkin.glb"), "-o", path("reported.glb"), "--preset", "compact", "--kernels", "1500", "--steps", "40",
             "--report", path("reported_report"), "--json", path("reported.json"), "-q"])
        page = path("reported_report/report.html")
        self.assertLess(os.path.getsize(page), 3e6)
        found = self.drive("report", address="file://" + page)
        self.assertEqual((found["light"], found["dark"]), ([], []))
        self.assertEqual(found["before"], ["0:left", "1:right"])
        self.assertEqual(found["split"], "25%")
        self.assertEqual(found["after"], ["12:left", "14:right"])
        self.assertEqual(found["viewer"], 1)
        self.assertIn("Kernels", found["inside"])
        self.assertLessEqual(found["widths"][0], found["widths"][1])
        text = open(page).read()
        self.assertNotIn("http://", text.replace("http://www.w3.org", ""))

    def test_galleries(self):
        folder = path("gallery")
        os.makedirs(folder)
        run([HEATSKIN, "fit", path("pumpkin.glb"), "-o", folder + "/small.glb", "--preset", "compact", "--kernels", "300", "--steps", "10", "--json", folder + "/small.json", "-q"])
        shutil.copy(path("fit.glb"), folder + "/large.glb")
        open(folder + "/broken <one>.glb", "wb").write(open(path("fit.glb"), "rb").read()[:5000])
        shutil.copy(path("pumpkin.glb"), folder + "/plain.glb")
        outcome = json.loads(run([HEATSKIN, "gallery", folder, "--json", "-", "-q"]))
        self.assertEqual((outcome["products"], outcome["broken"], outcome["left_out"]), (2, 1, 1))
        found = self.drive("gallery", address="file://" + folder + "/index.html")
        self.assertEqual((found["light"], found["dark"]), ([], []))
        self.assertEqual(found["names"], ["broken <one>.glb", "large.glb", "small.glb"])
        self.assertEqual(found["falling"], ["large.glb", "small.glb", "broken <one>.glb"])
        self.assertEqual(found["rising"], ["small.glb", "large.glb", "broken <one>.glb"])
        self.assertEqual(found["found"], ["broken <one>.glb"])
        self.assertIn("1 of 3", found["count"])
        self.assertEqual(found["pictures"], [288, 288])
        self.assertLessEqual(found["widths"][0], found["widths"][1])

    def test_budget(self):
        found = self.drive("budget")
        out = found["out"]
        decibels = [float(o["says"].split()[0]) for o in out[:-1]]
        self.assertEqual(decibels, sorted(decibels))
        self.assertIn("The same colours", out[-1]["says"])
        self.assertEqual(out[0]["count"].split()[0], "0")
        self.assertLess(out[0]["colors"], out[2]["colors"])

    def test_saved_pictures(self):
        sys.path.insert(0, os.path.join(ROOT, "tests", "viewer"))
        found = self.drive("picture")
        for transparent, alphas in [("true", 2), ("false", 1)]:
            width, height, channels, seen = png_alphas(found[transparent]["file"])
            self.assertEqual(max(width, height), 512)
            self.assertEqual(found[transparent]["name"], "fit.png")
            self.assertGreaterEqual(len(seen), alphas) if transparent == "true" else self.assertEqual(seen, {255})
            self.assertTrue(channels == 4 or seen == {255})

    def test_keyboard_alone_and_links(self):
        found = self.drive("keyboard")
        self.assertEqual(found["reached"], "canvas")
        self.assertNotEqual(found["before"], found["hash"])
        self.assertEqual(found["left"], {"mode": "unlit", "compare": "original"})
        self.assertEqual(found["restored"], found["left"])
        self.assertEqual(found["toggled"]["compare"], "kernels")
        self.assertGreater(found["picked"], 1)

    def test_dropped_file(self):
        found = self.drive("drop", path("pumpkin.glb"))
        self.assertGreater(found["colors"], 50)
        self.assertEqual(found["message"], "")

    def test_another_mesh_under_the_texture(self):
        # The fit's own mesh, and a finer one of the same shape.
        run([HEATSKIN, "demo-asset", "-o", path("finer.glb"), "--resolution", "3000", "--texture", "256", "-q"])
        decibels = {}
        for name in ["pumpkin", "finer"]:
            found = self.drive("carry", path(name + ".glb"))
            self.assertGreater(min(found["errors"], found["unlit"]), 50)
            decibels[name] = float(found["says"].split(" dB")[0].split()[-1])
        surface = json.loads(run([HEATSKIN, "eval", path("fit.glb"), "--reference", path("pumpkin.glb"), "--json", "-", "-q"]))["surface_psnr_filtered"]
        print("another mesh:", decibels, "eval:", round(surface, 2))
        self.assertLess(abs(decibels["pumpkin"] - surface), 1.5)
        self.assertGreater(decibels["finer"], 15)

    def test_phone(self):
        found = self.drive("phone")
        self.assertLessEqual(found["widths"][0], found["widths"][1])
        self.assertGreater(found["colors"], 50)

    def test_accessible(self):
        found = self.drive("accessibility")
        self.assertEqual((found["light"], found["dark"]), ([], []))

    def test_without_webgl(self):
        self.assertIn("WebGL2", self.drive("no_webgl")["message"])

    def test_served_page_under_its_content_security_policy(self):
        with Server(path("fit.glb"), "--reference", path("pumpkin.glb")) as server:
            found = self.drive("phone", address=server.address)
            self.assertGreater(found["colors"], 50)


def png_alphas(file):
    """Width, height, channels and the alpha values of an 8-bit PNG."""
    import struct
    import zlib
    data = open(file, "rb").read()
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    at, packed = 8, b""
    while at < len(data):
        length, kind = struct.unpack(">I4s", data[at:at + 8])
        body = data[at + 8:at + 8 + length]
        if kind == b"IHDR":
            width, height, depth, color = struct.unpack(">IIBB", body[:10])
        if kind == b"IDAT":
            packed += body
        at += 12 + length
    channels = {2: 3, 6: 4}[color]
    assert depth == 8
    raw, stride, before, seen = zlib.decompress(packed), channels * width, bytearray(channels * width), set()
    for row in range(height):
        kind, line = raw[row * (stride + 1)], bytearray(raw[row * (stride + 1) + 1:(row + 1) * (stride + 1)])
        for i in range(stride):
            left, up = line[i - channels] if i >= channels else 0, before[i]
            corner = before[i - channels] if i >= channels else 0
            p = left + up - corner
            nearest = min((abs(p - left), 0, left), (abs(p - up), 1, up), (abs(p - corner), 2, corner))[2]
            line[i] = (line[i] + [0, left, up, (left + up) // 2, nearest][kind]) & 255
        before = line
        seen |= set(line[3::4]) if channels == 4 else {255}
    return width, height, channels, seen


if __name__ == "__main__":
    if len(sys.argv) < 4 or sys.argv[3] not in ("server", "page"):
        sys.exit(__doc__)
    HEATSKIN, PACKAGES = sys.argv[1], os.path.abspath(sys.argv[2])
    CHROMIUM = next((shutil.which(name) for name in ("chromium", "chromium-browser", "google-chrome") if shutil.which(name)), None)
    with tempfile.TemporaryDirectory() as FOLDER:
        PICTURES = os.path.abspath(sys.argv[4]) if len(sys.argv) > 4 else FOLDER
        os.makedirs(PICTURES, exist_ok=True)
        if sys.argv[3] == "page":
            if not shutil.which("node"):
                skip("node is not installed")
            if CHROMIUM is None:
                skip("chromium is not installed; 'make dev-deps' installs it")
            command = ["/bin/bash", os.path.join(ROOT, "scripts", "get_npm_packages.sh"), os.path.join(ROOT, "tests", "viewer"), PACKAGES]
            installed = subprocess.run(command, capture_output=True, text=True)
            if installed.returncode == SKIPPED:
                skip(installed.stdout.strip())
            if installed.returncode != 0:
                sys.exit(installed.stdout + installed.stderr)
        prepare()
        case = ServerTest if sys.argv[3] == "server" else PageTest
        suite = unittest.TestSuite(map(case, sys.argv[5:])) if len(sys.argv) > 5 else unittest.defaultTestLoader.loadTestsFromTestCase(case)
        sys.exit(0 if unittest.TextTestRunner(verbosity=2).run(suite).wasSuccessful() else 1)
