# The commands of a developer. `make test` is the one that has to pass.

GOLANGCI_VERSION := v2.15.0
GOLANGCI := .tools/golangci-lint-$(GOLANGCI_VERSION)

.PHONY: help
help: ## this list
	@sed -n 's/^\([a-z-]*\): .*## /\1\t/p' $(MAKEFILE_LIST) | expand -t 12

.PHONY: test
test: ## every test, with the race detector, against a real redis-server
	@scripts/ensure-tools.sh
	go test -race ./...

.PHONY: test-faults
test-faults: ## the faults of Redis, measured: prints the table of docs/reliability.md; takes some minutes
	cd internal/faults && go test -run "^TestMatrix$$" -matrix -count 1 -timeout 30m .

.PHONY: lint
lint: $(GOLANGCI) ## gofmt, go vet and golangci-lint
	@unformatted=$$(gofmt -l .); if [ -n "$$unformatted" ]; then echo "not formatted, run gofmt -w on:"; echo "$$unformatted"; exit 1; fi
	go vet ./...
	$(GOLANGCI) run --allow-parallel-runners
	cd bench && go vet . && ../$(GOLANGCI) run --allow-parallel-runners

.PHONY: bench
bench: ## the table of docs/performance.md against its bars, some minutes; BENCH_FLAGS=-smoke proves in seconds that it runs
	@scripts/ensure-tools.sh
	cd bench && go test -run '^(TestSameJob|TestTable)$$' -count=1 -timeout 30m -table $(BENCH_FLAGS) .

.PHONY: run
run: ## the example application, on 127.0.0.1:7102
	go run ./examples/student

# The first build takes some minutes; the binary is kept beside the sources and ignored by git.
$(GOLANGCI):
	GOBIN=$(CURDIR)/.tools go install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(GOLANGCI_VERSION)
	mv .tools/golangci-lint $@
