/**
 * Test files that run in `npm run test:full` only, because `npm test` has ten minutes on two cores. Each names what
 * `npm test` runs of the same subject. A file that is named as an argument runs in any case.
 */
export const FULL_ONLY: Readonly<Record<string, string>> = {
  'test/control/realtime-participants.integration.test.ts':
    'test/control/realtime.integration.test.ts, test/control/realtime-sweep.integration.test.ts',
  'test/e2e/campaign-chaos.test.ts': 'test/e2e/chaos.test.ts, test/control/leads/kill.integration.test.ts',
  'test/e2e/drain.test.ts': 'test/e2e/engines.test.ts, test/control/drain.integration.test.ts',
  'test/e2e/monitor.test.ts': 'test/e2e/dashboard-live.test.ts, test/media/call/monitors-rooms.integration.test.ts',
  'test/e2e/outages.test.ts': 'test/e2e/chaos.test.ts, test/e2e/crash.test.ts',
  'test/e2e/realtime-misbehaving-clients.test.ts': 'test/e2e/realtime.test.ts, test/media/room/leg.integration.test.ts',
  'test/e2e/realtime-examples.test.ts': 'test/e2e/realtime-clients.test.ts',
  'test/e2e/softphone.test.ts': 'test/sip/trunk/softphones.integration.test.ts, test/interop/baresip.test.ts',
  'test/e2e/talk-page.test.ts': 'test/e2e/dashboard-talk.test.ts',
  'test/e2e/tracing.test.ts': 'test/infra/tracing.test.ts',
  'test/e2e/two-controls.test.ts': 'test/e2e/chaos.test.ts, test/control/drain.integration.test.ts',
  'test/e2e/wideband.test.ts': 'test/interop/baresip.test.ts',
  'test/media/room/leg-ends.integration.test.ts': 'test/media/room/leg.integration.test.ts, test/e2e/realtime.test.ts',
  'test/sip/srf-suite.integration.test.ts': 'test/sip/server/integration.test.ts, test/sip/trunk/session.test.ts',
}
