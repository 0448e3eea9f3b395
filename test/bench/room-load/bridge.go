package main

import (
	"net"

	"github.com/pion/webrtc/v4/pkg/media"
)

const largestPacket = 1500

// A client whose audio arrives as Opus packets on a UDP socket, and which sends the room's audio to the same peer. A
// first, empty packet announces the peer's address.
func bridge(url, token, address string) (*client, error) {
	socket, err := net.Dial("udp", address)
	if err != nil {
		return nil, err
	}
	hear := func(packet []byte) {
		if len(packet) > 0 {
			_, _ = socket.Write(packet)
		}
	}
	participant, err := connect(url, token, hear)
	if err != nil {
		_ = socket.Close()
		return nil, err
	}
	c := &client{participant, nil, make(chan struct{})}
	go func() {
		<-c.end
		_ = socket.Close()
	}()
	go c.pass(socket)
	_, err = socket.Write(nil)
	return c, err
}

func (c *client) pass(socket net.Conn) {
	buffer := make([]byte, largestPacket)
	for {
		n, err := socket.Read(buffer)
		if err != nil {
			return
		}
		packet := append([]byte(nil), buffer[:n]...)
		_ = c.track.WriteSample(media.Sample{Data: packet, Duration: frame})
	}
}
