package main

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// This file makes the objects of a cluster that several teams share. Each object has names, UIDs, labels, environment,
// owners and resources of its own, as long as in real clusters. Object i is the same in every run.

const (
	teams      = 40
	podsPerJob = 20
	// runningJobs of every ten jobs are run by another controller and have pods; the others are suspended.
	runningJobs = 4
)

// teamNamespace is the name of team t's namespace.
func teamNamespace(t int) string { return fmt.Sprintf("team-%02d", t%teams) }

type dice struct{ *rand.Rand }

func roll(kind, i int) dice {
	return dice{rand.New(rand.NewPCG(uint64(kind), uint64(i)))}
}

func (d dice) hex(n int) string { return d.word("0123456789abcdef", n) }

// suffix uses the letters of the names that Kubernetes generates.
func (d dice) suffix(n int) string { return d.word("bcdfghjklmnpqrstvwxz2456789", n) }

func (d dice) word(letters string, n int) string {
	var b strings.Builder
	for range n {
		b.WriteByte(letters[d.IntN(len(letters))])
	}
	return b.String()
}

func (d dice) uid() types.UID {
	return types.UID(fmt.Sprintf("%s-%s-4%s-a%s-%s", d.hex(8), d.hex(4), d.hex(3), d.hex(3), d.hex(12)))
}

func (d dice) of(words ...string) string { return words[d.IntN(len(words))] }

func (d dice) ip() string { return fmt.Sprintf("10.%d.%d.%d", d.IntN(256), d.IntN(256), 1+d.IntN(254)) }

func (d dice) since() metav1.Time {
	return metav1.NewTime(time.Date(2026, 1, 1, 0, 0, d.IntN(90*24*3600), 0, time.UTC))
}

func (d dice) controller(apiVersion, kind, name string) []metav1.OwnerReference {
	yes := true
	return []metav1.OwnerReference{{APIVersion: apiVersion, Kind: kind, Name: name, UID: d.uid(), Controller: &yes, BlockOwnerDeletion: &yes}}
}

func amounts(cpuMillis, memoryMi, gpus int) corev1.ResourceList {
	list := corev1.ResourceList{
		corev1.ResourceCPU:    *resource.NewMilliQuantity(int64(cpuMillis), resource.DecimalSI),
		corev1.ResourceMemory: *resource.NewQuantity(int64(memoryMi)<<20, resource.BinarySI),
	}
	if gpus > 0 {
		list["nvidia.com/gpu"] = *resource.NewQuantity(int64(gpus), resource.DecimalSI)
	}
	return list
}

func nodeName(i int) string {
	return fmt.Sprintf("ip-10-%d-%d-%d.compute.internal", i>>16, i>>8&255, i&255)
}

