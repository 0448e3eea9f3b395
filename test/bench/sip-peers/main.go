// SIP peers for the signalling and media benchmarks, over UDP on loopback.
//
// `answer`: an application on emiago/diago that answers calls. It prints {"port":5060} once it listens.
// `echo`: like `answer`, and echoes the caller's audio.
// `call`: a caller at almost no cost. Standard input: one JSON document per line:
// {"target":"127.0.0.1:5060","to":"+12025550100","rate":10,"calls":200,"hold_ms":500,"resend":false}; standard output: one line for each,
// in order.
// `media`: many calls with audio in both directions; commands as in media.go, one answer each.
// `udp-echo`: an echo without calls, as in echo.go.
package main

import (
	"fmt"
	"os"
)

func main() {
	tasks := map[string]func() error{
		"answer": func() error { return answer(take) }, "echo": func() error { return answer(takeEcho) },
		"call": call, "media": mediaLoad, "udp-echo": udpEcho,
	}
	if len(os.Args) != 2 || tasks[os.Args[1]] == nil {
		fmt.Fprintln(os.Stderr, "usage: sip-peers answer|echo|call|media|udp-echo")
		os.Exit(2)
	}
	if err := tasks[os.Args[1]](); err != nil {
		fmt.Fprintln(os.Stderr, "sip-peers:", err)
		os.Exit(1)
	}
}
