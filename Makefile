# make dev     a whole cloud on this machine, until Ctrl-C
# make build   bin/holdfast and bin/holdfast-temporal
# make test    everything, beside one PostgreSQL and one Temporal server
# make chaos   SEEDS=10: kills by as many seeds, and every verb at every point, written to docs/results/chaos.md
# make properties   CASES=100000: the scheduler's properties and concurrent claims in PostgreSQL, to docs/results
# make bench   figures, to docs/results
# make bench-stacks MINUTES=10   figures of stacks, of Holdfast and of openstack-heat from PyPI, whose every measure has so long; to docs/results
# make bench-nodes   figures of lists of nodes, of Holdfast and of ironic-api from PyPI, to docs/results
# make integration-keystone   a real Keystone from PyPI asked what Holdfast needs of it, to docs/results
# make integration-hot        templates given verdicts by openstack-heat from PyPI and by Holdfast, to docs/results
# make integration-heat       stacks of openstack-heat from PyPI and of Holdfast, worked on alike and compared, to docs/results
# make integration-provision  the machine of ironic from PyPI compared with Holdfast's, to docs/results
# make integration-ironicclient  the bare metal service tried with python-ironicclient, to docs/results
# make integration-baremetal  nodes whose BMCs are sushy-tools and virtualbmc from PyPI, over libvirt's domains, one of them with the real agent, to docs/results
# make integration-walk       the development cloud with real guests, walked through with the real command line, to docs/results
# make integration-moves      real guests moved between two hosts, to docs/results
# make integration-companions   the development cloud's companions tried with the real command line, to docs/results
# make suites  tempest and its plugin for bare metal from PyPI against the development cloud, to docs/results; TESTS=regexp runs some of it
# make lint    what reads the code without running it
# make clean   remove bin/

# Where tests find the contract data.
export HOLDFAST_CONTRACTS ?= $(abspath ../shared/contracts)

