#!/usr/bin/env bash
# usage: run_operator.sh PROGRAM JOB.yaml
#
# Runs the operator as the installed Deployment says, with its flags, variables and service account but without a kubelet,
# until it leads and has made the pods of a job. Prints the container of the first pod, and the job's network policy if it
# has one.
set -euo pipefail
program="$1" job="$2"
in_system=(--namespace=muster-system)

kubectl config view --minify --raw --flatten >operator.kubeconfig
kubectl config --kubeconfig=operator.kubeconfig set-credentials muster \
  --token="$(kubectl create token muster-operator "${in_system[@]}")" >/dev/null
kubectl config --kubeconfig=operator.kubeconfig set-context --current --user=muster >/dev/null

# The kubelet sets this variable of the Service and expands it in the flags.
host="$(kubectl get service muster-operator "${in_system[@]}" --output=jsonpath='{.spec.clusterIP}')"
mapfile -t flags < <(kubectl get deployment muster-operator "${in_system[@]}" \
  --output=jsonpath='{range .spec.template.spec.containers[0].args[*]}{@}{"\n"}{end}')
flags=("${flags[@]//\$(MUSTER_OPERATOR_SERVICE_HOST)/$host}")

KUBECONFIG="$PWD/operator.kubeconfig" POD_NAMESPACE=muster-system POD_IP=127.0.0.1 "$program" "${flags[@]}" >operator.log 2>&1 &
operator=$!
trap 'kill -TERM "$operator" 2>/dev/null || true; cat operator.log >&2' EXIT

# kubectl waits for the creation of one object; of two it fails at once if both are missing.
for object in secret/muster-coordinator-ca lease/muster-operator; do
  kubectl wait "${in_system[@]}" --for=create --timeout=100s "$object" >/dev/null
done
kubectl wait "${in_system[@]}" --for=jsonpath='{.spec.holderIdentity}' --timeout=100s lease/muster-operator >/dev/null
kubectl apply --filename="$job" >/dev/null
for pod in job-0-1 job-1-1; do kubectl wait --for=create --timeout=100s "pod/$pod" >/dev/null; done
curl --fail --silent http://127.0.0.1:8081/readyz
echo
echo "service $host"
kubectl get pod job-0-1 --output=jsonpath='{.spec.containers[0].image}{"\n"}{range .spec.containers[0].env[*]}{.name}={.value}{"\n"}{end}'
kubectl get networkpolicy job-workers --ignore-not-found --output=name
if grep --ignore-case --quiet forbidden operator.log; then exit 1; fi  # a right is missing; the log is shown

# The job's finalizer is removed by the operator, which then ends in good order.
kubectl delete trainingjob job --timeout=100s >/dev/null
kill -TERM "$operator"
wait "$operator"
trap - EXIT
