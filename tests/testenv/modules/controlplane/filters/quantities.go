package filters

import (
	"math"
	"math/big"

	"gopkg.in/inf.v0"
	"k8s.io/apimachinery/pkg/api/resource"
)

type quantity struct {
	OK       bool  `json:"ok"`
	Negative bool  `json:"negative"`
	Overflow bool  `json:"overflow"` // the thousandths do not fit into an int64
	Value    int64 `json:"value"`
	Milli    int64 `json:"milli"`
}

// overflows returns true if MilliValue() would wrap around, which it does silently.
func overflows(parsed resource.Quantity) bool {
	milli := new(inf.Dec).Mul(parsed.AsDec(), inf.NewDec(1000, 0))
	milli.Round(milli, 0, inf.RoundUp)
	return milli.UnscaledBig().CmpAbs(big.NewInt(math.MaxInt64)) > 0
}

func readQuantities(texts []string) []quantity {
	read := make([]quantity, 0, len(texts))
	for _, text := range texts {
		parsed, err := resource.ParseQuantity(text)
		if err != nil {
			read = append(read, quantity{})
			continue
		}
		one := quantity{OK: true, Negative: parsed.Sign() < 0, Value: parsed.Value(), Milli: parsed.MilliValue()}
		one.Overflow = overflows(parsed)
		read = append(read, one)
	}
	return read
}
