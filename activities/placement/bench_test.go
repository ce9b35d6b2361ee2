package placement_test

// A big cloud: what it takes to place one more server.

import (
	"fmt"
	"os"
	"slices"
	"testing"
	"time"

	"holdfast.dev/internal/steps"
)

// How big the cloud is, and how many servers are placed in it.
const (
	manyHosts   = 10_000
	manyServers = 100_000
	placed      = 300
)

// BenchmarkClaim places servers one after the other, as the step does it: the hosts
// in memory are read again every second. `make bench` has it write a line into its
// report.
func BenchmarkClaim(b *testing.B) {
	w := newWorld(b)
	w.fill()
	fences := make([]steps.Fence, placed+1)
	for i := range fences {
		_, fences[i] = w.building()
	}
	began := time.Now()
	w.mustClaim(fences[0], 1)
	cold := time.Since(began)
	// Once: a claim that is there is only found.
	claims := timed(placed, func(i int) { w.mustClaim(fences[i+1], 1) })
	// What is least of a claim anywhere: that its commit is on the disk.
	commits := timed(placed, func(int) { w.exec(`SELECT pg_logical_emit_message(true, '', '')`) })
	// Each host says every ten seconds that it lives, and a claim a second later reads it.
	_, f := w.building()
	w.exec(`UPDATE compute.hosts SET last_seen = last_seen + interval '1 second', inventory = jsonb_set(inventory, '{uptime}', to_jsonb(now()::text)) WHERE number % 10 = 0`)
	time.Sleep(time.Second)
	began = time.Now()
	w.mustClaim(f, 1)
	again := time.Since(began)
	w.report(fmt.Sprintf("- choose and claim among %d hosts with %d servers, %d one after the other: p50 **%s**, p90 %s, p99 %s; the first, which reads the hosts, %s; one that reads a second's heartbeats %s; an empty commit on the same disk p50 %s, p90 %s\n",
		manyHosts, manyServers, placed, claims.at(0.5), claims.at(0.9), claims.at(0.99), cold.Round(time.Millisecond), again.Round(time.Millisecond), commits.at(0.5), commits.at(0.9)))
}

// durations are sorted.
type durations []time.Duration

// timed says how long each of n calls took.
func timed(n int, call func(i int)) durations {
	took := make(durations, n)
	for i := range took {
		began := time.Now()
		call(i)
		took[i] = time.Since(began)
	}
	slices.Sort(took)
	return took
}

func (d durations) at(share float64) time.Duration {
	return d[int(share*float64(len(d)-1))].Round(10 * time.Microsecond)
}

// fill makes the hosts and their servers.
func (w *world) fill() {
	w.Helper()
	for _, statement := range []string{
		`INSERT INTO compute.hosts (id, name, vcpus, memory_mb, disk_gb, cpu_allocation_ratio, last_seen, inventory, link_address)
		 SELECT gen_random_uuid(), 'host-' || n, 64, 262144, 4000, 4, now() + interval '1 hour',
			jsonb_build_object('uptime', n::text, 'guests', (SELECT jsonb_agg(jsonb_build_object('server_id', gen_random_uuid(), 'power_state', 1, 'generation', g + n)) FROM generate_series(1, 10) g)) ||
			'{"details": {"hypervisor_type": "QEMU", "hypervisor_version": 9002000, "supported_instances": [["x86_64", "qemu", "hvm"], ["x86_64", "kvm", "hvm"]],
				"traits": ["HW_CPU_X86_AVX", "HW_CPU_X86_AVX2", "HW_CPU_X86_SSE42", "COMPUTE_NODE", "COMPUTE_NET_ATTACH_INTERFACE"],
				"cpu": {"arch": "x86_64", "model": "Cascadelake-Server", "features": ["avx", "avx2", "sse4.2"]}}}', '10.0.0.1:8775'
		 FROM generate_series(1, ` + fmt.Sprint(manyHosts) + `) n`,
		`INSERT INTO compute.servers (id, project_id, user_id, name, hostname, flavor, vcpus, memory_mb, disk_gb, vm_state, power_state, host_id)
		 SELECT gen_random_uuid(), 'q', 'user', 'server', 'server', '{"id": "1", "name": "m1.small"}', 2, 2048, 20, 'active', 1, h.id
		 FROM compute.hosts h, generate_series(1, ` + fmt.Sprint(manyServers/manyHosts) + `)`,
		`INSERT INTO compute.allocations (consumer_id, server_id, host_id, operation_id, vcpus, memory_mb, disk_gb)
		 SELECT id, id, host_id, 'server/' || id || '/build/1', vcpus, memory_mb, disk_gb FROM compute.servers`,
		`UPDATE compute.hosts h SET vcpus_used = a.vcpus, memory_mb_used = a.memory_mb, disk_gb_used = a.disk_gb, servers = a.n
		 FROM (SELECT host_id, sum(vcpus) AS vcpus, sum(memory_mb) AS memory_mb, sum(disk_gb) AS disk_gb, count(*) AS n
			FROM compute.allocations GROUP BY host_id) a WHERE a.host_id = h.id`,
		`ANALYZE`,
	} {
		w.exec(statement)
	}
}

func (w *world) exec(statement string) {
	w.Helper()
	if _, err := w.db.Pool.Exec(w.Context(), statement); err != nil {
		w.Fatal(err)
	}
}

// report adds a line to the report of `make bench`, or says it.
func (w *world) report(line string) {
	w.Helper()
	path := os.Getenv("HOLDFAST_TEST_REPORT")
	if path == "" {
		w.Log(line)
		return
	}
	file, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err == nil {
		_, err = file.WriteString(line)
	}
	if err == nil {
		err = file.Close()
	}
	if err != nil {
		w.Fatal(err)
	}
}
