# The commands of the project. `make` alone lists them.

PREFIX ?= /usr/local
JOBS ?= $(shell nproc)
BENCH ?=
FUZZ_SECONDS ?= 60

.NOTPARALLEL:
.PHONY: help deps dev-deps build python viewer demo test cluster-test sanitize asan tsan torture lint format fuzz bench install deb \
  docs clean

help:
	@echo "heatskin: textures without UVs"
	@echo
	@echo "  make demo      build, then grow, fit, evaluate and draw the built-in pumpkin (demo-out/report.html)"
	@echo "  make test      all tests: build, unit tests, command line, a quick torture, format"
	@echo
	@echo "  make build     build/heatskin"
	@echo "  make python    the Python package: build/python for PYTHONPATH, build/wheels for pip"
	@echo "  make viewer    the same with the page of 'heatskin view' (needs npm; make test does it, too)"
	@echo "  make sanitize  most of them again under AddressSanitizer, UBSan and ThreadSanitizer"
	@echo "  make asan      all tests under AddressSanitizer and UBSan (build-asan/)"
	@echo "  make tsan      all tests under ThreadSanitizer (build-tsan/)"
	@echo "  make torture   try to break build/heatskin: kills, full disks, odd shapes and options, hostile files"
	@echo "  make cluster-test  a batch on a real Slurm of four nodes on this machine, one of which is killed (as root)"
	@echo "  make lint      clang-format and clang-tidy"
	@echo "  make format    apply clang-format"
	@echo "  make fuzz      libFuzzer on the file readers (FUZZ_SECONDS=60 each)"
	@echo "  make bench     speed figures (BENCH=walk for one)"
	@echo "  make install   into PREFIX ($(PREFIX))"
	@echo "  make deb       Debian packages: program, library, Python where python3-dev is there (out/*.deb)"
	@echo "  make docs      the documentation as a web site (build/docs/html/index.html)"
	@echo "  make deps      install the Debian packages of packages.txt that are missing; dev-deps: those of"
	@echo "                 packages-dev.txt, for tests and lint, too (the other targets do what they need)"
	@echo "  make clean     remove what was built"
	@echo
	@echo "  JOBS=N         parallel jobs ($(JOBS))"

deps:
	@scripts/install_packages.sh packages.txt

dev-deps: deps
	@scripts/install_packages.sh packages-dev.txt

build: deps
	@scripts/build.sh release $(JOBS) heatskin_cli

python: dev-deps
	@scripts/python.sh $(JOBS)

viewer: dev-deps
	@scripts/viewer.sh
	@scripts/build.sh release $(JOBS) heatskin_cli

demo: build
	@build/heatskin demo -o demo-out

test: dev-deps
	@scripts/test.sh $(JOBS)

sanitize: dev-deps
	@scripts/sanitize.sh $(JOBS)

asan: dev-deps
	@scripts/build.sh asan $(JOBS)
	@scripts/run_ctest.sh build-asan asan -j $(JOBS)

tsan: dev-deps
	@scripts/build.sh tsan $(JOBS)
	@scripts/run_ctest.sh build-tsan tsan -j $(JOBS)

torture: build
	@scripts/torture.sh --jobs $(JOBS)

cluster-test: dev-deps build
	@scripts/install_packages.sh packages-cluster.txt
	@python3 -B tests/cluster/cluster_test.py build/heatskin || [ $$? -eq 77 ]
	@python3 -B tests/cluster/engines_test.py build/heatskin || [ $$? -eq 77 ]

lint: dev-deps build
	@scripts/format.sh check
	@scripts/lint.sh build $(JOBS)

format: dev-deps
	@scripts/format.sh

fuzz: dev-deps
	@scripts/fuzz.sh $(FUZZ_SECONDS)

bench: build
	@mkdir -p out
	@for name in $(or $(BENCH),$$(build/heatskin bench --names)); do \
	  build/heatskin bench $$name --json out/bench_$$name.json || exit 1; done

install: deps
	@scripts/build.sh release $(JOBS) heatskin heatskin_cli heatskin_manual
	@cmake --install build --prefix "$(PREFIX)"

deb: deps
	@scripts/viewer.sh || [ $$? -eq 77 ]
	@scripts/build.sh release $(JOBS) heatskin heatskin_cli heatskin_manual
	@scripts/python.sh $(JOBS) || [ $$? -eq 77 ]
	@scripts/build.sh release $(JOBS) heatskin_manual
	@scripts/deb.sh

docs: dev-deps
	@scripts/build.sh release $(JOBS) heatskin_cli heatskin_manual
	@scripts/docs.sh

clean:
	rm -rf build build-python build-asan build-tsan build-debug demo-out out
