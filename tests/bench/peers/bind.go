package main

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
)

// boundNodes makes nodes without the taint of a new node, because no controller runs that would remove it.
func boundNodes(ctx context.Context, c *clients, f flags) (any, error) {
	start := time.Now()
	err := inParallel(f.nodes, f.clientNum, func(i int) error {
		made, err := c.core.CoreV1().Nodes().Create(ctx, realNode(i), metav1.CreateOptions{})
		if err != nil {
			return err
		}
		made.Spec.Taints = nil
		_, err = c.core.CoreV1().Nodes().Update(ctx, made, metav1.UpdateOptions{})
		return err
	})
	return map[string]any{"nodes": f.nodes, "seconds": time.Since(start).Seconds()}, err
}

func workerRequests(f flags) corev1.ResourceList {
	requests := corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1"), corev1.ResourceMemory: resource.MustParse("4Gi")}
	if f.gpus > 0 {
		requests["nvidia.com/gpu"] = *resource.NewQuantity(int64(f.gpus), resource.DecimalSI)
	}
	return requests
}

func pendingPod(f flags, i int) *corev1.Pod {
	one := pod(f.namespace, fmt.Sprintf("pending-%06d", i), "")
	one.Spec.SchedulerName = f.scheduler
	one.Spec.Containers[0].Resources = corev1.ResourceRequirements{Requests: workerRequests(f), Limits: corev1.ResourceList{}}
	if f.gpus > 0 {
		one.Spec.Containers[0].Resources.Limits["nvidia.com/gpu"] = *resource.NewQuantity(int64(f.gpus), resource.DecimalSI)
	}
	return one
}

// pending makes pods that wait for --scheduler.
func pending(ctx context.Context, c *clients, f flags) (any, error) {
	start := time.Now()
	err := inParallel(f.pods, f.clientNum, func(i int) error {
		_, err := c.core.CoreV1().Pods(f.namespace).Create(ctx, pendingPod(f, i), metav1.CreateOptions{})
		return err
	})
	return map[string]any{"pods": f.pods, "start": seconds(start), "seconds": time.Since(start).Seconds()}, err
}

// gangs makes jobs of --workers with the requests of a pending pod.
func gangs(ctx context.Context, c *clients, f flags) (any, error) {
	start := time.Now()
	err := inParallel(f.jobs, f.clientNum, func(i int) error {
		one := trainingJob(f.namespace, i)
		one.SetName(fmt.Sprintf("gang-%05d", i))
		requests, limits := map[string]any{}, map[string]any{}
		for name, amount := range workerRequests(f) {
			requests[string(name)] = amount.String()
			if name == "nvidia.com/gpu" {
				limits[string(name)] = amount.String()
			}
		}
		spec := one.Object["spec"].(map[string]any)
		spec["workers"] = map[string]any{"count": int64(f.workers)}
		container, _, _ := unstructured.NestedSlice(one.Object, "spec", "template", "spec", "containers")
		container[0].(map[string]any)["resources"] = map[string]any{"requests": requests, "limits": limits}
		if err := unstructured.SetNestedSlice(one.Object, container, "spec", "template", "spec", "containers"); err != nil {
			return err
		}
		_, err := c.dynamic.Resource(trainingJobs).Namespace(f.namespace).Create(ctx, one, metav1.CreateOptions{})
		return err
	})
	return map[string]any{"jobs": f.jobs, "start": seconds(start), "seconds": time.Since(start).Seconds()}, err
}

// bindRaw binds the pending pods to the nodes in turn and makes no other request.
func bindRaw(ctx context.Context, c *clients, f flags) (any, error) {
	pods := c.core.CoreV1().Pods(f.namespace)
	err := inParallel(f.pods, f.clientNum, func(i int) error {
		return pods.Bind(ctx, &corev1.Binding{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("pending-%06d", i)},
			Target: corev1.ObjectReference{Kind: "Node", Name: nodeName(i % f.nodes)}}, metav1.CreateOptions{})
	})
	return map[string]any{"pods": f.pods}, err
}

func seconds(t time.Time) float64 { return float64(t.UnixNano()) / 1e9 }

// existing waits until --pods pods exist, or with --bound until they have nodes. It returns when the first and the last
// of them were seen, in seconds since the epoch.
func existing(ctx context.Context, c *clients, f flags) (any, error) {
	open := func() (watch.Interface, error) {
		return c.core.CoreV1().Pods(f.namespace).Watch(ctx, metav1.ListOptions{})
	}
	pods, err := open()
	if err != nil {
		return nil, err
	}
	defer func() { pods.Stop() }()
	fmt.Println("{}") // the watch is open, so it misses no pod from here on
	var first, last time.Time
	for seen := map[types.UID]bool{}; len(seen) < f.pods; {
		select {
		case event, more := <-pods.ResultChan():
			if !more {
				if pods, err = open(); err != nil {
					return nil, err
				}
				continue
			}
			one, is := event.Object.(*corev1.Pod)
			if !is || (f.bound && one.Spec.NodeName == "") || seen[one.UID] {
				continue
			}
			seen[one.UID] = true
			last = time.Now()
			if first.IsZero() {
				first = last
			}
		case <-ctx.Done():
			return nil, fmt.Errorf("only %d of %d pods in time", len(seen), f.pods)
		}
	}
	return map[string]any{"pods": f.pods, "first": seconds(first), "last": seconds(last)}, nil
}
