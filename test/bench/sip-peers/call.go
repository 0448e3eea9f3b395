package main

import (
	"bufio"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"fmt"
	mathrand "math/rand/v2"
	"net"
	"net/netip"
	"os"
	"strings"
	"sync"
	"time"
)

// Longest duration of a call beyond its hold: on loopback, a later one has failed.
const patience = 4 * time.Second

// T1 (RFC 3261 §17.1.1.1): time until the first retransmission; then twice as long.
const t1 = 500 * time.Millisecond

type order struct {
	Target string  `json:"target"`
	To     string  `json:"to"`
	Rate   float64 `json:"rate"`
	Calls  int     `json:"calls"`
	HoldMs float64 `json:"hold_ms"`
	// Retransmits unanswered messages; otherwise a lost message counts as failed.
	Resend bool `json:"resend"`
}

// Times of successful calls in ms; `late_ms` is the lateness of the caller's own INVITEs.
type report struct {
	RingingMs  []float64      `json:"ringing_ms"`
	AnsweredMs []float64      `json:"answered_ms"`
	LateMs     []float64      `json:"late_ms"`
	Repeats    int            `json:"repeats"`
	Resent     int            `json:"resent"`
	Failed     map[string]int `json:"failed"`
	Error      string         `json:"error,omitempty"`
}

type leg struct {
	id                      string
	sent, ringing, answered time.Time
	to, target              string
	bye, again              *time.Timer
	refused                 string
	resent, ended           bool
}

// A round of calls on one shared socket, like a carrier's.
type round struct {
	order
	socket  *net.UDPConn
	peer    netip.AddrPort
	local   string
	run     string
	mutex   sync.Mutex
	legs    map[string]*leg
	repeats int
	left    sync.WaitGroup
}

func call() error {
	orders := bufio.NewScanner(os.Stdin)
	for orders.Scan() {
		var wanted order
		result := report{}
		err := json.Unmarshal(orders.Bytes(), &wanted)
		if err == nil {
			result, err = place(wanted)
		}
		if err != nil {
			result.Error = err.Error()
		}
		if err := json.NewEncoder(os.Stdout).Encode(result); err != nil {
			return err
		}
	}
	return orders.Err()
}

func place(wanted order) (report, error) {
	peer, err := netip.ParseAddrPort(wanted.Target)
	if err != nil {
		return report{}, err
	}
	socket, err := net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		return report{}, err
	}
	defer socket.Close()
	run := make([]byte, 6)
	rand.Read(run)
	r := &round{order: wanted, socket: socket, peer: peer, local: socket.LocalAddr().String(),
		run: hex.EncodeToString(run), legs: map[string]*leg{}}
	r.left.Add(wanted.Calls)
	go r.listen()
	late := r.depart()
	r.wait()
	return r.report(late), nil
}

// One call within each slot of 1/rate, at a random time: like real callers, and never in step with a second system.
func (r *round) depart() []float64 {
	slot := time.Duration(float64(time.Second) / r.Rate)
	start := time.Now()
	late := make([]float64, 0, r.Calls)
	for i := range r.Calls {
		due := start.Add(time.Duration(i)*slot + time.Duration(mathrand.Int64N(int64(slot))))
		time.Sleep(time.Until(due))
		late = append(late, ms(time.Since(due)))
		r.invite(fmt.Sprintf("%s-%d", r.run, i))
	}
	return late
}

func (r *round) wait() {
	done := make(chan struct{})
	go func() { r.left.Wait(); close(done) }()
	select {
	case <-done:
	case <-time.After(patience + time.Duration(r.HoldMs*float64(time.Millisecond))):
	}
}

func (r *round) listen() {
	buffer := make([]byte, 65536)
	for {
		length, _, err := r.socket.ReadFromUDPAddrPort(buffer)
		if err != nil {
			return
		}
		r.take(string(buffer[:length]), time.Now())
	}
}

// Handles responses only: a request from the peer would be a BYE for lack of an ACK, and that call fails anyway.
func (r *round) take(message string, at time.Time) {
	if !strings.HasPrefix(message, "SIP/2.0 ") || len(message) < 11 {
		return
	}
	status, head := message[8:11], message[:len(message)-len(after(message, "\r\n\r\n"))]
	r.mutex.Lock()
	defer r.mutex.Unlock()
	leg := r.legs[header(head, "Call-ID")]
	if leg == nil || leg.ended {
		return
	}
	if strings.HasSuffix(header(head, "CSeq"), "BYE") {
		if status[0] != '2' {
			leg.refused = "BYE " + status
		}
		leg.quiet()
		leg.ended = true
		r.left.Done()
		return
	}
	if leg.answered.IsZero() {
		leg.quiet()
	}
	r.progress(leg, status, head, at)
}

