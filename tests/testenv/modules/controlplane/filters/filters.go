// Package filters reports which nodes kube-scheduler's own filter plugins refuse for a pod, and on
// which nodes its default profile puts pods. It reads one JSON request a line and writes one JSON
// answer a line. Tests and benchmarks compare its answers with muster's.
package filters

import (
	"bufio"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"

	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/scheduler/metrics"
)

// request is a cluster with pods or gangs to place, or quantities to parse.
type request struct {
	Nodes       []*v1.Node                      `json:"nodes"`
	Pods        []*v1.Pod                       `json:"pods"` // bound or nominated
	Namespaces  []*v1.Namespace                 `json:"namespaces"`
	Claims      []*v1.PersistentVolumeClaim     `json:"claims"`
	Volumes     []*v1.PersistentVolume          `json:"volumes"`
	Classes     []*storagev1.StorageClass       `json:"classes"`
	CSINodes    []*storagev1.CSINode            `json:"csiNodes"`
	Attachments []*storagev1.VolumeAttachment   `json:"attachments"`
	Drivers     []*storagev1.CSIDriver          `json:"drivers"`
	Capacities  []*storagev1.CSIStorageCapacity `json:"capacities"`
	Waiting     []*v1.Pod                       `json:"waiting"`
	Comparison  bool                            `json:"taintComparison"`
	Quantities  []string                        `json:"quantities"`
	Gangs       []gang                          `json:"gangs"` // to place by the default profile
	Seed        int64                           `json:"seed"`
}

type amounts struct {
	CPU       int64            `json:"cpu"`
	Memory    int64            `json:"memory"`
	Ephemeral int64            `json:"ephemeral"`
	Scalars   map[string]int64 `json:"scalars"`
}

type answer struct {
	// Refusals has, for each waiting pod and each node, the sorted names of the plugins that refuse.
	Refusals []map[string][]string `json:"refusals,omitempty"`
	// Held has the resources that the pods of each node request.
	Held       map[string]amounts `json:"held,omitempty"`
	Quantities []quantity         `json:"quantities,omitempty"`
	Placed     [][]string         `json:"placed,omitempty"`
}

func serve(line []byte) (any, error) {
	var asked request
	if err := json.Unmarshal(line, &asked); err != nil {
		return nil, err
	}
	if asked.Quantities != nil {
		return answer{Quantities: readQuantities(asked.Quantities)}, nil
	}
	if asked.Gangs != nil {
		placed, err := placeAll(context.Background(), &asked)
		return answer{Placed: placed}, err
	}
	world, err := newWorld(&asked)
	if err != nil {
		return nil, err
	}
	var said answer
	said.Held = world.held()
	for _, pod := range asked.Waiting {
		said.Refusals = append(said.Refusals, world.refusals(context.Background(), pod))
	}
	return said, nil
}

// Main answers until stdin ends.
func Main() {
	var logs flag.FlagSet
	klog.InitFlags(&logs)
	_ = logs.Set("logtostderr", "false")
	_ = logs.Set("alsologtostderr", "false")
	_ = logs.Set("stderrthreshold", "FATAL")
	klog.SetOutput(discard{})
	metrics.Register() // the plugins need the metrics to exist
	in := bufio.NewReaderSize(os.Stdin, 1<<20)
	out := bufio.NewWriter(os.Stdout)
	encoder := json.NewEncoder(out)
	for {
		line, err := in.ReadBytes('\n')
		if len(line) > 1 {
			said, failed := serve(line)
			if failed != nil {
				fmt.Fprintln(os.Stderr, failed)
				os.Exit(1)
			}
			if failed := encoder.Encode(said); failed != nil {
				os.Exit(1)
			}
			out.Flush()
		}
		if err != nil {
			return
		}
	}
}

type discard struct{}

func (discard) Write(p []byte) (int, error) { return len(p), nil }
