package main

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	mathrand "math/rand/v2"
	"net"
	"net/netip"
	"strconv"
	"strings"
	"sync"
	"time"
)

// The signalling of calls that stay up until all are hung up.
type mediaSide struct {
	round   *round
	line    *line
	streams []*stream
	mutex   sync.Mutex
	legs    map[string]*mediaLeg
	// One token for each call that is answered, refused, or hung up.
	news chan struct{}
}

type mediaLeg struct {
	leg
	stream *stream
}

func newMediaSide(order mediaOrder, line *line, streams []*stream) (*mediaSide, error) {
	peer, err := netip.ParseAddrPort(order.Target)
	if err != nil {
		return nil, err
	}
	socket, err := net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		return nil, err
	}
	run := make([]byte, 6)
	rand.Read(run)
	side := &mediaSide{line: line, streams: streams, legs: map[string]*mediaLeg{}, news: make(chan struct{}, len(streams)),
		round: &round{socket: socket, peer: peer, local: socket.LocalAddr().String(), run: hex.EncodeToString(run)}}
	side.round.Target, side.round.To = order.Target, order.To
	go side.listen()
	return side, nil
}

// Places calls at random times; returns when the last was answered or refused.
func (m *mediaSide) place(rate float64) opened {
	slot := time.Duration(float64(time.Second) / rate)
	start := time.Now()
	for i, stream := range m.streams {
		due := start.Add(time.Duration(i)*slot + time.Duration(mathrand.Int64N(int64(slot))))
		time.Sleep(time.Until(due))
		m.invite(fmt.Sprintf("%s-%d", m.round.run, i), stream)
	}
	m.wait(len(m.streams))
	result := opened{Failed: map[string]int{}}
	m.mutex.Lock()
	defer m.mutex.Unlock()
	for _, leg := range m.legs {
		switch {
		case leg.refused != "":
			result.Failed[leg.refused]++
		case leg.answered.IsZero():
			result.Failed["no answer"]++
		default:
			result.Open++
		}
	}
	return result
}

func (m *mediaSide) invite(id string, stream *stream) {
	leg := &mediaLeg{leg: leg{id: id, to: "<" + m.round.uri() + ">"}, stream: stream}
	offer := strings.Replace(m.round.offer(), "m=audio 9 ", fmt.Sprintf("m=audio %d ", stream.port), 1)
	message := m.round.request(&leg.leg, "INVITE", m.round.uri(), 1, "", offer)
	m.mutex.Lock()
	m.legs[id] = leg
	m.mutex.Unlock()
	m.round.send(message)
}

func (m *mediaSide) hangUp() {
	said := 0
	m.mutex.Lock()
	for _, leg := range m.legs {
		if leg.answered.IsZero() || leg.refused != "" {
			continue
		}
		said++
		m.round.send(m.round.request(&leg.leg, "BYE", leg.target, 2, "-bye", ""))
	}
	m.mutex.Unlock()
	m.wait(said)
	m.round.socket.Close()
}

func (m *mediaSide) wait(count int) {
	over := time.After(patience)
	for range count {
		select {
		case <-m.news:
		case <-over:
			return
		}
	}
}

func (m *mediaSide) listen() {
	buffer := make([]byte, 65536)
	for {
		length, _, err := m.round.socket.ReadFromUDPAddrPort(buffer)
		if err != nil {
			return
		}
		m.take(string(buffer[:length]))
	}
}

func (m *mediaSide) take(message string) {
	if !strings.HasPrefix(message, "SIP/2.0 ") || len(message) < 11 {
		return
	}
	body := after(message, "\r\n\r\n")
	status, head := message[8:11], message[:len(message)-len(body)]
	m.mutex.Lock()
	defer m.mutex.Unlock()
	leg := m.legs[header(head, "Call-ID")]
	if leg == nil || leg.ended || status[0] == '1' {
		return
	}
	if strings.HasSuffix(header(head, "CSeq"), "BYE") {
		leg.ended = true
		m.news <- struct{}{}
		return
	}
	first := leg.answered.IsZero()
	leg.to = header(head, "To")
	if status[0] != '2' {
		leg.refused, leg.ended = "INVITE "+status, true
		m.round.send(m.round.request(&leg.leg, "ACK", m.round.uri(), 1, "", ""))
	} else {
		leg.target = strings.Trim(header(head, "Contact"), "<>")
		m.round.send(m.round.request(&leg.leg, "ACK", leg.target, 1, "-ack", ""))
	}
	if !first {
		return
	}
	leg.answered = time.Now()
	if leg.refused == "" {
		if err := m.connect(leg, body); err != nil {
			leg.refused = err.Error()
		}
	}
	m.news <- struct{}{}
}

func (m *mediaSide) connect(leg *mediaLeg, answer string) error {
	port, err := strconv.Atoi(strings.SplitN(after(answer, "m=audio "), " ", 2)[0])
	if err != nil {
		return errors.New("an answer without a port")
	}
	return m.line.join(leg.stream, port)
}