func (r *round) progress(leg *leg, status, head string, at time.Time) {
	switch {
	case status == "100":
	case status[0] == '1':
		if leg.ringing.IsZero() {
			leg.ringing = at
		}
	case status[0] == '2' && leg.answered.IsZero():
		leg.answered, leg.to = at, header(head, "To")
		leg.target = strings.Trim(header(head, "Contact"), "<>")
		r.send(r.request(leg, "ACK", leg.target, 1, "-ack", ""))
		hold := time.Duration(r.HoldMs * float64(time.Millisecond))
		leg.bye = time.AfterFunc(hold, func() { r.hangUp(leg) })
	case status[0] == '2':
		r.repeats++
		if r.Resend {
			r.send(r.request(leg, "ACK", leg.target, 1, "-ack", ""))
		}
	default:
		leg.refused, leg.to, leg.ended = "INVITE "+status, header(head, "To"), true
		r.send(r.request(leg, "ACK", r.uri(), 1, "", ""))
		r.left.Done()
	}
}

func (r *round) invite(id string) {
	leg := &leg{id: id, to: "<" + r.uri() + ">"}
	message := r.request(leg, "INVITE", r.uri(), 1, "", r.offer())
	r.mutex.Lock()
	r.legs[id] = leg
	leg.sent = time.Now()
	r.repeat(leg, message, t1, func() { leg.resent = true })
	r.mutex.Unlock()
	r.send(message)
}

func (r *round) hangUp(leg *leg) {
	message := r.request(leg, "BYE", leg.target, 2, "-bye", "")
	r.mutex.Lock()
	r.repeat(leg, message, t1, func() {})
	r.mutex.Unlock()
	r.send(message)
}

// Called with the mutex held; waits until the leg is quiet.
func (r *round) repeat(leg *leg, message string, after time.Duration, note func()) {
	if !r.Resend {
		return
	}
	var again *time.Timer
	again = time.AfterFunc(after, func() {
		r.mutex.Lock()
		defer r.mutex.Unlock()
		if leg.again != again {
			return
		}
		note()
		r.send(message)
		r.repeat(leg, message, 2*after, note)
	})
	leg.again = again
}

// Called with the mutex held: the request has been answered.
func (l *leg) quiet() {
	if l.again != nil {
		l.again.Stop()
		l.again = nil
	}
}

func (r *round) uri() string { return "sip:" + r.To + "@" + r.Target }

// A separate transaction has `suffix` on its branch (RFC 3261 §17.1.1.3: the ACK of a refusal has not).
func (r *round) request(leg *leg, method, uri string, seq int, suffix, body string) string {
	lines := []string{
		method + " " + uri + " SIP/2.0",
		"Via: SIP/2.0/UDP " + r.local + ";branch=z9hG4bK" + leg.id + suffix + ";rport",
		"Max-Forwards: 70",
		"From: \"Bench\" <sip:+12025550199@" + r.local + ">;tag=" + leg.id,
		"To: " + leg.to,
		"Call-ID: " + leg.id,
		fmt.Sprintf("CSeq: %d %s", seq, method),
		"Contact: <sip:+12025550199@" + r.local + ">",
	}
	if body != "" {
		lines = append(lines, "Allow: INVITE, ACK, BYE, CANCEL, OPTIONS, INFO, UPDATE", "Supported: timer",
			"User-Agent: bench", "P-Asserted-Identity: <sip:+12025550199@"+r.local+">", "Content-Type: application/sdp")
	}
	lines = append(lines, fmt.Sprintf("Content-Length: %d", len(body)), "", body)
	return strings.Join(lines, "\r\n")
}

func (r *round) offer() string {
	return strings.Join([]string{"v=0", "o=- 1 1 IN IP4 127.0.0.1", "s=-", "c=IN IP4 127.0.0.1", "t=0 0",
		"m=audio 9 RTP/AVP 0 8 101", "a=rtpmap:0 PCMU/8000", "a=rtpmap:8 PCMA/8000", "a=rtpmap:101 telephone-event/8000",
		"a=fmtp:101 0-16", "a=ptime:20", "a=sendrecv", ""}, "\r\n")
}

func (r *round) send(message string) { r.socket.WriteToUDPAddrPort([]byte(message), r.peer) }

func (r *round) report(late []float64) report {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	result := report{RingingMs: []float64{}, AnsweredMs: []float64{}, LateMs: late, Repeats: r.repeats, Failed: map[string]int{}}
	for _, leg := range r.legs {
		leg.quiet()
		if leg.resent {
			result.Resent++
		}
		if why := leg.failure(); why != "" {
			result.Failed[why]++
			continue
		}
		result.RingingMs = append(result.RingingMs, ms(leg.ringing.Sub(leg.sent)))
		result.AnsweredMs = append(result.AnsweredMs, ms(leg.answered.Sub(leg.sent)))
	}
	return result
}

func (l *leg) failure() string {
	switch {
	case l.refused != "":
		return l.refused
	case l.answered.IsZero():
		return "no answer"
	case l.ringing.IsZero():
		return "no 18x"
	case !l.ended:
		return "BYE without answer"
	}
	return ""
}

func header(head, name string) string {
	start := strings.Index(strings.ToLower(head), "\r\n"+strings.ToLower(name)+":")
	if start < 0 {
		return ""
	}
	value, _, _ := strings.Cut(head[start+len(name)+3:], "\r\n")
	return strings.TrimSpace(value)
}

func after(text, mark string) string {
	_, rest, _ := strings.Cut(text, mark)
	return rest
}

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
