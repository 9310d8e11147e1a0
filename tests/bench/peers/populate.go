package main

import (
	"context"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

var trainingJobs = schema.GroupVersionResource{Group: "muster.dev", Version: "v1alpha1", Resource: "trainingjobs"}

// inParallel calls do(0..count-1) from `workers` goroutines and returns the first error.
func inParallel(count, workers int, do func(int) error) error {
	next := make(chan int)
	var once sync.Once
	var first error
	var group sync.WaitGroup
	for w := 0; w < workers; w++ {
		group.Add(1)
		go func() {
			defer group.Done()
			for i := range next {
				if err := do(i); err != nil && !errors.IsAlreadyExists(err) {
					once.Do(func() { first = err })
				}
			}
		}()
	}
	for i := 0; i < count; i++ {
		next <- i
	}
	close(next)
	group.Wait()
	return first
}

func node(i int) *corev1.Node {
	room := corev1.ResourceList{
		corev1.ResourceCPU: resource.MustParse("96"), corev1.ResourceMemory: resource.MustParse("1Ti"),
		corev1.ResourcePods: resource.MustParse("110"), "nvidia.com/gpu": resource.MustParse("8"),
	}
	labels := map[string]string{
		"kubernetes.io/hostname": fmt.Sprintf("node-%05d", i), "kubernetes.io/os": "linux", "kubernetes.io/arch": "amd64",
		"topology.kubernetes.io/region": "r1", "topology.kubernetes.io/zone": fmt.Sprintf("z%d", i/1000),
		"fabric.topograph.run/tier-0": fmt.Sprintf("leaf-%d", i/16), "fabric.topograph.run/tier-1": fmt.Sprintf("spine-%d", i/256),
		"nvidia.com/gpu.product": "NVIDIA-H100-80GB-HBM3", "nvidia.com/gpu.count": "8", "node.kubernetes.io/instance-type": "p5.48xlarge",
	}
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("node-%05d", i), Labels: labels},
		Status: corev1.NodeStatus{Capacity: room, Allocatable: room,
			Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue, Reason: "KubeletReady"}},
			NodeInfo:   corev1.NodeSystemInfo{KubeletVersion: "v1.35.4", ContainerRuntimeVersion: "containerd://2.1.0", OSImage: "Debian"}},
	}
}

func pod(namespace, name, nodeName string) *corev1.Pod {
	env := []corev1.EnvVar{}
	for i := 0; i < 12; i++ {
		env = append(env, corev1.EnvVar{Name: fmt.Sprintf("VARIABLE_%d", i), Value: "a value of some length"})
	}
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: namespace, Labels: map[string]string{"app": "other", "tier": "batch"}},
		Spec: corev1.PodSpec{
			NodeName: nodeName, RestartPolicy: corev1.RestartPolicyNever, SchedulerName: "none",
			Containers: []corev1.Container{{Name: "main", Image: "team/trainer:1.2.3",
				Command: []string{"python3", "train.py", "--config", "/etc/config.yaml"}, Env: env,
				Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{
					corev1.ResourceCPU: resource.MustParse("4"), corev1.ResourceMemory: resource.MustParse("16Gi")}},
				VolumeMounts: []corev1.VolumeMount{{Name: "data", MountPath: "/data"}}}},
			Volumes: []corev1.Volume{{Name: "data", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}}},
		},
	}
}

func job(namespace string, i int) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "muster.dev/v1alpha1", "kind": "TrainingJob",
		"metadata": map[string]any{"name": fmt.Sprintf("job-%05d", i), "namespace": namespace},
		"spec": map[string]any{
			"suspend": true, "workers": map[string]any{"count": int64(4)},
			"template": map[string]any{"spec": map[string]any{"containers": []any{
				map[string]any{"name": "worker", "image": "team/trainer:1.2.3", "command": []any{"python3", "train.py"}}}}},
		},
	}}
}

// populate makes nodes, pods spread over them, and suspended jobs.
func populate(ctx context.Context, c *clients, f flags) (any, error) {
	start := time.Now()
	err := inParallel(f.nodes, f.clientNum, func(i int) error {
		_, err := c.core.CoreV1().Nodes().Create(ctx, node(i), metav1.CreateOptions{})
		return err
	})
	if err != nil {
		return nil, err
	}
	err = inParallel(f.pods, f.clientNum, func(i int) error {
		on := ""
		if f.nodes > 0 {
			on = fmt.Sprintf("node-%05d", i%f.nodes)
		}
		_, err := c.core.CoreV1().Pods(f.namespace).Create(ctx, pod(f.namespace, fmt.Sprintf("pod-%06d", i), on), metav1.CreateOptions{})
		return err
	})
	if err != nil {
		return nil, err
	}
	err = inParallel(f.jobs, f.clientNum, func(i int) error {
		_, err := c.dynamic.Resource(trainingJobs).Namespace(f.namespace).Create(ctx, job(f.namespace, i), metav1.CreateOptions{})
		return err
	})
	return map[string]any{"seconds": time.Since(start).Seconds(), "nodes": f.nodes, "pods": f.pods, "jobs": f.jobs}, err
}

// createRate is what the server takes when nothing else is to be done.
func createRate(ctx context.Context, c *clients, f flags) (any, error) {
	start := time.Now()
	err := inParallel(f.pods, f.clientNum, func(i int) error {
		_, err := c.core.CoreV1().Pods(f.namespace).Create(ctx, pod(f.namespace, fmt.Sprintf("raw-%06d", i), ""), metav1.CreateOptions{})
		return err
	})
	seconds := time.Since(start).Seconds()
	return map[string]any{"pods": f.pods, "clients": f.clientNum, "seconds": seconds, "perSecond": float64(f.pods) / seconds}, err
}
