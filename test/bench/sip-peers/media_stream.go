package main

import (
	"encoding/binary"
	"errors"
	"math"
	mathrand "math/rand/v2"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

const (
	rtpHeader = 12
	frameSize = 160
	// Marks that may be in transit: 20 s of them.
	remembered = 1024
	// A listener plays a packet within this time, or never.
	lateAfter = 60 * time.Millisecond
	gapAfter  = 40 * time.Millisecond
)

var loopback = [4]byte{127, 0, 0, 1}

// The audio of one call.
type stream struct {
	socket, reports int
	port            int
	phase           time.Duration
	due             time.Time
	talker          *talker
	packet          [rtpHeader + frameSize]byte
	index           uint32
	timestamp       uint32
	sentNs          [remembered]int64 // by mark; 0 once it has come back
	arrivedNs       int64
	sequence        uint16
	heard           bool
}

var box inbox

// A pair of sockets as callers have: RTP on an even port, RTCP on the next, which is not read.
func newStream(phase time.Duration, talker *talker) (*stream, error) {
	for range 100 {
		socket, port, err := bindUdp(0)
		if err != nil {
			return nil, err
		}
		if port%2 == 0 {
			if reports, _, err := bindUdp(port + 1); err == nil {
				s := &stream{socket: socket, reports: reports, port: port, phase: phase, talker: talker}
				s.timestamp = mathrand.Uint32()
				binary.BigEndian.PutUint32(s.packet[8:], mathrand.Uint32())
				return s, unix.SetsockoptInt(socket, unix.SOL_SOCKET, unix.SO_TIMESTAMPNS, 1)
			}
		}
		unix.Close(socket)
	}
	return nil, errors.New("no free pair of RTP ports")
}

func bindUdp(port int) (int, int, error) {
	socket, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return 0, 0, err
	}
	if err := unix.Bind(socket, &unix.SockaddrInet4{Port: port, Addr: loopback}); err != nil {
		unix.Close(socket)
		return 0, 0, err
	}
	name, err := unix.Getsockname(socket)
	if err != nil {
		return 0, 0, err
	}
	return socket, name.(*unix.SockaddrInet4).Port, nil
}

func (s *stream) close() {
	unix.Close(s.socket)
	unix.Close(s.reports)
}

func (s *stream) send(now time.Time, w *window) {
	payload := s.packet[rtpHeader:]
	if s.talker != nil {
		copy(payload, s.talker.frame(now.UnixNano(), w))
	} else {
		writeMark(payload, s.index)
	}
	s.packet[0], s.packet[1] = 0x80, 0
	if s.index == 0 {
		s.packet[1] = 0x80 // the marker of a talkspurt
	}
	binary.BigEndian.PutUint16(s.packet[2:], uint16(s.index))
	binary.BigEndian.PutUint32(s.packet[4:], s.timestamp)
	atNs := time.Now().UnixNano()
	s.sentNs[s.index%remembered] = atNs
	s.index++
	s.timestamp += frameSize
	_, _, _ = unix.RawSyscall(unix.SYS_WRITE, uintptr(s.socket), uintptr(unsafe.Pointer(&s.packet[0])), uintptr(len(s.packet)))
	if s.talker != nil {
		s.talker.sent(atNs)
	}
	if w != nil && w.holds(atNs) {
		w.sent++
		w.lateMs = append(w.lateMs, ms(now.Sub(s.due)))
	}
}

// Returns false when nothing is waiting.
func (s *stream) receive(w *window) bool {
	data, atNs, ok := box.read(s.socket)
	if !ok {
		return false
	}
	if len(data) <= rtpHeader || data[1]&0x7f != 0 {
		return true
	}
	if s.talker != nil {
		s.talker.hear(data[rtpHeader:], atNs, w)
	} else {
		s.takeMark(data[rtpHeader:], atNs, w)
	}
	s.notePace(binary.BigEndian.Uint16(data[2:]), atNs, w)
	return true
}

func (s *stream) notePace(sequence uint16, atNs int64, w *window) {
	missing := int16(sequence - s.sequence - 1)
	counts := w != nil && w.holds(atNs)
	if counts {
		w.received++
		if s.heard && missing > 0 {
			w.holes += int(missing)
		}
		if s.arrivedNs != 0 {
			w.between(ms(time.Duration(atNs - s.arrivedNs)))
		}
	}
	s.arrivedNs = atNs
	if !s.heard || missing >= 0 {
		s.sequence, s.heard = sequence, true
	}
}

