package main

import (
	"context"
	"fmt"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
)

const workersPerJob = 4

// batchJob makes a Job that has the same pods as a TrainingJob of workersPerJob workers.
func batchJob(namespace string, i int) *batchv1.Job {
	count, mode := int32(workersPerJob), batchv1.IndexedCompletion
	template := pod(namespace, "", "")
	return &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("batch-%05d", i), Namespace: namespace},
		Spec: batchv1.JobSpec{Parallelism: &count, Completions: &count, CompletionMode: &mode,
			Template: corev1.PodTemplateSpec{Spec: template.Spec}},
	}
}

func trainingJob(namespace string, i int) *unstructured.Unstructured {
	one := job(namespace, i)
	one.SetName(fmt.Sprintf("training-%05d", i))
	spec := one.Object["spec"].(map[string]any)
	delete(spec, "suspend")
	spec["workers"] = map[string]any{"count": int64(workersPerJob)}
	return one
}

// leanJob makes only the requests that any controller with a write-ahead status must make for a job: it creates the
// job, writes the incarnations of its pods to its status, and then creates the pods.
func leanJob(ctx context.Context, c *clients, namespace string, i int) error {
	jobs := c.dynamic.Resource(trainingJobs).Namespace(namespace)
	made, err := jobs.Create(ctx, trainingJob(namespace, i), metav1.CreateOptions{})
	if err != nil {
		return err
	}
	numbers := []any{}
	for range workersPerJob {
		numbers = append(numbers, int64(1))
	}
	made.Object["status"] = map[string]any{"term": int64(1), "state": "Pending", "incarnations": numbers}
	if _, err := jobs.UpdateStatus(ctx, made, metav1.UpdateOptions{}); err != nil {
		return err
	}
	for index := range workersPerJob {
		one := pod(namespace, fmt.Sprintf("%s-%d-1", made.GetName(), index), "")
		if _, err := c.core.CoreV1().Pods(namespace).Create(ctx, one, metav1.CreateOptions{}); err != nil {
			return err
		}
	}
	return nil
}

// submit creates the jobs of --kind and returns once a watch has seen all of their pods.
func submit(ctx context.Context, c *clients, f flags) (any, error) {
	open := func() (watch.Interface, error) {
		return c.core.CoreV1().Pods(f.namespace).Watch(ctx, metav1.ListOptions{})
	}
	pods, err := open()
	if err != nil {
		return nil, err
	}
	defer func() { pods.Stop() }()
	start := time.Now()
	created := make(chan error, 1)
	var submitted time.Duration
	go func() {
		err := inParallel(f.jobs, f.clientNum, func(i int) error {
			if f.kind == "Lean" {
				return leanJob(ctx, c, f.namespace, i)
			}
			if f.kind == "Job" {
				_, err := c.core.BatchV1().Jobs(f.namespace).Create(ctx, batchJob(f.namespace, i), metav1.CreateOptions{})
				return err
			}
			_, err := c.dynamic.Resource(trainingJobs).Namespace(f.namespace).Create(ctx, trainingJob(f.namespace, i), metav1.CreateOptions{})
			return err
		})
		submitted = time.Since(start)
		created <- err
	}()
	// Pods are counted by UID, because a watch that the server ends is reopened and first repeats the existing pods.
	for seen := map[types.UID]bool{}; len(seen) < f.jobs*workersPerJob; {
		select {
		case event, more := <-pods.ResultChan():
			if !more {
				if pods, err = open(); err != nil {
					return nil, err
				}
			}
			if one, is := event.Object.(*corev1.Pod); is {
				seen[one.UID] = true
			}
		case <-ctx.Done():
			return nil, fmt.Errorf("only %d pods were made in time", len(seen))
		}
	}
	seconds := time.Since(start).Seconds()
	if err := <-created; err != nil {
		return nil, err
	}
	total := f.jobs * workersPerJob
	return map[string]any{"kind": f.kind, "jobs": f.jobs, "pods": total, "seconds": seconds,
		"submitSeconds": submitted.Seconds(), "perSecond": float64(total) / seconds}, nil
}
