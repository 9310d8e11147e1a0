package main

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/client-go/kubernetes/scheme"
)

// To create tens of thousands of pods through the API server takes minutes, because each pod costs two requests. So only
// the first pod of each shape is created through the server. The others are written directly to etcd, as the server
// would write them, with the fields that admission and defaulting added to the first one.

// The limits of one transaction; etcd itself allows 128 operations and 1.5 MB.
const (
	maxPuts     = 100
	maxPutBytes = 1 << 20
)

type put struct {
	RequestPut struct {
		Key   string `json:"key"`
		Value string `json:"value"`
	} `json:"requestPut"`
}

type podStore struct {
	etcd    string // http://host:port
	samples map[string]*corev1.Pod
	puts    []put
	size    int
}

func shape(one *corev1.Pod) string {
	return fmt.Sprint(one.OwnerReferences[0].Kind, one.Spec.RestartPolicy, one.Spec.SchedulerName, one.Status.Phase, len(one.Spec.Containers))
}

// stored returns `one` with the fields that the server added to `sample`, a pod of the same shape.
func stored(sample, one *corev1.Pod, i int) *corev1.Pod {
	made := sample.DeepCopy()
	made.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Pod"))
	made.Name, made.Namespace, made.ResourceVersion = one.Name, one.Namespace, ""
	made.Labels, made.Annotations, made.OwnerReferences = one.Labels, one.Annotations, one.OwnerReferences
	made.UID = roll(5, i).uid()
	made.Spec.NodeName = one.Spec.NodeName
	for k, from := range one.Spec.Containers {
		to := &made.Spec.Containers[k]
		to.Image, to.Command, to.Args, to.Env, to.Resources = from.Image, from.Command, from.Args, from.Env, from.Resources
	}
	for k := range made.Spec.Volumes {
		for _, from := range one.Spec.Volumes {
			if made.Spec.Volumes[k].Name == from.Name {
				made.Spec.Volumes[k].VolumeSource = from.VolumeSource
			}
		}
	}
	made.Status = one.Status
	return made
}

// add creates `one`, pod i of the population, or queues it for the next transaction.
func (s *podStore) add(ctx context.Context, c *clients, one *corev1.Pod, i int) error {
	sample, known := s.samples[shape(one)]
	if !known {
		made, err := create(ctx, c, one)
		s.samples[shape(one)] = made
		return err
	}
	var value bytes.Buffer
	if err := protobuf.NewSerializer(scheme.Scheme, scheme.Scheme).Encode(stored(sample, one, i), &value); err != nil {
		return err
	}
	var next put
	next.RequestPut.Key = base64.StdEncoding.EncodeToString([]byte("/registry/pods/" + one.Namespace + "/" + one.Name))
	next.RequestPut.Value = base64.StdEncoding.EncodeToString(value.Bytes())
	s.puts = append(s.puts, next)
	s.size += value.Len()
	if len(s.puts) < maxPuts && s.size < maxPutBytes {
		return nil
	}
	return s.flush(ctx)
}

// flush writes the queued pods in one transaction.
func (s *podStore) flush(ctx context.Context) error {
	if len(s.puts) == 0 {
		return nil
	}
	body, err := json.Marshal(map[string]any{"success": s.puts})
	if err != nil {
		return err
	}
	s.puts, s.size = nil, 0
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, s.etcd+"/v3/kv/txn", bytes.NewReader(body))
	if err != nil {
		return err
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	var result struct{ Succeeded bool }
	if err == nil && (answer.StatusCode != http.StatusOK || json.Unmarshal(text, &result) != nil || !result.Succeeded) {
		err = fmt.Errorf("etcd answered %s: %.200s", answer.Status, text)
	}
	return err
}

// fillStore makes the pods pod(0) to pod(count-1).
func fillStore(ctx context.Context, c *clients, etcd string, count int, pod func(i int) *corev1.Pod) error {
	s := &podStore{etcd: etcd, samples: map[string]*corev1.Pod{}}
	for i := range count {
		if err := s.add(ctx, c, pod(i), i); err != nil {
			return err
		}
	}
	return s.flush(ctx)
}