func (s *stream) takeMark(payload []byte, atNs int64, w *window) {
	index, ok := readMark(payload)
	if !ok {
		return
	}
	sentNs := s.sentNs[index%remembered]
	s.sentNs[index%remembered] = 0
	if sentNs == 0 || w == nil || !w.holds(sentNs) {
		return
	}
	took := time.Duration(atNs - sentNs)
	w.returned++
	w.earMs = append(w.earMs, ms(took))
	if took > lateAfter {
		w.late++
	}
}

// µ-law bytes that survive decoding and encoding unchanged: negative, and no zero.
const (
	markByte  = 0x80
	markBits  = 6
	markBytes = 5
)

func writeMark(payload []byte, index uint32) {
	for i := range payload {
		payload[i] = markByte | 0x3e
	}
	for i := range markBytes {
		payload[i] = markByte | byte(index>>(markBits*i)&(1<<markBits-1))
	}
}

// Returns false for silence or a damaged mark.
func readMark(payload []byte) (uint32, bool) {
	if len(payload) != frameSize || payload[frameSize-1] != markByte|0x3e {
		return 0, false
	}
	var index uint32
	for i := range markBytes {
		if payload[i]&0xc0 != markByte {
			return 0, false
		}
		index |= uint32(payload[i]&(1<<markBits-1)) << (markBits * i)
	}
	return index, true
}

// Measurements over all calls between two moments.
type window struct {
	fromNs, untilNs      int64 // until 0: it goes on
	sent, received       int
	returned, late       int
	holes, gaps          int
	lateMs, betweenMs    []float64
	earMs, turnMs        []float64
	interrupted, unheard int
}

func (w *window) holds(atNs int64) bool {
	return atNs >= w.fromNs && (w.untilNs == 0 || atNs < w.untilNs)
}

func (w *window) between(gapMs float64) {
	w.betweenMs = append(w.betweenMs, gapMs)
	if gapMs > ms(gapAfter) {
		w.gaps++
	}
}

type windowReport struct {
	Sent     int `json:"sent"`
	Received int `json:"received"`
	// Marked packets: never returned; returned too late to be played.
	Lost int `json:"lost"`
	Late int `json:"late"`
	// The other side's packets: missing sequence numbers; gaps of more than 40 ms.
	Holes int `json:"holes"`
	Gaps  int `json:"gaps"`
	// Lateness of the sent packets, the generator's own fault.
	OwnLateP99 float64 `json:"own_late_p99_ms"`
	OwnLateMax float64 `json:"own_late_max_ms"`
	// Between two packets of the other side.
	BetweenStd float64   `json:"between_std_ms"`
	BetweenP99 float64   `json:"between_p99_ms"`
	EarP50     float64   `json:"ear_p50_ms"`
	EarP95     float64   `json:"ear_p95_ms"`
	TurnMs     []float64 `json:"turn_ms"`
	// Turns answered before they ended, or not at all.
	Interrupted int `json:"interrupted"`
	Unheard     int `json:"unheard"`
}

func (w *window) report() windowReport {
	lost := 0
	if w.returned > 0 {
		lost = w.sent - w.returned
	}
	return windowReport{Sent: w.sent, Received: w.received, Lost: lost, Late: w.late, Holes: w.holes, Gaps: w.gaps,
		OwnLateP99: percentile(w.lateMs, 99), OwnLateMax: percentile(w.lateMs, 100),
		BetweenStd: deviation(w.betweenMs), BetweenP99: percentile(w.betweenMs, 99),
		EarP50: percentile(w.earMs, 50), EarP95: percentile(w.earMs, 95),
		TurnMs: append([]float64{}, w.turnMs...), Interrupted: w.interrupted, Unheard: w.unheard}
}

func deviation(values []float64) float64 {
	if len(values) == 0 {
		return 0
	}
	var sum, squares float64
	for _, value := range values {
		sum += value
	}
	mean := sum / float64(len(values))
	for _, value := range values {
		squares += (value - mean) * (value - mean)
	}
	return math.Sqrt(squares / float64(len(values)))
}
