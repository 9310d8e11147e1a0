package filters

import (
	"context"
	"errors"
	"sort"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/client-go/informers"
	clientset "k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"
	snapshots "k8s.io/kubernetes/pkg/scheduler/backend/cache"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/parallelize"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/feature"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/interpodaffinity"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/nodeaffinity"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/nodename"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/nodeports"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/noderesources"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/nodeunschedulable"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/nodevolumelimits"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/podtopologyspread"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/tainttoleration"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/volumebinding"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/volumerestrictions"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/volumezone"
)

// handle has the parts of a scheduler that the plugins call.
type handle struct {
	fwk.Handle
	factory informers.SharedInformerFactory
	lister  fwk.SharedLister
	csi     fwk.CSIManager
}

func (h *handle) SharedInformerFactory() informers.SharedInformerFactory { return h.factory }
func (h *handle) SnapshotSharedLister() fwk.SharedLister                 { return h.lister }
func (h *handle) SharedCSIManager() fwk.CSIManager                       { return h.csi }
func (h *handle) SharedDRAManager() fwk.SharedDRAManager                 { return nil }
func (h *handle) ClientSet() clientset.Interface                         { return nil }
func (h *handle) Parallelizer() fwk.Parallelizer                         { return parallelize.NewParallelizer(1) }

// world is one cluster with the plugins over it, in the order of the default profile.
type world struct {
	snapshot  *snapshots.Snapshot
	nominated []*v1.Pod
	plugins   []fwk.FilterPlugin
}

func fill[T any](informer cache.SharedIndexInformer, objects []T) error {
	for _, object := range objects {
		if err := informer.GetIndexer().Add(object); err != nil {
			return err
		}
	}
	return nil
}

func newHandle(asked *request, lister fwk.SharedLister) (*handle, error) {
	factory := informers.NewSharedInformerFactory(nil, 0)
	core, storage := factory.Core().V1(), factory.Storage().V1()
	err := errors.Join(
		fill(core.Namespaces().Informer(), asked.Namespaces),
		fill(core.PersistentVolumeClaims().Informer(), asked.Claims),
		fill(storage.StorageClasses().Informer(), asked.Classes),
		fill(storage.CSINodes().Informer(), asked.CSINodes),
		fill(storage.VolumeAttachments().Informer(), asked.Attachments),
		fill(storage.CSIDrivers().Informer(), asked.Drivers),
		fill(storage.CSIStorageCapacities().Informer(), asked.Capacities),
	)
	csi := nodevolumelimits.NewCSIManager(storage.CSINodes().Lister())
	return &handle{factory: factory, lister: lister, csi: csi}, err
}

func newWorld(asked *request) (*world, error) {
	made := &world{}
	var bound []*v1.Pod
	for _, pod := range asked.Pods {
		if pod.Spec.NodeName != "" {
			bound = append(bound, pod)
		} else {
			made.nominated = append(made.nominated, pod)
		}
	}
	made.snapshot = snapshots.NewSnapshot(bound, asked.Nodes)
	around, err := newHandle(asked, made.snapshot)
	if err != nil {
		return nil, err
	}
	features := feature.NewSchedulerFeaturesFromGates(utilfeature.DefaultFeatureGate)
	features.EnableTaintTolerationComparisonOperators = asked.Comparison
	if err := made.addPlugins(around, features); err != nil {
		return nil, err
	}
	// The binder's cache adds an index by class, which it can do only before the first volume is added.
	return made, fill(around.factory.Core().V1().PersistentVolumes().Informer(), asked.Volumes)
}

type factory func(context.Context, runtime.Object, fwk.Handle, feature.Features) (fwk.Plugin, error)

func (w *world) addPlugins(around fwk.Handle, features feature.Features) error {
	fit := &config.NodeResourcesFitArgs{ScoringStrategy: &config.ScoringStrategy{
		Type: config.LeastAllocated, Resources: []config.ResourceSpec{{Name: "cpu", Weight: 1}}}}
	for _, one := range []struct {
		make factory
		args runtime.Object
	}{
		{nodeunschedulable.New, nil},
		{nodename.New, nil},
		{tainttoleration.New, nil},
		{nodeaffinity.New, &config.NodeAffinityArgs{}},
		{nodeports.New, nil},
		{noderesources.NewFit, fit},
		{volumerestrictions.New, nil},
		{nodevolumelimits.NewCSI, nil},
		{volumebinding.New, &config.VolumeBindingArgs{BindTimeoutSeconds: 600}},
		{volumezone.New, nil},
		{podtopologyspread.New, &config.PodTopologySpreadArgs{DefaultingType: config.SystemDefaulting}},
		{interpodaffinity.New, &config.InterPodAffinityArgs{}},
	} {
		plugin, err := one.make(context.Background(), one.args, around, features)
		if err != nil {
			return err
		}
		w.plugins = append(w.plugins, plugin.(fwk.FilterPlugin))
	}
	return nil
}

