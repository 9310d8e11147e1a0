package filters

import (
	"context"
	"fmt"
	"math/rand"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/apis/config/latest"
	snapshots "k8s.io/kubernetes/pkg/scheduler/backend/cache"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins"
	scheduler "k8s.io/kubernetes/pkg/scheduler/framework/runtime"
)

// gang stands for Count equal pods that arrive one after the other.
type gang struct {
	Pod   *v1.Pod `json:"pod"`
	Count int     `json:"count"`
}

// placer runs kube-scheduler's default profile over one cluster, with the profile's own
// configuration, plugins and weights.
type placer struct {
	profile framework.Framework
	nodes   []fwk.NodeInfo
	next    int // index of the node at which the next search begins
	random  *rand.Rand
}

func newPlacer(ctx context.Context, asked *request) (*placer, error) {
	snapshot := snapshots.NewSnapshot(asked.Pods, asked.Nodes)
	around, err := newHandle(asked, snapshot)
	if err != nil {
		return nil, err
	}
	defaults, err := latest.Default()
	if err != nil {
		return nil, err
	}
	profile, err := scheduler.NewFramework(ctx, plugins.NewInTreeRegistry(), &defaults.Profiles[0],
		scheduler.WithInformerFactory(around.factory), scheduler.WithSnapshotSharedLister(snapshot),
		scheduler.WithSharedCSIManager(around.csi), scheduler.WithPodNominator(noNominations{}), scheduler.WithParallelism(1))
	if err != nil {
		return nil, err
	}
	made := &placer{profile: profile, random: rand.New(rand.NewSource(asked.Seed))}
	for _, node := range asked.Nodes { // the snapshot itself lists nodes in the random order of a map
		info, err := snapshot.Get(node.Name)
		if err != nil {
			return nil, err
		}
		made.nodes = append(made.nodes, info)
	}
	return made, nil
}

// feasibleNodesToFind returns after how many feasible nodes the search ends, as
// Scheduler.numFeasibleNodesToFind does without a percentageOfNodesToScore.
func feasibleNodesToFind(nodes int) int {
	return min(nodes, max(100, nodes*max(5, 50-nodes/125)/100))
}

// place returns the name of the node that one pod gets, or an empty string if no node is feasible.
// It follows Scheduler.schedulePod.
func (p *placer) place(ctx context.Context, pod *v1.Pod) (string, error) {
	state := framework.NewCycleState()
	_, status, _ := p.profile.RunPreFilterPlugins(ctx, state, pod)
	if !status.IsSuccess() {
		return "", nil
	}
	var feasible []fwk.NodeInfo
	looked := 0
	for ; looked < len(p.nodes) && len(feasible) < feasibleNodesToFind(len(p.nodes)); looked++ {
		node := p.nodes[(p.next+looked)%len(p.nodes)]
		if p.profile.RunFilterPluginsWithNominatedPods(ctx, state, pod, node).IsSuccess() {
			feasible = append(feasible, node)
		}
	}
	p.next = (p.next + looked) % len(p.nodes)
	if len(feasible) == 0 {
		return "", nil
	}
	chosen, err := p.best(ctx, state, pod, feasible)
	if err != nil {
		return "", err
	}
	bound := pod.DeepCopy()
	bound.Spec.NodeName = chosen.Node().Name
	info, err := framework.NewPodInfo(bound)
	if err != nil {
		return "", err
	}
	chosen.AddPodInfo(info)
	return chosen.Node().Name, nil
}

// best returns a random one of the nodes with the highest score. It follows
// Scheduler.prioritizeNodes and the selection after it.
func (p *placer) best(ctx context.Context, state fwk.CycleState, pod *v1.Pod, feasible []fwk.NodeInfo) (fwk.NodeInfo, error) {
	if status := p.profile.RunPreScorePlugins(ctx, state, pod, feasible); !status.IsSuccess() {
		return nil, status.AsError()
	}
	scores, status := p.profile.RunScorePlugins(ctx, state, pod, feasible)
	if !status.IsSuccess() {
		return nil, status.AsError()
	}
	var best []int
	for i, score := range scores {
		switch {
		case len(best) == 0 || score.TotalScore > scores[best[0]].TotalScore:
			best = []int{i}
		case score.TotalScore == scores[best[0]].TotalScore:
			best = append(best, i)
		}
	}
	return feasible[best[p.random.Intn(len(best))]], nil
}

// placeAll returns the node of each member of each gang. No pod waits for the rest of its gang, and
// a pod that has a node keeps it when another member finds none.
func placeAll(ctx context.Context, asked *request) ([][]string, error) {
	p, err := newPlacer(ctx, asked)
	if err != nil {
		return nil, err
	}
	var placed [][]string
	for i, gang := range asked.Gangs {
		nodes := make([]string, gang.Count)
		for member := range nodes {
			pod := gang.Pod.DeepCopy()
			pod.Name = fmt.Sprintf("%s-%d-%d", pod.Name, i, member)
			pod.UID = types.UID(pod.Name)
			if nodes[member], err = p.place(ctx, pod); err != nil {
				return nil, err
			}
		}
		placed = append(placed, nodes)
	}
	return placed, nil
}

// noNominations is a PodNominator without nominated pods.
type noNominations struct{ fwk.PodNominator }

func (noNominations) NominatedPodsForNode(string) []fwk.PodInfo { return nil }
