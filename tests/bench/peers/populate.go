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

// create makes a pod, writes the status that a kubelet would write, and returns the pod as stored.
func create(ctx context.Context, c *clients, one *corev1.Pod) (*corev1.Pod, error) {
	pods := c.core.CoreV1().Pods(one.Namespace)
	made, err := pods.Create(ctx, one, metav1.CreateOptions{})
	if err != nil {
		return nil, err
	}
	made.Status = one.Status
	return pods.UpdateStatus(ctx, made, metav1.UpdateOptions{FieldManager: "kubelet"})
}

// namespaces makes the teams' namespaces and their default service accounts. No controller runs that would make the
// accounts, and the server refuses pods without them.
func namespaces(ctx context.Context, c *clients) error {
	return inParallel(teams, teams, func(i int) error {
		meta := metav1.ObjectMeta{Name: teamNamespace(i)}
		if _, err := c.core.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: meta}, metav1.CreateOptions{}); err != nil {
			return err
		}
		account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "default", Namespace: meta.Name}}
		_, err := c.core.CoreV1().ServiceAccounts(meta.Name).Create(ctx, account, metav1.CreateOptions{})
		return err
	})
}

// populate makes --nodes nodes, --jobs jobs and --pods pods as population.go describes them. The first pods are the
// workers of running jobs. With --etcd the pods are written directly to etcd.
func populate(ctx context.Context, c *clients, f flags) (any, error) {
	start := time.Now()
	err := inParallel(f.nodes, f.clientNum, func(i int) error {
		_, err := c.core.CoreV1().Nodes().Create(ctx, realNode(i), metav1.CreateOptions{})
		return err
	})
	if err == nil && f.pods+f.jobs > 0 {
		err = namespaces(ctx, c)
	}
	if err != nil {
		return nil, err
	}
	made := make([]*unstructured.Unstructured, f.jobs)
	err = inParallel(f.jobs, f.clientNum, func(i int) error {
		one, err := c.dynamic.Resource(trainingJobs).Namespace(realJob(i).GetNamespace()).Create(ctx, realJob(i), metav1.CreateOptions{})
		made[i] = one
		return err
	})
	if err != nil {
		return nil, err
	}
	var workers []*corev1.Pod
	for i, job := range made {
		for k := 0; runs(i) && k < podsPerJob && len(workers) < f.pods; k++ {
			workers = append(workers, workerPod(job, i*podsPerJob+k, f.nodes))
		}
	}
	pod := func(i int) *corev1.Pod {
		if i < len(workers) {
			return workers[i]
		}
		return realPod(i, f.nodes)
	}
	if f.etcd != "" {
		err = fillStore(ctx, c, f.etcd, f.pods, pod)
	} else {
		err = inParallel(f.pods, f.clientNum, func(i int) error {
			_, err := create(ctx, c, pod(i))
			return err
		})
	}
	return map[string]any{"seconds": time.Since(start).Seconds(), "nodes": f.nodes, "pods": f.pods, "workers": len(workers), "jobs": f.jobs}, err
}

// createRate measures how many pods the server can create in a second when nothing else loads it.
func createRate(ctx context.Context, c *clients, f flags) (any, error) {
	start := time.Now()
	err := inParallel(f.pods, f.clientNum, func(i int) error {
		_, err := c.core.CoreV1().Pods(f.namespace).Create(ctx, pod(f.namespace, fmt.Sprintf("raw-%06d", i), ""), metav1.CreateOptions{})
		return err
	})
	seconds := time.Since(start).Seconds()
	return map[string]any{"pods": f.pods, "clients": f.clientNum, "seconds": seconds, "perSecond": float64(f.pods) / seconds}, err
}