func realNode(i int) *corev1.Node {
	d := roll(1, i)
	room := amounts(191_450, 2_018_304, 8)
	room[corev1.ResourcePods] = resource.MustParse("110")
	room[corev1.ResourceEphemeralStorage] = resource.MustParse("7559308098Ki")
	room["vpc.amazonaws.com/efa"] = resource.MustParse("32")
	labels := map[string]string{
		"kubernetes.io/hostname": nodeName(i), "kubernetes.io/os": "linux", "kubernetes.io/arch": "amd64",
		"topology.kubernetes.io/region": "us-east-1", "topology.kubernetes.io/zone": fmt.Sprintf("us-east-1%c", 'a'+i/1000%6),
		"topology.k8s.aws/network-node-layer-1": fmt.Sprintf("nn-%08x", i/1024), "topology.k8s.aws/network-node-layer-2": fmt.Sprintf("nn-%08x", 1<<16+i/256),
		"topology.k8s.aws/network-node-layer-3": fmt.Sprintf("nn-%08x", 1<<20+i/16), "node.kubernetes.io/instance-type": "p5.48xlarge",
		"eks.amazonaws.com/nodegroup": fmt.Sprintf("gpu-%02d", i/128), "eks.amazonaws.com/nodegroup-image": "ami-" + d.hex(17),
		"nvidia.com/gpu.product": "NVIDIA-H100-80GB-HBM3", "nvidia.com/gpu.count": "8", "nvidia.com/gpu.memory": "81559",
		"nvidia.com/gpu.family": "hopper", "nvidia.com/cuda.driver.major": "570", "nvidia.com/gpu.machine": "p5.48xlarge",
		"nvidia.com/gpu.clique": fmt.Sprintf("%s.%d", d.uid(), i%16), "nvidia.com/mig.capable": "true", "nvidia.com/gpu.present": "true",
		"feature.node.kubernetes.io/cpu-cpuid.AVX512F": "true", "feature.node.kubernetes.io/cpu-model.id": "143",
		"feature.node.kubernetes.io/kernel-version.full": "6.1.134-150.224.amzn2023.x86_64", "feature.node.kubernetes.io/pci-10de.present": "true",
	}
	one := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: nodeName(i), Labels: labels, Annotations: map[string]string{
			"csi.volume.kubernetes.io/nodeid": fmt.Sprintf(`{"ebs.csi.aws.com":"i-%s","fsx.csi.aws.com":"%s"}`, d.hex(17), nodeName(i)),
			"node.alpha.kubernetes.io/ttl":    "15", "volumes.kubernetes.io/controller-managed-attach-detach": "true",
			"alpha.kubernetes.io/provided-node-ip": d.ip()}},
		Spec: corev1.NodeSpec{ProviderID: fmt.Sprintf("aws:///us-east-1a/i-%s", d.hex(17))},
		Status: corev1.NodeStatus{Capacity: room, Allocatable: room,
			Addresses: []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: d.ip()}, {Type: corev1.NodeHostName, Address: nodeName(i)}},
			NodeInfo: corev1.NodeSystemInfo{KubeletVersion: "v1.35.4", ContainerRuntimeVersion: "containerd://2.1.0", OSImage: "Amazon Linux 2023.9",
				MachineID: d.hex(32), SystemUUID: string(d.uid()), BootID: string(d.uid()), KernelVersion: "6.1.134-150.224.amzn2023.x86_64",
				OperatingSystem: "linux", Architecture: "amd64"}},
	}
	for _, kind := range []corev1.NodeConditionType{corev1.NodeMemoryPressure, corev1.NodeDiskPressure, corev1.NodePIDPressure, corev1.NodeReady} {
		status, reason := corev1.ConditionFalse, "KubeletHasNo"+strings.TrimSuffix(string(kind), "Pressure")+"Pressure"
		if kind == corev1.NodeReady {
			status, reason = corev1.ConditionTrue, "KubeletReady"
		}
		one.Status.Conditions = append(one.Status.Conditions, corev1.NodeCondition{Type: kind, Status: status, Reason: reason,
			Message: "kubelet says so", LastHeartbeatTime: d.since(), LastTransitionTime: d.since()})
	}
	for range 20 {
		name := fmt.Sprintf("123456789012.dkr.ecr.us-east-1.amazonaws.com/%s/%s", d.of("research", "platform", "serving"), d.suffix(8))
		one.Status.Images = append(one.Status.Images, corev1.ContainerImage{Names: []string{name + "@sha256:" + d.hex(64), name + ":" + d.hex(7)},
			SizeBytes: d.Int64N(9 << 30)})
	}
	return one
}

func env(d dice, count int) []corev1.EnvVar {
	list := []corev1.EnvVar{
		{Name: "POD_NAME", ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: "metadata.name"}}},
		{Name: "NODE_IP", ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: "status.hostIP"}}},
		{Name: "PASSWORD", ValueFrom: &corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{Key: "password",
			LocalObjectReference: corev1.LocalObjectReference{Name: "database-" + d.suffix(5)}}}},
	}
	for i := range count {
		list = append(list, corev1.EnvVar{Name: d.of("DATABASE", "CACHE", "QUEUE", "MODEL", "TRACING", "FEATURE") + fmt.Sprintf("_URL_%d", i),
			Value: fmt.Sprintf("https://%s.%s.svc.cluster.local:%d/%s", d.suffix(9), teamNamespace(d.IntN(teams)), 1024+d.IntN(60000), d.hex(8))})
	}
	return list
}

