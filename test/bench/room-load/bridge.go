package main

import (
	"net"

	"github.com/pion/webrtc/v4/pkg/media"
)

const largestPacket = 1500

// A client whose words come, packet by packet of Opus, from a UDP socket at the address, and which sends there what it
// hears. An empty packet first tells that socket where to.
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