TEMPORAL_SOURCE := $(wildcard dev/temporal/*.go) dev/temporal/go.mod dev/temporal/go.sum

.PHONY: dev build test chaos properties bench bench-stacks bench-nodes integration-keystone integration-companions integration-walk integration-moves integration-hot integration-heat integration-provision integration-ironicclient integration-baremetal suites check lint clean

dev:
	dev/install-packages.sh
	$(MAKE) build
	bin/holdfast dev $(DEV_FLAGS)

build: bin/holdfast-temporal
	go build -o bin/holdfast .

# The server's dependencies take minutes to compile, so it is built only when
# its own source has changed.
bin/holdfast-temporal: $(TEMPORAL_SOURCE)
	cd dev/temporal && go build -ldflags '-s -w' -o ../../$@ .
	touch $@

# What waits longest begins first, so that nothing is waited for alone at the end.
LONGEST := $(addprefix ./,workflows/server integration/chaos workflows/node activities/libvirt/qemu integration/walk workflows/stack activities/resources activities/bmc integration/hostile integration/guests integration/devcloud)

test: check bin/holdfast-temporal
	cd dev/temporal && go test ./...
	go run ./dev/testservices -- go test -vet=off -count=1 -p 3 -timeout 20m $(LONGEST) ./...

SEEDS ?= 10
CHAOS_LOG := bin/chaos.log

chaos: bin/holdfast-temporal
	@commit=$$(git rev-parse --short HEAD); HOLDFAST_TEST_FULL=1 HOLDFAST_TEST_SEEDS=$(SEEDS) go test -count=1 -p 1 -timeout 300m -v ./integration/chaos ./integration/guests > $(CHAOS_LOG) 2>&1; code=$$?; \
	grep -E '^ *--- |^(ok|FAIL)' $(CHAOS_LOG); mkdir -p docs/results; \
	{ echo '# Chaos'; echo; \
	  echo "\`make chaos SEEDS=$(SEEDS)\`, $$(date -u +%F), commit $$commit, $$(nproc) cores. What each test does and asserts stands in \`integration/chaos\` and, with real guests, \`integration/guests\`."; echo; \
	  echo '```'; grep -E '^ *--- |^(ok|FAIL)' $(CHAOS_LOG); echo '```'; } > docs/results/chaos.md; exit $$code

CASES ?= 100000
ROUNDS ?= 25000
PROPERTIES_LOG := bin/properties.log

properties: bin/holdfast-temporal
	@mkdir -p docs/results; { go test -count=1 -timeout 60m -v -run 'Widens|CapacityHold|Spread' ./internal/scheduler -rapid.checks $(CASES) && \
	go run ./dev/testservices -- go test -count=1 -timeout 60m -v -run 'SumsAreAlways|StopExactly' ./internal/store/compute -rapid.checks $(ROUNDS); } > $(PROPERTIES_LOG) 2>&1; code=$$?; \
	{ echo '# Properties of the scheduler'; echo; \
	  echo "\`make properties CASES=$(CASES) ROUNDS=$(ROUNDS)\`, $$(date -u +%F), commit $$(git rev-parse --short HEAD), $$(nproc) cores: random clouds for each property of what is chosen, and rounds of up to twelve claims and releases at once in PostgreSQL. What each test does and asserts stands in \`internal/scheduler/properties_test.go\`, \`internal/scheduler/weighers_test.go\` and \`internal/store/compute/allocations_test.go\`."; echo; \
	  echo '```'; grep -E '^ *--- |rapid|^(ok|FAIL)' $(PROPERTIES_LOG); echo '```'; } > docs/results/properties.md; \
	grep -E '^ *--- |_test.go:|^(ok|FAIL)' $(PROPERTIES_LOG); exit $$code

BENCH_REPORT := $(CURDIR)/docs/results/bench.md

bench: bin/holdfast-temporal
	@mkdir -p docs/results; report=$$(mktemp); \
	HOLDFAST_TEST_REPORT=$$report go test -run '^$$' -bench . -benchtime 1x -timeout 60m ./integration/bench ./activities/placement && \
	{ echo '# Figures'; echo; \
	  echo "\`make bench\`, $$(date -u +%F), commit $$(git rev-parse --short HEAD), $$(nproc) cores: 100 simulated hosts, PostgreSQL with synchronous commit, Temporal, clients and all processes on the one machine."; echo; \
	  cat $$report; } > $(BENCH_REPORT); code=$$?; rm -f $$report; exit $$code

MINUTES ?= 10
BENCH_STACKS_LOG := bin/bench-stacks.log

bench-stacks: bin/holdfast-temporal
	dev/install-packages.sh integration/heat/original/packages.txt
	@mkdir -p docs/results; report=$$(mktemp); \
	HOLDFAST_TEST_MINUTES=$(MINUTES) HOLDFAST_TEST_REPORT=$$report go test -run '^$$' -bench Beside -benchtime 1x -timeout 300m -tags real -v ./integration/stackbench > $(BENCH_STACKS_LOG) 2>&1; code=$$?; \
	if [ -s $$report ]; then { echo '# Figures of stacks'; echo; \
	  echo "\`make bench-stacks MINUTES=$(MINUTES)\`, $$(date -u +%F), commit $$(git rev-parse --short HEAD), $$(nproc) cores: Holdfast beside openstack-heat $$(.venv/heat/bin/pip show openstack-heat | sed -n 's/^Version: //p') from PyPI, one after the other; PostgreSQL on a disk with synchronous commit, the broker or Temporal, clients and all processes on the one machine. What is measured, and how, stands in \`integration/stackbench\`."; echo; \
	  cat $$report; } > docs/results/bench-stacks.md; fi; rm -f $$report; \
	grep -E '^ +[a-z_]+\.go:|^(ok|FAIL)' $(BENCH_STACKS_LOG); exit $$code

BENCH_NODES_LOG := bin/bench-nodes.log

bench-nodes: bin/holdfast-temporal
	@mkdir -p docs/results; report=$$(mktemp); \
	HOLDFAST_TEST_REPORT=$$report go test -run '^$$' -bench Beside -benchtime 1x -timeout 30m -tags real -v ./integration/nodebench > $(BENCH_NODES_LOG) 2>&1; code=$$?; \
	if [ -s $$report ]; then { echo '# Figures of nodes'; echo; \
	  echo "\`make bench-nodes\`, $$(date -u +%F), commit $$(git rev-parse --short HEAD), $$(nproc) cores: Holdfast beside ironic-api $$(.venv/ironic/bin/pip show ironic | sed -n 's/^Version: //p') from PyPI, one after the other, each with the same 10,000 nodes of a port each in the same PostgreSQL, and asked by one client at a time. What is measured, and how, stands in \`integration/nodebench\`."; echo; \
	  cat $$report; } > docs/results/bench-nodes.md; fi; rm -f $$report; \
	grep -E '^ +[a-z_]+\.go:|^(ok|FAIL)' $(BENCH_NODES_LOG); exit $$code

KEYSTONE_LOG := bin/integration-keystone.log

integration-keystone:
	@mkdir -p bin docs/results; go test -count=1 -timeout 30m -tags real -v ./integration/keystone > $(KEYSTONE_LOG) 2>&1; code=$$?; \
	{ echo '# Keystone'; echo; \
	  echo "\`make integration-keystone\`, $$(date -u +%F), commit $$(git rev-parse --short HEAD): Keystone $$(.venv/keystone/bin/pip show keystone | sed -n 's/^Version: //p') from PyPI, SQLite, Fernet. What each case does and asserts stands in \`integration/keystone\`."; echo; \
	  echo '```'; grep -E '^ *--- |^(ok|FAIL)' $(KEYSTONE_LOG); echo '```'; } > docs/results/integration-keystone.md; \
	grep -E '^ *--- FAIL|^ +[a-z_]+\.go:|^(ok|FAIL)' $(KEYSTONE_LOG); exit $$code

HOT_LOG := bin/integration-hot.log

integration-hot:
	@mkdir -p bin docs/results; go test -count=1 -timeout 15m -tags real -v ./integration/hot > $(HOT_LOG) 2>&1; code=$$?; \
	{ echo '# Templates'; echo; \
	  echo "\`make integration-hot\`, $$(date -u +%F), commit $$(git rev-parse --short HEAD): verdicts of \`internal/hot\` beside those of openstack-heat $$(.venv/heat/bin/pip show openstack-heat | sed -n 's/^Version: //p') from PyPI. What is compared stands in \`integration/hot\`."; echo; \
	  sed -n -e 's/^=== RUN   Test\(.*\)/\n## \1\n/p' -e 's/^ *real_test.go:[0-9]*: |/|/p' $(HOT_LOG) | sed 's/^| difference |/\n&/'; echo; \
	  echo '```'; grep -E '^ *--- |^(ok|FAIL)' $(HOT_LOG); echo '```'; } > docs/results/integration-hot.md; \
	grep -E '^ *--- FAIL|^ +[a-z_]+\.go:|^(ok|FAIL)' $(HOT_LOG); exit $$code

HEAT_LOG := bin/integration-heat.log

integration-heat: bin/holdfast-temporal
	@mkdir -p bin docs/results; go test -count=1 -timeout 30m -parallel 10 -tags real -v ./integration/heat > $(HEAT_LOG) 2>&1; code=$$?; \
	{ echo '# Stacks'; echo; \
	  echo "\`make integration-heat\`, $$(date -u +%F), commit $$(git rev-parse --short HEAD): scenarios run on stacks of openstack-heat $$(.venv/heat/bin/pip show openstack-heat | sed -n 's/^Version: //p') from PyPI and of Holdfast. What is compared stands in \`integration/heat\`, the scenarios in \`integration/heat/testdata\`."; echo; \
	  sed -n 's/^ *real_test.go:[0-9]*: |/|/p' $(HEAT_LOG) | sed 's/^| scenario |/\n&/'; echo; \
	  echo '```'; grep -E '^ *--- |^(ok|FAIL)' $(HEAT_LOG); echo '```'; } > docs/results/integration-heat.md; \
	grep -E '^ *--- FAIL|^ +[a-z_]+\.go:|^(ok|FAIL)' $(HEAT_LOG); exit $$code

PROVISION_LOG := bin/integration-provision.log

integration-provision:
	@mkdir -p bin docs/results; go test -count=1 -timeout 15m -tags real -v ./integration/provision > $(PROVISION_LOG) 2>&1; code=$$?; \
	{ echo '# The life of a node'; echo; \
	  echo "\`make integration-provision\`, $$(date -u +%F), commit $$(git rev-parse --short HEAD): the machine of \`internal/provision\` beside that of ironic $$(.venv/ironic/bin/pip show ironic | sed -n 's/^Version: //p') from PyPI. What is compared stands in \`integration/provision\`."; echo; \
	  sed -n 's/^ *real_test.go:[0-9]*: | \(.*\) |/\1/p' $(PROVISION_LOG); echo; \
	  echo '```'; grep -E '^ *--- |^(ok|FAIL)' $(PROVISION_LOG); echo '```'; } > docs/results/integration-provision.md; \
	grep -E '^ *--- FAIL|^ +[a-z_]+\.go:|^(ok|FAIL)' $(PROVISION_LOG); exit $$code

IRONICCLIENT_LOG := bin/integration-ironicclient.log

integration-ironicclient: bin/holdfast-temporal
	@mkdir -p bin docs/results; go test -count=1 -timeout 20m -tags real -v ./integration/baremetal > $(IRONICCLIENT_LOG) 2>&1; code=$$?; \
	{ echo '# Bare metal'; echo; \
	  echo "\`make integration-ironicclient\`, $$(date -u +%F), commit $$(git rev-parse --short HEAD): python-ironicclient $$(.venv/clients/bin/pip show python-ironicclient | sed -n 's/^Version: //p') from PyPI, against the bare metal service. What each test does and asserts stands in \`integration/baremetal\`."; echo; \
	  echo '```'; grep -E '^ *--- |^(ok|FAIL)' $(IRONICCLIENT_LOG); echo '```'; } > docs/results/integration-ironicclient.md; \
	grep -E '^ *--- FAIL|^ +[a-z_]+\.go:|^(ok|FAIL)' $(IRONICCLIENT_LOG); exit $$code

BAREMETAL_LOG := bin/integration-baremetal.log

integration-baremetal: bin/holdfast-temporal
	dev/install-packages.sh integration/baremetal/real/packages.txt
	@mkdir -p bin docs/results; go test -count=1 -timeout 60m -tags real -v ./integration/baremetal/real > $(BAREMETAL_LOG) 2>&1; code=$$?; \
	{ echo '# Machines'; echo; \
	  echo "\`make integration-baremetal\`, $$(date -u +%F), commit $$(git rev-parse --short HEAD): python-ironicclient $$(.venv/clients/bin/pip show python-ironicclient | sed -n 's/^Version: //p') against nodes whose BMCs are sushy-tools $$(.venv/bmc/bin/pip show sushy-tools | sed -n 's/^Version: //p') and virtualbmc $$(.venv/bmc/bin/pip show virtualbmc | sed -n 's/^Version: //p') from PyPI, over domains of libvirt $$(libvirtd --version | sed 's/.* //') and $$(qemu-system-x86_64 --version | head -n 1) without KVM; one of them boots a ramdisk (\`dev/ramdisk\`) with $$(grep ^ironic-python-agent dev/ramdisk/agent.txt) from PyPI, is cleaned and deployed by it, and starts from what that has written. What each test does and asserts stands in \`integration/baremetal/real\`."; echo; \
	  echo '| of that machine | |'; echo '|---|---|'; sed -n 's/^ *agent_test.go:[0-9]*: |/|/p' $(BAREMETAL_LOG); echo; \
	  echo '```'; grep -E '^ *--- |^(ok|FAIL)' $(BAREMETAL_LOG); echo '```'; } > docs/results/integration-baremetal.md; \
	grep -E '^ *--- FAIL|^ +[a-z_]+\.go:|^(ok|FAIL)' $(BAREMETAL_LOG); exit $$code

COMPANIONS_LOG := bin/integration-companions.log

integration-companions: bin/holdfast-temporal
	@mkdir -p bin docs/results; go run ./dev/testservices -- go test -count=1 -timeout 30m -tags real -v ./integration/companions > $(COMPANIONS_LOG) 2>&1; code=$$?; \
	{ echo '# Companions'; echo; \
	  echo "\`make integration-companions\`, $$(date -u +%F), commit $$(git rev-parse --short HEAD): $$(.venv/clients/bin/openstack --version) from PyPI, against the identity, image, network and volume services of \`holdfast dev\`. What each test does and asserts stands in \`integration/companions\`."; echo; \
	  echo '```'; grep -E '^ *--- |^(ok|FAIL)' $(COMPANIONS_LOG); echo '```'; } > docs/results/integration-companions.md; \
	grep -E '^ *--- FAIL|^ +[a-z_]+\.go:|^(ok|FAIL)' $(COMPANIONS_LOG); exit $$code

WALK_LOG := bin/integration-walk.log

integration-walk: bin/holdfast-temporal
	@mkdir -p docs/results; HOLDFAST_TEST_FULL=1 go test -count=1 -timeout 60m -v ./integration/walk > $(WALK_LOG) 2>&1; code=$$?; \
	{ echo '# The walk'; echo; \
	  echo "\`make integration-walk\`, $$(date -u +%F), commit $$(git rev-parse --short HEAD), $$(nproc) cores: $$(.venv/clients/bin/openstack --version 2>&1) on libvirt $$(libvirtd --version | sed 's/.* //') and $$(qemu-system-x86_64 --version | head -n 1). What each test does and asserts stands in \`integration/walk\`."; echo; \
	  echo '```'; grep -E '^ *--- |^(ok|FAIL)' $(WALK_LOG); echo '```'; } > docs/results/integration-walk.md; \
	grep -E '^ *--- |^ +[a-z_]+\.go:|^(ok|FAIL)' $(WALK_LOG); exit $$code

MOVES_LOG := bin/integration-moves.log

integration-moves: bin/holdfast-temporal
	@mkdir -p docs/results; go test -count=1 -timeout 60m -p 1 -tags moves -v -run 'Hosts|Migration' ./activities/libvirt/qemu ./integration/walk > $(MOVES_LOG) 2>&1; code=$$?; \
	{ echo '# Moves'; echo; \
	  echo "\`make integration-moves\`, $$(date -u +%F), commit $$(git rev-parse --short HEAD), $$(nproc) cores: two hosts on one machine, with libvirt $$(libvirtd --version | sed 's/.* //') and $$(qemu-system-x86_64 --version | head -n 1). What each test does and asserts stands in \`integration/walk\` and \`activities/libvirt/qemu/migrate_test.go\`. Downtime and total time are libvirt's; an emulated guest stands still for much longer than one under KVM."; echo; \
	  echo '```'; grep -E '^ *--- |_test.go:[0-9]+: (downtime|uptime|took|the client|killed|[0-9]+ records)|^(ok|FAIL)' $(MOVES_LOG); echo '```'; } > docs/results/integration-moves.md; \
	grep -E '^ *--- |^ +[a-z_]+\.go:|^(ok|FAIL)' $(MOVES_LOG); exit $$code

SUITES_LOG := bin/suites.log
SUITES_REPORT := $(CURDIR)/docs/results/suites.md

suites: bin/holdfast-temporal
	@mkdir -p docs/results; report=$$(mktemp); \
	HOLDFAST_TEST_REPORT=$$report HOLDFAST_TEST_ONLY='$(TESTS)' go test -count=1 -timeout 120m -tags real -v ./integration/tempest > $(SUITES_LOG) 2>&1; code=$$?; \
	if [ -s $$report ]; then { echo '# Suites'; echo; \
	  echo "\`make suites\`, $$(date -u +%F), commit $$(git rev-parse --short HEAD), $$(nproc) cores: tempest $$(.venv/tempest/bin/pip show tempest | sed -n 's/^Version: //p') and ironic-tempest-plugin $$(.venv/tempest/bin/pip show ironic-tempest-plugin | sed -n 's/^Version: //p') from PyPI against \`holdfast dev --driver simulated --hosts 2 --baremetal 1\` and its companions. What is run, and why the rest is not, stands in \`integration/tempest\`."; echo; \
	  cat $$report; } > $(SUITES_REPORT); else cat $(SUITES_LOG); fi; rm -f $$report; \
	grep -E '^ +suites_test.go:[0-9]+: |^(ok|FAIL)' $(SUITES_LOG); exit $$code

check:
	@unformatted=$$(gofmt -l $$(git ls-files --cached --others --exclude-standard '*.go')); \
	if [ -n "$$unformatted" ]; then echo "not formatted by gofmt:"; echo "$$unformatted"; exit 1; fi
	go vet ./...
	cd dev/temporal && go vet ./...

lint: check
	go run honnef.co/go/tools/cmd/staticcheck@v0.8.2 ./...
	go run go.temporal.io/sdk/contrib/tools/workflowcheck@v0.6.0 ./workflows/...

clean:
	rm -rf bin