func container(d dice, name string, requests corev1.ResourceList) corev1.Container {
	get := func(path string) *corev1.Probe {
		return &corev1.Probe{ProbeHandler: corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Path: path, Port: intstr.FromInt32(8080)}},
			InitialDelaySeconds: int32(5 + d.IntN(30)), PeriodSeconds: 10, TimeoutSeconds: 3}
	}
	no, user := false, int64(1000+d.IntN(1000))
	return corev1.Container{
		Name: name, Image: fmt.Sprintf("123456789012.dkr.ecr.us-east-1.amazonaws.com/%s/%s:%s", d.of("research", "platform", "serving"), d.suffix(8), d.hex(7)),
		Command: []string{"python3", "-m", d.suffix(7) + ".main", "--config", "/etc/" + d.suffix(6) + "/config.yaml"},
		Args:    []string{"--seed", fmt.Sprint(d.IntN(1 << 20)), "--output", "/data/" + d.hex(10)},
		Ports:   []corev1.ContainerPort{{Name: "http", ContainerPort: 8080}, {Name: "metrics", ContainerPort: 9090}},
		Env:     env(d, 6), Resources: corev1.ResourceRequirements{Requests: requests, Limits: requests},
		ReadinessProbe: get("/readyz"), LivenessProbe: get("/healthz"),
		SecurityContext: &corev1.SecurityContext{RunAsUser: &user, AllowPrivilegeEscalation: &no, Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}}},
		VolumeMounts:    []corev1.VolumeMount{{Name: "config", MountPath: "/etc/config", ReadOnly: true}, {Name: "data", MountPath: "/data"}},
	}
}

// realPod makes a pod of a service (half of all pods), of a daemon (a quarter) or of a batch job (a quarter). Four
// fifths of the pods of batch jobs have ended.
func realPod(i, nodes int) *corev1.Pod {
	d := roll(2, i)
	team := d.IntN(teams)
	app := fmt.Sprintf("%s-%s", d.of("api", "gateway", "indexer", "trainer", "exporter", "scorer"), d.suffix(4))
	one := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: teamNamespace(team), Labels: map[string]string{
		"app.kubernetes.io/name": app, "app.kubernetes.io/instance": app + "-" + d.suffix(3), "app.kubernetes.io/version": d.hex(7),
		"app.kubernetes.io/managed-by": "Helm", "team": teamNamespace(team), "cost-center": fmt.Sprint(1000 + d.IntN(300))},
		Annotations: map[string]string{"prometheus.io/scrape": "true", "prometheus.io/port": "9090", "checksum/config": d.hex(64)}}}
	switch i % 4 {
	case 0, 1:
		hash := d.suffix(10)
		one.Name = fmt.Sprintf("%s-%s-%s", app, hash, d.suffix(5))
		one.Labels["pod-template-hash"] = hash
		one.OwnerReferences = d.controller("apps/v1", "ReplicaSet", app+"-"+hash)
	case 2:
		one.Name = fmt.Sprintf("%s-%s", app, d.suffix(5))
		one.Labels["controller-revision-hash"] = d.suffix(10)
		one.OwnerReferences = d.controller("apps/v1", "DaemonSet", app)
	case 3:
		one.Name = fmt.Sprintf("%s-%d-%s", app, 29_000_000+d.IntN(1000), d.suffix(5))
		one.OwnerReferences = d.controller("batch/v1", "Job", one.Name[:len(one.Name)-6])
		one.Labels["batch.kubernetes.io/job-name"] = one.OwnerReferences[0].Name
		one.Labels["batch.kubernetes.io/controller-uid"] = string(one.OwnerReferences[0].UID)
	}
	one.Name += fmt.Sprintf("-%d", i) // no two by chance
	one.Spec = corev1.PodSpec{
		NodeName: nodeName(d.IntN(max(nodes, 1))), RestartPolicy: corev1.RestartPolicyAlways,
		Containers:   []corev1.Container{container(d, "main", amounts(100*(1+d.IntN(40)), 256*(1+d.IntN(64)), 0))},
		Tolerations:  []corev1.Toleration{{Key: "nvidia.com/gpu", Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoSchedule}},
		NodeSelector: map[string]string{"kubernetes.io/arch": "amd64"},
		Volumes: []corev1.Volume{
			{Name: "config", VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: app + "-config"}}}},
			{Name: "data", VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "data-" + d.suffix(8)}}}},
	}
	if i%4 == 3 {
		one.Spec.RestartPolicy = corev1.RestartPolicyNever
	}
	if d.IntN(3) == 0 {
		one.Spec.Containers = append(one.Spec.Containers, container(d, "sidecar", amounts(100, 128, 0)))
		one.Spec.Containers[1].Ports = nil
	}
	setStatus(d, one, i%4 == 3 && d.IntN(5) < 4)
	return one
}

