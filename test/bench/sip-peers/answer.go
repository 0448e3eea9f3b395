package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"

	"github.com/emiago/diago"
	"github.com/emiago/diago/media"
	"github.com/emiago/sipgo"
	"github.com/emiago/sipgo/sip"
)

// The handler of an answered call.
func answer(take diago.ServeDialogFunc) error {
	quiet := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelError}))
	sip.SetDefaultLogger(quiet)
	media.RTPPortStart, media.RTPPortEnd = 20000, 30000
	port, err := freePort()
	if err != nil {
		return err
	}
	agent, err := sipgo.NewUA()
	if err != nil {
		return err
	}
	defer agent.Close()
	at := diago.Transport{Transport: "udp", BindHost: "127.0.0.1", BindPort: port}
	app := diago.NewDiago(agent, diago.WithLogger(quiet), diago.WithTransport(at))
	ctx, leave := context.WithCancel(context.Background())
	defer leave()
	if err := app.ServeBackground(ctx, take); err != nil {
		return err
	}
	fmt.Printf("{\"port\":%d}\n", port)
	_, err = io.Copy(io.Discard, os.Stdin) // until whoever started it is gone
	return err
}

// Answers a call like our engine: 100, 180, its own pair of RTP ports, 200 with a negotiated codec; no audio.
func take(dialog *diago.DialogServerSession) {
	if dialog.Trying() != nil || dialog.Ringing() != nil || dialog.Answer() != nil {
		return
	}
	<-dialog.Context().Done()
}

func freePort() (int, error) {
	socket, err := net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		return 0, err
	}
	defer socket.Close()
	return socket.LocalAddr().(*net.UDPAddr).Port, nil
}
