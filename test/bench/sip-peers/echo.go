package main

import (
	"bufio"
	"encoding/json"
	"net"
	"os"

	"github.com/emiago/diago"
)

// Calls whose audio is echoed.
func takeEcho(dialog *diago.DialogServerSession) {
	if dialog.Trying() != nil || dialog.Ringing() != nil || dialog.Answer() != nil {
		return
	}
	_ = dialog.Echo() // until the caller hangs up
}

// Echoes packets without parsing them. Standard input: a number of sockets per line; standard output: the ports for
// each line. New sockets replace the previous ones.
func udpEcho() error {
	var sockets []*net.UDPConn
	wanted := bufio.NewScanner(os.Stdin)
	for wanted.Scan() {
		for _, socket := range sockets {
			socket.Close()
		}
		sockets = nil
		var count int
		if err := json.Unmarshal(wanted.Bytes(), &count); err != nil {
			return err
		}
		ports := make([]int, count)
		for i := range ports {
			socket, err := net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
			if err != nil {
				return err
			}
			sockets = append(sockets, socket)
			ports[i] = socket.LocalAddr().(*net.UDPAddr).Port
			go sendBack(socket)
		}
		if err := json.NewEncoder(os.Stdout).Encode(ports); err != nil {
			return err
		}
	}
	return wanted.Err()
}

func sendBack(socket *net.UDPConn) {
	buffer := make([]byte, 1500)
	for {
		length, from, err := socket.ReadFromUDPAddrPort(buffer)
		if err != nil {
			return
		}
		socket.WriteToUDPAddrPort(buffer[:length], from)
	}
}
