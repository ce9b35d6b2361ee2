# make build   bin/holdfast and bin/holdfast-temporal
# make test    everything, beside one PostgreSQL and one Temporal server
# make lint    what reads the code without running it
# make clean   remove bin/

TEMPORAL_SOURCE := $(wildcard dev/temporal/*.go) dev/temporal/go.mod dev/temporal/go.sum

.PHONY: build test check lint clean

build: bin/holdfast-temporal
	go build -o bin/holdfast .

# The server's dependencies take minutes to compile, so it is built only when
# its own source has changed.
bin/holdfast-temporal: $(TEMPORAL_SOURCE)
	cd dev/temporal && go build -ldflags '-s -w' -o ../../$@ .
	touch $@

test: check bin/holdfast-temporal
	cd dev/temporal && go test ./...
	go run ./dev/testservices -- go test -p 2 -timeout 15m ./...

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