// setStatus sets the status that a kubelet would have written.
func setStatus(d dice, one *corev1.Pod, ended bool) {
	status := &one.Status
	status.Phase, status.QOSClass = corev1.PodRunning, corev1.PodQOSGuaranteed
	ready, reason := corev1.ConditionTrue, ""
	if ended {
		status.Phase, ready, reason = corev1.PodSucceeded, corev1.ConditionFalse, "PodCompleted"
	}
	since := d.since()
	status.StartTime = &since
	status.HostIP, status.PodIP = d.ip(), d.ip()
	status.HostIPs, status.PodIPs = []corev1.HostIP{{IP: status.HostIP}}, []corev1.PodIP{{IP: status.PodIP}}
	for _, kind := range []corev1.PodConditionType{"PodReadyToStartContainers", corev1.PodInitialized, corev1.PodReady, corev1.ContainersReady, corev1.PodScheduled} {
		condition := corev1.PodCondition{Type: kind, Status: corev1.ConditionTrue, LastTransitionTime: since, ObservedGeneration: 1}
		if kind == corev1.PodReady || kind == corev1.ContainersReady {
			condition.Status, condition.Reason = ready, reason
		}
		status.Conditions = append(status.Conditions, condition)
	}
	for _, c := range one.Spec.Containers {
		id, started := "containerd://"+d.hex(64), !ended
		state := corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: since}}
		if ended {
			state = corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{Reason: "Completed", StartedAt: since, FinishedAt: since, ContainerID: id}}
		}
		status.ContainerStatuses = append(status.ContainerStatuses, corev1.ContainerStatus{Name: c.Name, Image: c.Image, ContainerID: id,
			ImageID: strings.Split(c.Image, ":")[0] + "@sha256:" + d.hex(64), Ready: !ended, Started: &started, State: state})
	}
}

// workerPod makes a worker of a running training job.
func workerPod(job *unstructured.Unstructured, i, nodes int) *corev1.Pod {
	d := roll(3, i)
	index := fmt.Sprint(i % podsPerJob)
	yes := true
	one := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("%s-%s-1", job.GetName(), index), Namespace: job.GetNamespace(),
		Labels: map[string]string{"muster.dev/job": job.GetName(), "muster.dev/index": index, "muster.dev/incarnation": "1", "team": job.GetNamespace()},
		OwnerReferences: []metav1.OwnerReference{{APIVersion: job.GetAPIVersion(), Kind: job.GetKind(), Name: job.GetName(), UID: job.GetUID(),
			Controller: &yes, BlockOwnerDeletion: &yes}}},
		Spec: corev1.PodSpec{NodeName: nodeName(d.IntN(max(nodes, 1))), RestartPolicy: corev1.RestartPolicyNever, SchedulerName: "muster",
			Containers:  []corev1.Container{container(d, "worker", amounts(180_000, 1_900_000, 8))},
			Tolerations: []corev1.Toleration{{Key: "nvidia.com/gpu", Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoSchedule}},
			Volumes: []corev1.Volume{{Name: "config", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}},
				{Name: "data", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}}}}}
	setStatus(d, one, false)
	return one
}

func runs(i int) bool { return i%10 < runningJobs }

func realJob(i int) *unstructured.Unstructured {
	d := roll(4, i)
	one := job(teamNamespace(d.IntN(teams)), i)
	one.SetName(fmt.Sprintf("%s-%s-%05d", d.of("llama", "bert", "whisper", "clip"), d.suffix(5), i))
	one.SetLabels(map[string]string{"team": one.GetNamespace(), "experiment": d.hex(12), "owner": d.suffix(7)})
	one.SetAnnotations(map[string]string{"example.com/notebook": "https://notebooks.example.com/" + d.hex(24)})
	spec := one.Object["spec"].(map[string]any)
	spec["workers"] = map[string]any{"count": int64(podsPerJob)}
	if runs(i) {
		delete(spec, "suspend")
		spec["managedBy"] = "example.com/dispatcher"
	}
	variables := []any{}
	for _, variable := range env(d, 6)[3:] {
		variables = append(variables, map[string]any{"name": variable.Name, "value": variable.Value})
	}
	spec["template"] = map[string]any{"spec": map[string]any{"containers": []any{map[string]any{
		"name": "worker", "image": "123456789012.dkr.ecr.us-east-1.amazonaws.com/research/" + d.suffix(8) + ":" + d.hex(7), "env": variables,
		"command":   []any{"python3", "-m", d.suffix(7) + ".train", "--config", "/etc/" + d.suffix(6) + ".yaml"},
		"resources": map[string]any{"limits": map[string]any{"nvidia.com/gpu": "8", "cpu": "180", "memory": fmt.Sprintf("%dGi", 1000+d.IntN(900))}}}}}}
	return one
}
