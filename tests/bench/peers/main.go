// peers is the counterpart of the operator in the control-plane benchmarks, written with client-go. It
// fills a cluster, measures the API server's own rates, and runs informers over the same objects as
// the operator's caches.
//
//	peers populate --nodes=5000 --pods=50000 --jobs=1000   objects like a real cluster's
//	peers create   --pods=2000 --clients=16                raw create rate
//	peers submit   --jobs=500 --kind=TrainingJob|Job       jobs of 4 workers -> all of their pods seen
//	               --kind=Lean                             the peer itself makes the pods of TrainingJobs
//	peers nodes    --nodes=1000                            nodes that take pods at once
//	peers pending  --pods=10000 --scheduler=NAME           pods that wait for a scheduler
//	peers gangs    --jobs=1250 --workers=8                 the same as training jobs
//	peers bind     --pods=10000 --nodes=1000               raw bind rate of those pods
//	peers existing --pods=10000 [--bound]                  waits for pods: prints {} once it watches, then the times
//	peers bytes                                            JSON bytes of everything the operator watches
//	peers informers                                        client-go informers: time to synced, memory
//
// Each command prints a JSON object. $KUBECONFIG names the cluster.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"

	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// The limits of every client here, far above what two cores can do.
const (
	queriesPerSecond = 5000
	burst            = 10000
)

type clients struct {
	config  *rest.Config
	core    *kubernetes.Clientset
	dynamic *dynamic.DynamicClient
}

func connect(protobuf bool) (*clients, error) {
	config, err := clientcmd.BuildConfigFromFlags("", os.Getenv("KUBECONFIG"))
	if err != nil {
		return nil, err
	}
	config.QPS, config.Burst = queriesPerSecond, burst
	dynamicClient, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	coreConfig := rest.CopyConfig(config)
	if protobuf {
		coreConfig.ContentType = "application/vnd.kubernetes.protobuf"
		coreConfig.AcceptContentTypes = "application/vnd.kubernetes.protobuf,application/json"
	}
	core, err := kubernetes.NewForConfig(coreConfig)
	if err != nil {
		return nil, err
	}
	return &clients{config: config, core: core, dynamic: dynamicClient}, nil
}

type flags struct {
	namespace, kind, scheduler, etcd            string
	nodes, pods, jobs, workers, gpus, clientNum int
	protobuf, bound                             bool
}

func parse(arguments []string) (flags, error) {
	var f flags
	set := flag.NewFlagSet("peers", flag.ContinueOnError)
	set.StringVar(&f.namespace, "namespace", "default", "where pods and jobs are")
	set.StringVar(&f.kind, "kind", "TrainingJob", "what is submitted: TrainingJob, Job or Lean")
	set.IntVar(&f.nodes, "nodes", 0, "nodes to create")
	set.IntVar(&f.pods, "pods", 0, "pods to create")
	set.IntVar(&f.jobs, "jobs", 0, "training jobs to create")
	set.StringVar(&f.scheduler, "scheduler", "none", "the scheduler that pods wait for")
	set.StringVar(&f.etcd, "etcd", "", "the server's etcd, to write most of the pods there; empty: all through the server")
	set.IntVar(&f.workers, "workers", workersPerJob, "of each job")
	set.IntVar(&f.gpus, "gpus", 0, "that each pod asks for")
	set.BoolVar(&f.bound, "bound", false, "wait for nodes, too")
	set.IntVar(&f.clientNum, "clients", 16, "requests at the same time")
	set.BoolVar(&f.protobuf, "protobuf", true, "protobuf where the server has it")
	return f, set.Parse(arguments)
}

var commands = map[string]func(context.Context, *clients, flags) (any, error){
	"populate": populate,
	"create":   createRate,
	"submit":   submit,
	"nodes":    boundNodes,
	"pending":  pending,
	"gangs":    gangs,
	"bind":     bindRaw,
	"existing": existing,
	"bytes": func(ctx context.Context, c *clients, _ flags) (any, error) {
		return jsonBytes(ctx, c)
	},
	"informers": func(ctx context.Context, c *clients, _ flags) (any, error) {
		return informers(ctx, c)
	},
}

func commandNames() string {
	return strings.Join(slices.Sorted(maps.Keys(commands)), "|")
}

func run(ctx context.Context, command string, f flags) (any, error) {
	do, is := commands[command]
	if !is {
		return nil, fmt.Errorf("%q is none of %s", command, commandNames())
	}
	c, err := connect(f.protobuf)
	if err != nil {
		return nil, err
	}
	return do(ctx, c, f)
}

// residentBytes returns the resident memory of this process after a garbage collection.
func residentBytes() int64 {
	runtime.GC()
	var total, resident int64
	statm, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return 0
	}
	fmt.Sscan(string(statm), &total, &resident)
	return resident * int64(os.Getpagesize())
}

func main() {
	if len(os.Args) < 2 {
		fmt.Fprintf(os.Stderr, "usage: peers %s [--flags]\n", commandNames())
		os.Exit(2)
	}
	f, err := parse(os.Args[2:])
	if err != nil {
		os.Exit(2)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 15*time.Minute)
	defer cancel()
	result, err := run(ctx, os.Args[1], f)
	if err != nil {
		fmt.Fprintln(os.Stderr, "peers:", err)
		os.Exit(1)
	}
	json.NewEncoder(os.Stdout).Encode(result)
}