func (w *world) held() map[string]amounts {
	all := map[string]amounts{}
	nodes, _ := w.snapshot.List()
	for _, node := range nodes {
		has := node.GetRequested()
		one := amounts{CPU: has.GetMilliCPU(), Memory: has.GetMemory(), Ephemeral: has.GetEphemeralStorage(), Scalars: map[string]int64{}}
		for name, amount := range has.GetScalarResources() {
			one.Scalars[string(name)] = amount
		}
		all[node.Node().Name] = one
	}
	return all
}

// refusals runs the plugins as a cycle of the scheduler does, but goes on after the first refusal.
func (w *world) refusals(ctx context.Context, pod *v1.Pod) map[string][]string {
	nodes, _ := w.snapshot.List()
	state := framework.NewCycleState()
	refused := map[string]map[string]bool{}
	for _, node := range nodes {
		refused[node.Node().Name] = map[string]bool{}
	}
	var asked []fwk.FilterPlugin
	for _, plugin := range w.plugins {
		first, ok := plugin.(fwk.PreFilterPlugin)
		if !ok {
			asked = append(asked, plugin)
			continue
		}
		only, status := first.PreFilter(ctx, state, pod, nodes)
		switch {
		case status.IsSkip():
			continue
		case !status.IsSuccess():
			for _, of := range refused {
				of[plugin.Name()] = true
			}
			continue
		}
		for name, of := range refused {
			if !only.AllNodes() && !only.NodeNames.Has(name) {
				of[plugin.Name()] = true
			}
		}
		asked = append(asked, plugin)
	}
	for _, node := range nodes {
		w.filter(ctx, asked, state, pod, node, refused[node.Node().Name])
		if with, changed := w.withNominated(ctx, asked, state, pod, node); with != nil {
			w.filter(ctx, asked, changed, pod, with, refused[node.Node().Name])
		}
	}
	return sorted(refused)
}

func (w *world) filter(ctx context.Context, asked []fwk.FilterPlugin, state fwk.CycleState, pod *v1.Pod, node fwk.NodeInfo, refused map[string]bool) {
	for _, plugin := range asked {
		if !plugin.Filter(ctx, state, pod, node).IsSuccess() {
			refused[plugin.Name()] = true
		}
	}
}

// withNominated adds the pods that are nominated for the node and have no lower priority, as
// addGENominatedPods in framework/runtime does. It returns nil if there are none.
func (w *world) withNominated(ctx context.Context, asked []fwk.FilterPlugin, state fwk.CycleState, pod *v1.Pod, node fwk.NodeInfo) (fwk.NodeInfo, fwk.CycleState) {
	var with fwk.NodeInfo
	var changed fwk.CycleState
	for _, other := range w.nominated {
		if other.Status.NominatedNodeName != node.Node().Name || priority(other) < priority(pod) || other.UID == pod.UID {
			continue
		}
		if with == nil {
			with, changed = node.Snapshot(), state.Clone()
		}
		info, _ := framework.NewPodInfo(other)
		with.AddPodInfo(info)
		for _, plugin := range asked {
			first, ok := plugin.(fwk.PreFilterPlugin)
			if ok && first.PreFilterExtensions() != nil {
				first.PreFilterExtensions().AddPod(ctx, changed, pod, info, with)
			}
		}
	}
	return with, changed
}

func priority(pod *v1.Pod) int32 {
	if pod.Spec.Priority == nil {
		return 0
	}
	return *pod.Spec.Priority
}

func sorted(refused map[string]map[string]bool) map[string][]string {
	said := map[string][]string{}
	for node, plugins := range refused {
		names := []string{}
		for name := range plugins {
			names = append(names, name)
		}
		sort.Strings(names)
		said[node] = names
	}
	return said
}
